// Calling an event off: what it would cost, canceling it or moving it to another date, and how far that is.

import { Component, html } from "../../html.js";
import { Acting, EventHead, NeedsRole, together } from "../acting.js";
import { ofEvent } from "../api.js";
import { Bones, Failed, Reading } from "../states.js";
import { Cost } from "./cost.js";
import { Cancel } from "./cancel.js";
import { Move } from "./move.js";
import { Progress, Refunds } from "./progress.js";

const GOES_ON_EVERY_MS = 2_000;
/** Seldom: all payments are read for it. Refunds are given one by one, long after the rest is done. */
const REFUNDS_EVERY_MS = 15_000;

/** @extends {Component<{event: string, api: any, ask: any, tell: any, session: any}>} */
export class OffPage extends Component {
  constructor(props) {
    super(props);
    this.state = { known: false, called: false, name: props.event, problem: null };
    this.acting = new Acting(this);
  }

  componentDidMount() {
    this.#look();
  }

  /** Whether it is called off already: what everybody may know of it says so. */
  #look = async () => {
    try {
      const { name, called_off } = await this.props.api.get(`/v1/events/${encodeURIComponent(this.props.event)}`);
      this.setState({ known: true, called: called_off !== null, name, problem: null });
    } catch (problem) {
      this.setState({ problem });
    }
  };

  /** Begins, or does a piece more; where a colleague was quicker it is shown how that stands. */
  #begin = async (path, body, done) => {
    const begun = await this.acting.do(() => this.props.api.post(ofEvent(this.props.event, path), body), done);
    if (begun) this.setState({ called: true });
    else await this.#look();
    return Boolean(begun);
  };

  render({ event, session }, { known, called, problem }) {
    const title = called ? "Called off" : "Call off or move";
    return html`<main class="page" id="content">
      <${EventHead} event=${event} title=${title}>${!called && "For an event that does not take place, or not on its date. To stop selling for a while, pause the sale instead."}<//>
      ${problem ? html`<${Failed} problem=${problem} again=${this.#look} />` : !known ? html`<${Bones} rows=${2} />` : called ? this.#underWay() : this.#before(session.may("owner"))}
    </main>`;
  }

  #underWay() {
    const { event, api, session } = this.props;
    const { turn, busy } = this.state;
    const goOn = (off) => this.#begin(off.to === null ? "/cancel" : "/move", { ...(off.to !== null && { to: off.to }), why: off.why }, "A piece more is done.");
    return html`<${Reading} key=${turn} api=${api} path=${ofEvent(event, "/calling-off")} every_ms=${({ done_at }) => (done_at === null ? GOES_ON_EVERY_MS : 0)}>${(off) => html`
        <${Progress} off=${off} busy=${busy} may=${session.may("owner")} goOn=${() => goOn(off)} />`}<//>
      <${Reading} api=${api} path=${ofEvent(event, "/settlement")} rows=${1} every_ms=${REFUNDS_EVERY_MS}>${(money) => html`<${Refunds} money=${money} />`}<//>`;
  }

  #before(may) {
    const { event, api, ask } = this.props;
    const { name, busy, turn } = this.state;
    const paths = { money: ofEvent(event, "/settlement"), waiting: ofEvent(event, "/waiting"), launch: ofEvent(event, "/launch") };
    const shared = { event, name, api, ask, busy, begin: this.#begin };
    return html`<div class="columns"><div class="stack">
        <${Reading} key=${turn} api=${together(api, paths)} path=${event}>${({ money, waiting, launch }, again) => html`
          <${Cost} money=${money} waiting=${waiting} launch=${launch.launch} again=${again} />
          ${may && html`<${Cancel} ...${shared} money=${money} />`}`}<//></div>
        ${may ? html`<${Move} ...${shared} acting=${this.acting} />` : html`<${NeedsRole} role="owner" what="Canceling and moving an event" />`}</div>`;
  }
}
