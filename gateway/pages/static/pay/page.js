// The page to pay on as it is seen: what it costs, how long it is held, Stripe's form, and the one button.

import { price } from "../core/money.js";
import { Component, createRef, html } from "../html.js";
import { AWAY, heldFor, OVER, STOPS, whatOf } from "./words.js";

/** @typedef {import("./till.js").Till} Till */

/** @extends {Component<{till: Till}>} */
export class Page extends Component {
  componentDidMount() {
    this.props.till.listener = () => this.setState({});
    this.timer = setInterval(() => this.setState({}), 250);
  }

  render({ till }) {
    const { phase, away } = till.state;
    const stop = STOPS[phase];
    return html`
      <div role="status" class=${`connection ${away ? "away" : ""}`}>${away && html`<i class="pulse"></i>${AWAY}`}</div>
      <main class="pay-page" data-phase=${phase} aria-busy=${phase === "loading"}>
        ${stop && html`<section class="stop"><h1>${stop[0]}</h1><p>${stop[1]}</p><a class="button quiet" href=${`/e/${till.event}`}>To the event</a></section>`}
        ${phase === "loading" && html`<${ToCome} />`}
        ${phase === "paying" && html`<${Paying} till=${till} />`}
      </main>`;
  }
}

function ToCome() {
  return html`<span class="unseen" role="status">Loading</span><div class="card"><i class="bone" style=${{ width: "60%" }}></i>
    <i class="bone tall" style=${{ width: "40%" }}></i><i class="bone button-bone"></i><i class="bone button-bone"></i></div>`;
}

function Paying({ till }) {
  const { payment, busy } = till.state;
  const left_ms = till.left_ms;
  const over = left_ms === 0 && !busy;
  return html`<div class="card">
    <header class="pay-head">
      <h1>${till.name}</h1>
      <p class="pay-amount money">${price(payment.amount_minor, payment.currency)}</p>
      <p>${till.hold && html`<span>${whatOf(till.hold)}</span>`}${left_ms > 0 && html`<span role="timer" class=${`time-left ${left_ms < 60_000 ? "soon" : ""}`}>${heldFor(left_ms)}</span>`}</p>
    </header>
    ${over && html`<${Over} till=${till} />`}
    <${Form} till=${till} over=${over} />
  </div>
  <p class="pay-back"><a class="link" href=${`/e/${till.event}`}>Back without paying</a></p>`;
}

function Over({ till }) {
  return html`<div class="notice warn" role="alert"><b>${OVER[0]}</b> ${OVER[1]}</div>
    <div class="thumb"><a class="button main" href=${`/e/${till.event}`}>See how it stands</a></div>`;
}

/** Stripe's frames stay where they were put once, whatever is drawn around them. @extends {Component<{till: Till, over: boolean}>} */
class Form extends Component {
  place = createRef();

  componentDidMount() {
    this.props.till.mount(this.place.current);
  }

  render({ till, over }) {
    const { payment, form, busy, notice } = till.state;
    const submit = (submitted) => {
      submitted.preventDefault();
      if (!over) till.pay();
    };
    return html`<form class="pay-form" hidden=${over} novalidate onSubmit=${submit}>
      ${form === "coming" && html`<div aria-hidden="true"><i class="bone button-bone"></i><i class="bone button-bone"></i></div><span class="unseen" role="status">Loading the form to pay with</span>`}
      <div ref=${this.place} class="pay-element"></div>
      <div role="alert">${notice && html`<div class=${`notice ${notice.tone}`}><b>${notice.title}</b> ${notice.text}</div>`}</div>
      ${form === "broken" ? html`<div class="thumb"><button type="button" class="button main" onClick=${() => till.mount(this.place.current)}>Load it again</button></div>`
      : html`<div class="thumb ready"><button type="submit" class="button main" aria-disabled=${busy || form !== "there"}>${busy ? "Paying…" : `Pay ${price(payment.amount_minor, payment.currency)}`}</button></div>`}
      <p class="quiet-text">What you type here goes to Stripe, not to the shop.</p>
    </form>`;
  }
}
