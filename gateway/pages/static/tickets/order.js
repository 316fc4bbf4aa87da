// One order: its tickets, each with its code, and what can be done with them.

import { Component, createRef, html } from "../html.js";
import { Notice } from "./page.js";
import { backInWords, momentOf, paidInWords, placeOf, returnInWords, ticketsInWords } from "./words.js";

/** @typedef {import("./desk.js").Desk} Desk @typedef {import("./desk.js").Ticket} Ticket */

/** @extends {Component<{desk: Desk}>} */
export class Order extends Component {
  state = { returning: null };

  componentDidMount() {
    const { event } = this.props.desk.state.order;
    document.title = `${event.name} · tickets`;
  }

  render({ desk }, { returning }) {
    const { order, notice, busy } = desk.state;
    const back = backInWords(order);
    const returnable = order.yours && order.returns_allowed ? order.tickets.filter((one) => one.yours && !one.checked_at) : [];
    const whole = returnable.length > 1 && returnable.length === order.tickets.length;
    return html`
      <header class="tickets-head">
        <div><h1>${order.event.name}</h1><p>${order.venue}</p></div>
        ${order.tickets.some((one) => one.yours) && html`<button type="button" class="button quiet small only-screen" onClick=${() => window.print()}>Print</button>`}
      </header>
      ${notice && html`<${Notice} notice=${notice} />`}
      ${order.state === "refunded" ? html`<${Refunded} desk=${desk} back=${back} />` : html`
        <p class="tickets-sum"><span>${ticketsInWords(order)} <small>order ${order.order}</small></span>
          <span class="money">${order.yours ? paidInWords(order) : "Given to you"}</span></p>
        ${back && html`<p class="quiet-text">${back}.</p>`}
        <ol class="ticket-list">
          ${order.tickets.map((ticket) => html`<${One} key=${ticket.ticket} desk=${desk} ticket=${ticket}
            back=${returnable.includes(ticket) ? () => this.setState({ returning: [ticket] }) : null} />`)}
        </ol>
        ${whole && html`<p class="only-screen"><button type="button" class="button quiet" disabled=${busy !== ""}
          onClick=${() => this.setState({ returning: returnable })}>${busy === "order" ? "Returning…" : "Return the whole order"}</button></p>`}`}
      <p class="only-screen"><a class="link" href=${`/e/${desk.event}/tickets`}>All your orders</a></p>
      ${returning && html`<${Confirm} desk=${desk} tickets=${returning} done=${() => this.setState({ returning: null })} />`}`;
  }
}

function Refunded({ desk, back }) {
  const why = back || "You have no tickets of this order any more";
  return html`<p>This order was returned. ${why}.</p><p><a class="button quiet" href=${`/e/${desk.event}`}>To the event</a></p>`;
}

/** A ticket: where to go, the code to show, and quietly what else there is. @param {{desk: Desk, ticket: Ticket, back: (() => void) | null}} props */
function One({ desk, ticket, back }) {
  const { order, busy } = desk.state;
  const give = busy === ticket.ticket ? "One moment…" : "Give to somebody";
  const giveBack = order.payment ? "Return for a refund" : "Return";
  return html`<li class=${`ticket ${ticket.yours ? "" : "given"}`} data-ticket=${ticket.ticket}>
    <div class="ticket-place">
      <p class="ticket-event only-print"><b>${order.event.name}</b><br />${order.venue}</p>
      <${Place} ticket=${ticket} />
      ${ticket.accessible && html`<p class="quiet-text">Wheelchair place</p>`}
      ${ticket.checked_at && html`<p class="used">Used ${momentOf(ticket.checked_at)}</p>`}
      <p class="quiet-text">Order ${order.order}</p>
    </div>
    ${ticket.qr ? html`<${Code} qr=${ticket.qr} what=${placeOf(ticket)} />` : html`<p class="given-away">Given to somebody else</p>`}
    ${ticket.yours && html`<div class="ticket-acts only-screen">
      ${ticket.offer && html`<${Offered} desk=${desk} ticket=${ticket} />`}
      ${!ticket.offer && order.transfers_allowed && !ticket.checked_at && html`<button type="button" class="button quiet small" disabled=${busy !== ""}
        aria-label=${`${give}: ${placeOf(ticket)}`} onClick=${() => desk.offer(ticket)}>${give}</button>`}
      ${back && html`<button type="button" class="button quiet small" disabled=${busy !== ""}
        aria-label=${`${giveBack}: ${placeOf(ticket)}`} onClick=${back}>${giveBack}</button>`}
    </div>`}
  </li>`;
}

function Place({ ticket: { section, row, seat, area, place } }) {
  if (seat === null) return html`<h2><small>Standing</small>${area}</h2><dl class="ticket-where"><div><dt>Place</dt><dd>${place}</dd></div></dl>`;
  return html`<h2><small>Section</small>${section}</h2>
    <dl class="ticket-where">${row && html`<div><dt>Row</dt><dd>${row}</dd></div>`}<div><dt>Seat</dt><dd>${seat}</dd></div></dl>`;
}

/** Dark on white whatever the page's colours are: scanners want it so, and so does paper. The quiet zone is four modules. */
function Code({ qr: { size, path }, what }) {
  return html`<svg class="qr" role="img" aria-label=${`Code of ${what}`} viewBox=${`-4 -4 ${size + 8} ${size + 8}`} shape-rendering="crispEdges">
    <rect x="-4" y="-4" width=${size + 8} height=${size + 8} fill="#fff" /><path d=${path} fill="#000" /></svg>`;
}

/** @extends {Component<{desk: Desk, ticket: Ticket}>} */
class Offered extends Component {
  state = { copied: false };

  async copy(link) {
    try {
      await navigator.clipboard.writeText(link);
      this.setState({ copied: true });
    } catch {
      this.field?.select(); // where the clipboard is refused the link can be copied by hand
    }
  }

  render({ desk, ticket }, { copied }) {
    const link = desk.linkOf(ticket.offer);
    return html`<div class="notice offered">
      <b>Who opens this link first can take it.</b>Until then it stays yours.
      <input class="claim-link" readonly value=${link} aria-label="Link that gives the ticket" ref=${(field) => (this.field = field)} onFocus=${(event) => event.target.select()} />
      <div class="ticket-acts">
        <button type="button" class="button main small" onClick=${() => this.copy(link)}>${copied ? "Copied" : "Copy the link"}</button>
        <button type="button" class="button quiet small" disabled=${desk.state.busy !== ""} onClick=${() => desk.withdraw(ticket)}>Take the offer back</button>
      </div>
    </div>`;
  }
}

/** Asks once, in plain words. @extends {Component<{desk: Desk, tickets: Ticket[], done: () => void}>} */
class Confirm extends Component {
  dialog = createRef();

  componentDidMount() {
    this.dialog.current.showModal();
  }

  render({ desk, tickets, done }) {
    const sure = () => {
      done();
      desk.giveBack(tickets);
    };
    return html`<dialog ref=${this.dialog} class="confirm" aria-labelledby="confirm-title" onClose=${done}>
      <h2 id="confirm-title">${tickets.length === 1 ? `Return ${placeOf(tickets[0])}?` : `Return all ${tickets.length} tickets?`}</h2>
      <p>${returnInWords(desk.state.order, tickets)}</p>
      <div class="ticket-acts">
        <button type="button" class="button main" onClick=${sure}>${tickets.length === 1 ? "Return it" : "Return them"}</button>
        <button type="button" class="button quiet" autofocus onClick=${done}>${tickets.length === 1 ? "Keep it" : "Keep them"}</button>
      </div>
    </dialog>`;
  }
}
