// One launch: its state and levers always in view, then numbers, then charts; below what is wanted less often.

import { Component, html } from "../../html.js";
import { ofEvent } from "../api.js";
import { Charts } from "../charts/charts.js";
import { Series } from "../charts/series.js";
import { Hands } from "../launches/state.js";
import { Bones, Failed } from "../states.js";
import { keptFocus } from "../focus.js";
import { Head } from "./head.js";
import { messageField } from "./message.js";
import { Levers } from "./moves.js";
import { More } from "./more.js";
import { Numbers } from "./numbers.js";
import { Scale } from "./scale.js";
import { SeatsForm } from "./seats.js";
import { Answers, Steps } from "./steps.js";

/** A frame that was read before how it stands was asked for, and comes after the answer, is so late at most. */
const LATE_MS_MAX = 10_000;

/** @extends {Component<{event: string, api: any, session: any, live: import("../live.js").Live, ask: any, tell: any, go: any}>} */
export class LaunchPage extends Component {
  constructor(props) {
    super(props);
    this.series = new Series();
    this.state = { now: null, launch: null, problem: null, drawn: 0 };
    const { event, api, ask, tell } = props;
    this.levers = new Levers({ event, api, ask, tell, look: () => this.look(), state: () => this.state.now.state.value, room: () => this.state.now?.room, fleet: () => this.state.now?.fleet, busy: (name) => this.#busy(name) });
    this.looked = { at_ms: 0, until: 0 };
    /** A message that was not sent: nobody writes it twice. */
    this.unsent = null;
  }

  componentDidMount() {
    this.unwatch = this.props.live.watch(this.props.event, (frame) => this.#hear(frame), () => this.look());
    this.look().catch((problem) => this.setState({ problem }));
  }

  componentWillUnmount() {
    this.gone = true;
    this.unwatch();
  }

  /** How it stands, by HTTP: at first, and where it must be known before the feed says it. */
  async look() {
    const now = await this.props.api.get(ofEvent(this.props.event, "/launch"));
    this.looked = { at_ms: now.at_ms, until: performance.now() + LATE_MS_MAX };
    this.#stands(now);
    return now;
  }

  #isLate({ at_ms }) {
    return at_ms < this.looked.at_ms && performance.now() < this.looked.until;
  }

  /** While a lever is moved it is off, and with that loses the focus. */
  #busy(name) {
    if (name) this.giveBack = keptFocus();
    this.setState({}, name ? undefined : this.giveBack);
  }

  #stands(now) {
    this.setState(({ launch }) => ({ now, launch: { ...launch, ...now.launch }, problem: null }));
    if (!this.gone) document.title = `${now.launch.name ?? this.props.event} · Console`;
  }

  #hear(frame) {
    if (frame.type === "event" && !this.#isLate(frame)) this.#stands(frame);
    if (frame.type === "history") this.series.reset(frame.columns, frame.rows);
    if (frame.type === "point") this.series.add(frame.row);
    if (frame.type === "history" || frame.type === "point") this.setState(({ drawn }) => ({ drawn: drawn + 1 }));
  }

  async #say() {
    const { room } = this.state.now;
    const said = await this.props.ask({
      title: "A message to all who wait", act: "Show it", keep: "Not now", more: messageField(this.unsent ?? room.message),
      says: ["Everybody in the line reads it within a second, until you change it or take it off.", ...(this.unsent ? ["This is what was not sent before."] : [])],
    });
    if (!said) return;
    const text = said.text.trim() || null;
    this.unsent = null;
    if (text !== room.message && !(await this.levers.message(text, room))) this.unsent = text;
  }

  render({ event, session, api, ask, tell }, { now, launch, problem, drawn }) {
    if (!now) {
      return html`<main class="page" id="content"><h1 tabindex="-1">${event}</h1>
        ${problem ? html`<${Failed} problem=${problem} again=${() => this.look().catch((failed) => this.setState({ problem: failed }))} />` : html`<${Bones} rows=${4} />`}</main>`;
    }
    const may = session.may("operator");
    const shared = { event, now, launch, levers: this.levers, may, api, ask, tell, session };
    return html`<main class="page launch" id="content">
      <${Head} now=${now} name=${launch.name ?? event} levers=${this.levers} may=${may} say=${() => this.#say()} />
      <${Links} event=${event} may=${may} />
      <${Hands} needs=${launch.needs} />
      <${Numbers} launch=${launch} point=${this.series.now()} room=${now.room} />
      <${Charts} series=${this.series} currency=${launch.currency} drawn=${drawn} />
      <div class="columns">
        <${Steps} steps=${now.steps} age_ms=${now.steps_age_ms} />
        <${Answers} outcomes=${now.outcomes} turned_away=${now.turned_away} />
        <${Scale} ...${shared} />
        <${More} ...${shared} />
        ${may && html`<${SeatsForm} ...${shared} />`}
      </div>
    </main>`;
  }
}

function Links({ event, may }) {
  const below = `/console/e/${encodeURIComponent(event)}`;
  return html`<nav class="launch-links" aria-label="More of this launch"><ul>
    ${may && html`<li><a href=${`${below}/buyers`}>Find a buyer</a></li>`}
    ${may && html`<li><a href=${`${below}/sales`}>Sell by hand</a></li><li><a href=${`${below}/rehearse`}>Rehearse</a></li>`}
    <li><a href=${`/console/audit?event=${encodeURIComponent(event)}`}>Audit: who did what</a></li>
    <li><a href=${`${below}/export`}>Export</a></li>
    <li><a href=${`${below}/figures`}>Figures</a></li>
    <li><a href=${`/e/${encodeURIComponent(event)}/draw`}>The draw</a></li>
    <li><a href=${`/e/${encodeURIComponent(event)}`} target="_blank" rel="noopener">Buyers' page<span class="unseen"> (opens a new tab)</span></a></li>
  </ul></nav>`;
}
