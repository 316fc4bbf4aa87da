// The page of one event: head, map or list, and the panel with the one thing to do now.

import { Component, html } from "../html.js";
import { SeatMap } from "../map/seatmap.js";
import { dateOf, inOneWord } from "../core/showing.js";
import { connection, REFUSALS } from "../core/words.js";
import { SoldLine } from "./figures.js";
import { Legend } from "./legend.js";
import { SeatList } from "./list.js";
import { Panel, topicOf } from "./panel.js";
import { Stampede } from "./stampede.js";
import { ShoppingTime } from "./turn.js";
import { roomTopicOf, WaitingRoom } from "./waitingroom.js";

/** @extends {Component<{sale: import("../core/sale.js").Sale}>} */
export class App extends Component {
  state = { view: "map", stampede: false };

  componentDidMount() {
    this.listener = () => this.setState({});
    this.props.sale.listeners.add(this.listener);
  }

  componentWillUnmount() {
    this.props.sale.listeners.delete(this.listener);
  }

  componentDidUpdate() {
    showBadge(this.props.sale);
    this.followTopic();
  }

  /** Another screen of the waiting room, or from it to the seats: the focus goes to its heading. While that is
   * still to come, to where it will be. */
  followTopic() {
    const { sale } = this.props;
    const ready = document.querySelector("main")?.dataset.topic;
    const topic = ready && (roomTopicOf(sale) ? `${ready} ${sale.room.place ? "in" : "out"}` : "inside");
    if (!topic && this.topic && document.activeElement === document.body) document.getElementById("panel")?.focus({ preventScroll: true });
    if (!topic || topic === this.topic) return;
    if (this.topic) document.querySelector("main h2[tabindex]")?.focus();
    this.topic = topic;
  }

  render({ sale }, { view, stampede }) {
    const { state } = sale;
    const stop = stopOf(state, sale.paying);
    if (stop) {
      const leave = sale.demo && state.close_code === 4401 ? () => sale.leave() : null;
      return html`<${Stop} title=${stop[0]} text=${stop[1]} leave=${leave} />`;
    }
    const ready = state.phase === "ready" && state.event;
    const topic = roomTopicOf(sale);
    return html`
      <a class="skip" href="#panel">${topic ? "Go to your place" : "Go to your choice"}</a>
      <${Head} sale=${sale} onStampede=${() => this.setState({ stampede: true })} />
      <${Connection} sale=${sale} />
      ${topic ? html`<${WaitingRoom} sale=${sale} topic=${topic} />` : html`<${ShoppingTime} sale=${sale} />
      <main class="stage" aria-busy=${!ready} data-topic=${ready ? topicOf(sale) : ""}>
        <section class="house" aria-label="Seats">
          ${ready ? html`<${House} sale=${sale} view=${view} show=${(next) => this.setState({ view: next })} />` : html`<${HouseToCome} />`}
        </section>
        <section class="panel" id="panel" tabindex="-1" aria-label="Your choice">
          ${ready ? html`<${Panel} sale=${sale} /><${SoldLine} sale=${sale} />` : html`<${PanelToCome} />`}
        </section>
      </main>`}
      <p class="unseen" aria-live="assertive" id="alerts">${state.alerted}</p>
      <p class="unseen" aria-live="polite" id="milestones">${state.spoken}</p>
      ${stampede && html`<${Stampede} close=${() => this.setState({ stampede: false })} />`}`;
  }
}

/** The tab says what matters while another one is looked at: an offer first, then the place in the list. */
function showBadge({ state, orders, room }) {
  const { event, waiting } = state;
  if (!event) return;
  const [first] = [...waiting.entries].sort((a, b) => a.position - b.position);
  const turn = orders.open.length || room.stands === "turn";
  const position = room.stands === "line" ? room.place.position : first?.position;
  const badge = turn ? `${room.words("turn.title_badge")} ` : position ? `No. ${position.toLocaleString("en")} · ` : "";
  const title = `${badge}${event.name} · seats`;
  if (document.title !== title) document.title = title;
}

/** Why there is nothing to show, as [title, text], or nothing. */
function stopOf({ phase, link, close_code }, paying) {
  if (phase === "missing") return REFUSALS[4404];
  if (phase === "no_token") return comeIn(paying);
  if (link === "refused") return REFUSALS[close_code];
  return null;
}

/** Who comes back from paying in a browser that keeps nothing is told that nothing is lost. */
function comeIn({ alone }) {
  const paid = alone.length ? " If you paid just now, nothing is lost: look at the page you paid from, if it is still open, or come in again from the shop’s." : "";
  return ["Come in from the shop’s page", `This address alone does not say who you are.${paid}`];
}

function Stop({ title, text, leave }) {
  return html`<main class="stop"><h1>${title}</h1><p>${text}</p>
    ${leave && html`<button type="button" class="button main" onClick=${leave}>Come in as a new guest</button>`}
    <a class="button quiet" href="/">All events</a></main>`;
}

function Head({ sale, onStampede }) {
  const { event, venue, buyer } = sale.state;
  return html`<header class="head">
    <div class="head-title">
      <h1>${event ? event.name : html`<i class="bone" style=${{ width: "11em" }}></i>`}</h1>
      <p>${venue ? [venue.name, dateOf(event?.starts_at), event && inOneWord(event)].filter(Boolean).join(" · ") : html`<i class="bone" style=${{ width: "8em" }}></i>`}</p>
    </div>
    ${buyer && html`<p class="who">You are <b title=${buyer}>${shortName(buyer)}</b></p>`}
    ${sale.demo && html`<button type="button" class="button quiet small" onClick=${onStampede}>Stampede</button>`}
  </header>`;
}

/** Visitors of a demo have long random names: four letters are enough to tell two tabs apart. */
const shortName = (buyer) => (buyer.startsWith("anon-") ? `guest-${buyer.slice(5, 9)}` : buyer);

function Connection({ sale }) {
  const { link, phase, asked, waiting } = sale.state;
  const away = link === "reconnecting" || (link === "connecting" && phase === "ready");
  const words = sale.room.ahead !== null && !sale.room.isInside ? sale.room.words("away") : connection(link, {
    waiting: asked.length > 0, holding: sale.orders.active.some((hold) => sale.orders.left_ms(hold) > 0), listed: waiting.entries.length > 0,
  });
  return html`<div role="status" class=${`connection ${away ? "away" : ""}`}>${away && html`<i class="pulse"></i>${words}`}</div>`;
}

function House({ sale, view, show }) {
  const tab = (name, label) =>
    html`<button type="button" aria-pressed=${view === name} onClick=${() => show(name)}>${label}</button>`;
  return html`
    <div class="house-bar">
      <div class="switch" role="group" aria-label="Show seats as">${tab("map", "Map")}${tab("list", "List")}</div>
      <${Legend} sale=${sale} />
    </div>
    ${view === "map" ? html`<${SeatMap} sale=${sale} />` : html`<${SeatList} sale=${sale} />`}`;
}

function HouseToCome() {
  const rows = Array.from({ length: 7 }, (_, row) => html`<i class="bone" style=${{ width: `${34 + row * 8}%` }}></i>`);
  return html`<div class="house-bar"><i class="bone" style=${{ width: "9em", height: "32px" }}></i></div>
    <div class="map to-come" role="status"><span class="unseen">Loading the seats</span>${rows}</div>`;
}

function PanelToCome() {
  return html`<div class="card to-come">
    <i class="bone tall" style=${{ width: "60%" }}></i><i class="bone"></i><i class="bone" style=${{ width: "80%" }}></i>
    <i class="bone button-bone"></i></div>`;
}
