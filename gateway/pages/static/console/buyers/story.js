// A buyer's whole story at one event: their place, what they asked and why it was answered so, what they have and paid.

import { Component, html } from "../../html.js";
import { ofEvent } from "../api.js";
import { keptFocus } from "../focus.js";
import { Reading } from "../states.js";
import { moment } from "../words.js";
import { Holds, Mails, Payments, Places, Requests, Tickets } from "./parts.js";

/** @extends {Component<{event: string, buyer: string, api: any, ask: any, tell: any, session: any}>} */
export class StoryPage extends Component {
  constructor(props) {
    super(props);
    this.state = { turn: 0, busy: false, more: [], before: undefined, erased: false };
  }

  /** `after`: what is so of this page once it was done. */
  async #change(call, done, after = {}) {
    if (this.state.busy) return;
    const giveBack = keptFocus();
    this.setState({ busy: true });
    try {
      await call();
      this.setState(after);
      this.props.tell(done);
    } catch (problem) {
      this.props.tell(problem.detail, { wrong: true });
    }
    this.setState(({ turn }) => ({ busy: false, turn: turn + 1, more: [], before: undefined }), giveBack);
  }

  async #release(hold) {
    const says = ["The buyer loses these seats at once, and others can get them.", "This cannot be taken back: they would have to ask again."];
    const said = await this.props.ask({ title: `Take hold ${hold.hold} from this buyer?`, says, act: "Take it", danger: true, reason: true });
    if (said) await this.#change(() => this.props.api.post(ofEvent(this.props.event, `/holds/${hold.hold}/release`), { why: said.why || "in the console" }), `Hold ${hold.hold} was given back.`);
  }

  async #erase() {
    const { buyer, ask, api } = this.props;
    const says = ["Their mail addresses and everything else that says who they are is erased, at every event. What was sold and decided stays, under a name that means nobody.", "This cannot be taken back."];
    const said = await ask({ title: "Erase this buyer's personal data?", says, act: "Erase for good", danger: true, type: buyer, reason: true });
    if (said) await this.#change(() => api.post("/v1/operator/buyers/erase", { buyer, why: said.why || "in the console" }), "Their personal data is erased.", { erased: true });
  }

  async #older(before) {
    if (this.state.busy) return;
    this.setState({ busy: true });
    try {
      const { requests, requests_more } = await this.props.api.get(`${this.#path()}?before=${encodeURIComponent(before)}`);
      this.setState(({ more }) => ({ more: [...more, ...requests], before: requests_more }));
    } catch (problem) {
      this.props.tell(problem.detail, { wrong: true });
    }
    this.setState({ busy: false });
  }

  #path() {
    return ofEvent(this.props.event, `/buyers/${encodeURIComponent(this.props.buyer)}`);
  }

  render({ event, buyer, api, session }, { turn, busy, more, before, erased }) {
    const below = `/console/e/${encodeURIComponent(event)}`;
    if (erased) return html`<${Erased} event=${event} below=${below} />`;
    return html`<main class="page" id="content">
      <p><a href=${below}>${event}</a> · <a href=${`${below}/buyers`}>Find another buyer</a></p>
      <h1 tabindex="-1" class="buyer-id">${buyer}</h1>
      <${Reading} turn=${turn} api=${api} path=${this.#path()} rows=${4}>${(story) => html`
        ${story.erased && html`<p class="notice">Their personal data was erased ${moment(story.erased)}.</p>`}
        ${story.mail?.length > 0 && html`<p>Mail goes to ${story.mail.join(", ")}.</p>`}
        <div class="story-parts">
          <${Places} places=${story.places} />
          <${Requests} requests=${[...story.requests, ...more]} offers=${story.offers} waiting=${story.waiting} older=${before === undefined ? story.requests_more : before} readOlder=${(from) => this.#older(from)} busy=${busy} />
          <${Holds} holds=${story.holds} release=${session.may("operator") ? (hold) => this.#release(hold) : null} busy=${busy} />
          <${Payments} payments=${story.payments} />
          <${Tickets} tickets=${story.tickets} />
          <${Mails} mails=${story.mails} />
        </div>
        ${!story.erased && (session.may("owner") ? html`<section class="card" aria-labelledby="erase"><h2 id="erase">Erase their personal data</h2><p>For who asks for it. It is possible once all events of theirs are closed; the ledger can still be verified afterwards.</p>
          <p><button type="button" class="button quiet small closes" disabled=${busy} onClick=${() => this.#erase()}>Erase…</button></p></section>` : html`<p class="quiet-text">Erasing their personal data needs the role owner.</p>`)}`}<//>
    </main>`;
  }
}

/** Nobody is known by that name any more, so there is nothing left to read here. */
function Erased({ event, below }) {
  return html`<main class="page" id="content">
    <p><a href=${below}>${event}</a> · <a href=${`${below}/buyers`}>Find another buyer</a></p>
    <h1 tabindex="-1">Erased</h1>
    <p class="notice">Their personal data was erased. What was sold and decided stays, under a name that means nobody; <a href=${`/console/audit?event=${encodeURIComponent(event)}`}>the audit</a> says which.</p>
  </main>`;
}
