// In a hold that is bought with money: how its payment stands, where the tickets go, and the one button.

import { isAddress } from "../core/mailaddress.js";
import { price } from "../core/money.js";
import { Component, createRef, html } from "../html.js";

/** @typedef {{sale: import("../core/sale.js").Sale, hold: import("../core/holds.js").Hold}} Props */

/** What was said of the payment last; nothing before it begins. @extends {Component<Props>} */
export class PayState extends Component {
  box = createRef();

  componentDidUpdate() {
    const stage = this.props.sale.paying.stageOf(this.props.hold);
    if (stage !== this.shown && this.box.current) this.box.current.scrollIntoView({ block: "nearest" });
    this.shown = stage;
  }

  render({ sale, hold }) {
    const stage = sale.paying.stageOf(hold);
    const payment = sale.paying.of(hold.id);
    const notice = payment && sale.paying.noticeOf(payment);
    if (!notice) return null;
    return html`<div ref=${this.box} class=${`notice pay-state ${notice.tone}`} data-stage=${stage}>
      <b>${notice.title}</b> <span>${notice.text}</span>
      ${stage === "waiting" && html`<div class="in-line" aria-hidden="true"><i></i></div>`}
    </div>`;
  }
}

const BUSY = { beginning: "One moment…", unsure: "Asking again…", away: "Asking again…", leaving: "To the payment page…" };

/** @extends {Component<Props & {first: boolean}>} */
export class PayButton extends Component {
  form = createRef();

  /** @type {{email: string | null, wrong: boolean}} */
  state = { email: null, wrong: false };

  get email() {
    return this.state.email ?? this.props.sale.paying.email;
  }

  render({ sale, hold, first }, { wrong }) {
    const { paying } = sale;
    const stage = paying.stageOf(hold);
    const payment = paying.of(hold.id);
    if (stage === "waiting") return html`<${NotPaid} sale=${sale} hold=${hold} payment=${payment} />`;
    const busy = !payment?.stuck && BUSY[stage];
    const beside = stage === "open" && !paying.begin.canLeave;
    const submit = (submitted) => {
      submitted.preventDefault();
      const email = this.email.trim();
      if (busy || hold.wish) return;
      if (!isAddress(email)) return this.setState({ wrong: true }, () => this.mend());
      this.setState({ wrong: false });
      paying.begin.pay(hold, email);
    };
    return html`<form ref=${this.form} class="pay" novalidate onSubmit=${submit}>
      ${(stage === "ready" || stage === "called_off") && html`<${Where} hold=${hold} email=${this.email} wrong=${wrong} set=${(email) => this.setState({ email, wrong: wrong && !isAddress(email.trim()) })} />`}
      <div class=${`thumb ${first ? "ready" : ""}`}>
        ${beside ? html`<a class="button main" href=${paying.begin.besideOf(payment)} target="_blank" rel="noopener">Open the payment page</a>`
        : html`<button type="submit" class="button main" aria-disabled=${Boolean(busy) || hold.wish !== ""}>${busy || this.label(stage)}</button>`}
      </div>
      ${beside && html`<p class="quiet-text">It opens beside this page, as your browser keeps nothing for it. Leave this one open: it shows what becomes of your payment.</p>`}
    </form>`;
  }

  /** Leads to what is to be mended. */
  mend() {
    const field = this.form.current.querySelector("input");
    field.focus({ preventScroll: true });
    field.scrollIntoView({ block: "nearest" });
  }

  label(stage) {
    const { sale, hold } = this.props;
    const minor = sale.paying.begin.costOf(hold);
    if (minor === 0) return hold.offered ? "Take it · free" : "Get it · free";
    const cost = price(minor, sale.state.venue.currency);
    if (stage === "open") return `Go on to pay ${cost}`;
    if (stage === "ready" || stage === "price") return `Pay ${cost}`;
    return `Try again · ${cost}`;
  }
}

function Where({ hold, email, wrong, set }) {
  const id = `where-${hold.id}`;
  return html`<div class="where">
    <label for=${id}>Where should your tickets go? <small>E-mail, if you like</small></label>
    <input id=${id} type="email" inputmode="email" autocomplete="email" maxlength="254" value=${email} aria-invalid=${wrong}
      aria-describedby=${wrong ? `${id}-wrong` : undefined} onInput=${(typed) => set(typed.target.value)} />
    ${wrong && html`<p class="trouble" id=${`${id}-wrong`} role="alert">This does not look like an e-mail address. Mend it, or leave it empty.</p>`}
  </div>`;
}

/** Who came back without having paid finds the way there again. */
function NotPaid({ sale, hold, payment }) {
  return html`<div class="others">
    ${sale.paying.looks.gaveUp(payment) && html`<button type="button" class="button quiet small" onClick=${() => sale.paying.look(payment)}>Ask again</button>`}
    <button type="button" class="link" onClick=${() => sale.paying.begin.pay(hold)}>You did not finish paying? Back to the payment page</button>
  </div>`;
}
