// Launches at a glance: each with its state and the numbers that matter, those that need a hand first to see.

import { Component, html } from "../../html.js";
import { Bar } from "../../operator/plots.js";
import { ofAll, Pages } from "../launch/elsewhere.js";
import { Bones, Empty, Failed } from "../states.js";
import { count, latency, moment, money, percent, perSecond, waitingForAnswers } from "../words.js";
import { Hands, State } from "./state.js";

/** @extends {Component<{api: any, live: import("../live.js").Live, session: any}>} */
export class LaunchesPage extends Component {
  constructor(props) {
    super(props);
    this.state = { launches: null, needs: [], closed: null, problem: null };
  }

  componentDidMount() {
    const hear = ({ type, launches, needs }) => type === "launches" && this.setState({ launches, needs, problem: null });
    this.unwatch = this.props.live.watch(null, hear, async () => hear({ type: "launches", ...(await this.#glance()) }));
    this.#read();
  }

  componentWillUnmount() {
    this.unwatch();
  }

  /** Once over HTTP too: a network that lets no websocket through still shows how it stands. */
  async #read() {
    try {
      const { launches, needs } = await this.#glance();
      if (!this.state.launches) this.setState({ launches, needs, problem: null });
    } catch (problem) {
      if (!this.state.launches) this.setState({ problem });
    }
  }

  #glance() {
    return this.props.api.get("/v1/operator/launches");
  }

  async #closed() {
    if (this.state.closed) return this.setState({ closed: null });
    try {
      const { launches } = await this.props.api.get("/v1/operator/launches?closed=true");
      this.setState({ closed: launches.filter(({ state }) => state === "closed") });
    } catch (problem) {
      this.props.tell(problem.detail, { wrong: true });
    }
  }

  render({ session }, { launches, needs, closed, problem }) {
    return html`<main class="page" id="content">
      <div class="page-head"><h1 tabindex="-1">Launches</h1>
        <button type="button" class="button quiet small" aria-pressed=${Boolean(closed)} onClick=${() => this.#closed()}>${closed ? "Hide closed ones" : "Show closed ones"}</button></div>
      <${Hands} needs=${needs.filter((need) => need.event === null)} />
      ${problem && !launches && html`<${Failed} problem=${problem} again=${() => this.#read()} />`}
      ${!launches && !problem && html`<${Bones} rows=${3} />`}
      ${launches && launches.length === 0 && html`<${Empty} title="Nothing is on sale"><p>${session.state.events ? "None of the events your key is for is a draft, in its lobby or on sale." : "There is no draft, and nothing is in its lobby or on sale."}</p><//>`}
      ${launches && html`<ul class="launches">${launches.map((launch) => html`<${Card} key=${launch.slug} launch=${launch} />`)}</ul>`}
      ${closed && html`<section aria-labelledby="closed-title"><h2 id="closed-title">Closed</h2>
        ${closed.length ? html`<ul class="launches">${closed.map((launch) => html`<${Card} key=${launch.slug} launch=${launch} />`)}</ul>` : html`<p class="quiet-text">None yet.</p>`}</section>`}
      <nav aria-label="For all launches"><${Pages} pages=${ofAll(session)} /></nav>
    </main>`;
  }
}

function Card({ launch }) {
  const { slug, name, state, capacity, sold, on_hold, percent_sold, needs } = launch;
  const numbers = [
    ["revenue", money(launch.revenue_minor, launch.currency)],
    ["on hold", count(on_hold)],
    ["decisions a second", perSecond(launch.decided_per_second)],
    ["undecided", waitingForAnswers(launch, launch.undecided)[0]],
    ["99 in 100 answered within", latency(launch.latency_ms_p99)],
    ["waiting in line", count(launch.waiting)],
  ];
  const shown = state === "draft" ? [] : numbers;
  return html`<li class=${`card launch-card ${needs.length ? "needs" : ""}`}>
    <div class="launch-title"><h2><a href=${`/console/e/${encodeURIComponent(slug)}`}>${name}</a></h2><${State} state=${state} /></div>
    ${launch.lobby_opens_at && state === "draft" && html`<p class="quiet-text">Lobby opens ${moment(launch.lobby_opens_at)}.</p>`}
    ${launch.opens_at && (state === "draft" || state === "lobby") && html`<p class="quiet-text">Opens ${moment(launch.opens_at)}.</p>`}
    <${Hands} needs=${needs} />
    <p class="launch-sold"><b>${percent(percent_sold)}</b> <span>sold: ${count(sold)} of ${count(capacity)}</span></p>
    <${Bar} part=${capacity ? sold / capacity : 0} />
    ${shown.length > 0 && html`<dl class="numbers">${shown.map(([what, number]) => html`<div key=${what}><dt>${what}</dt><dd>${number}</dd></div>`)}</dl>`}
  </li>`;
}
