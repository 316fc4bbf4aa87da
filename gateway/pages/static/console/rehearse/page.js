// Rehearsing an event: start, follow, read what it takes, and use the pace it found.

import { Component, html } from "../../html.js";
import { counted } from "../../core/money.js";
import { Bones } from "../states.js";
import { moment } from "../words.js";
import { Check, Line } from "../create/fields.js";
import { Result } from "./result.js";

const ASK_MS = 1_000;
const UNDER_WAY = ["queued", "running"];
const STATES = { queued: "waits to be begun", running: "under way", done: "done", failed: "could not take place" };
const BUYERS_MAX = 5_000;

/** @extends {Component<{api: any, event: string, go: (path: string) => void}>} */
export class RehearsePage extends Component {
  state = { rehearsals: null, shown: null, buyers: "1000", sized_for: "", beside: false, said: "", wrong: "", unread: "", room: null, sending: false };

  componentDidMount() {
    this.path = `/v1/operator/events/${encodeURIComponent(this.props.event)}`;
    this.#ask();
    this.#readRoom().catch(() => {}); // an event without one has no pace to set
  }

  async #readRoom() {
    const { room } = await this.props.api.get(`${this.path}/room`);
    this.setState({ room });
    return room;
  }

  componentWillUnmount() {
    clearTimeout(this.timer);
    this.gone = true;
  }

  async #ask() {
    clearTimeout(this.timer);
    try {
      const { rehearsals } = await this.props.api.get(`${this.path}/rehearsals`);
      if (this.gone) return;
      const shown = rehearsals.some(({ id }) => id === this.state.shown) ? this.state.shown : rehearsals[0]?.id ?? null;
      this.setState({ rehearsals, shown, unread: "" });
      if (rehearsals.some(({ state }) => UNDER_WAY.includes(state))) this.timer = setTimeout(() => this.#ask(), ASK_MS);
    } catch (problem) {
      if (this.gone) return;
      this.setState({ unread: problem.detail });
      this.timer = setTimeout(() => this.#ask(), 5 * ASK_MS);
    }
  }

  async #start(submitted) {
    submitted.preventDefault();
    if (this.state.sending) return;
    const { buyers, sized_for, beside } = this.state;
    const body = { buyers: Number(buyers), beside_a_sale: beside, why: "rehearsed in the console" };
    if (sized_for.trim()) body.sized_for = Number(sized_for);
    this.setState({ said: "", wrong: "", sending: true });
    try {
      const { id } = await this.props.api.post(`${this.path}/rehearsals`, body);
      this.setState({ shown: id });
      await this.#ask();
    } catch (problem) {
      this.setState({ wrong: problem.detail });
    }
    this.setState({ sending: false });
  }

  #usePace = async (pace) => {
    const { room, sending } = this.state;
    if (sending) return;
    this.setState({ said: "", wrong: "", sending: true });
    try {
      const changed = await this.props.api.patch(`${this.path}/room`, { pace, why: "the pace of a rehearsal", edition: room.edition });
      this.setState({ room: changed, said: `The waiting room admits ${pace.toLocaleString("en")} a minute now.` });
    } catch (problem) {
      const now = problem.code === "room_changed" ? await this.#readRoom().catch(() => null) : null;
      const pace_now = now?.terms.pace ?? null;
      const how = now ? ` Its pace is ${pace_now === null ? "not set" : `${pace_now.toLocaleString("en")} a minute`} now.` : "";
      this.setState({ wrong: `${problem.detail}${how}` });
    }
    this.setState({ sending: false });
  };

  render({ event, go }, { rehearsals, shown, buyers, sized_for, beside, said, wrong, unread, room, sending }) {
    const running = rehearsals?.find(({ state }) => UNDER_WAY.includes(state));
    const chosen = rehearsals?.find(({ id }) => id === shown);
    const good = (written, most) => /^\d{1,9}$/.test(written.trim()) && Number(written) >= 1 && Number(written) <= most;
    const ready = good(buyers, BUYERS_MAX) && (!sized_for.trim() || good(sized_for, 100_000_000));
    const done = chosen?.state === "done";
    const start = html`<section key="start" class="card" aria-labelledby="rehearse-start"><h2 id="rehearse-start">A stampede against a copy</h2>
        <p>The plan, prices, limits and the waiting room’s terms are copied to an onsale of its own, which is gone afterwards. First everybody joins a copy of the waiting room; then everybody asks at once at copies that are open, with no room before them. No buyer’s data is in it, and this event is not touched.</p>
        <form class="fields" onSubmit=${(submitted) => this.#start(submitted)}>
          <div class="field-row"><${Line} name="buyers" label="Buyers that storm it" mode="numeric" value=${buyers} change=${(value) => this.setState({ buyers: value })} error=${buyers && !good(buyers, BUYERS_MAX) ? "must be 1 to 5,000" : ""} says="All at once, on one machine." />
            <${Line} name="sized-for" label="Buyers you expect" mode="numeric" value=${sized_for} placeholder=${buyers} change=${(value) => this.setState({ sized_for: value })} says="The sizing is for so many." /></div>
          <${Check} name="beside" label="Also while something sells" value=${beside} change=${(value) => this.setState({ beside: value })} says="It takes the machine it runs on. Only where rehearsals have another one." />
          <p class="create-next"><button class="button main" disabled=${!ready || sending || Boolean(running)}>Start the rehearsal</button></p>
        </form>
      </section>`;
    return html`<main class="page rehearse" id="content">
      <div class="page-head"><h1 tabindex="-1">Rehearse ${event}</h1><button type="button" class="button quiet small" onClick=${() => go(`/console/e/${encodeURIComponent(event)}`)}>Back to the launch</button></div>
      ${(wrong || unread) && html`<p class="create-problem" role="alert">${wrong || unread}</p>`}
      ${said && html`<p class="create-sum" role="status">${said}</p>`}
      ${running && html`<section class="card" aria-labelledby="rehearse-now"><h2 id="rehearse-now">Under way</h2>
        <p role="status">${running.phase || "It waits to be begun"}${running.total > 0 ? `: ${running.done.toLocaleString("en")} of ${running.total.toLocaleString("en")}` : ""} …</p>
        <progress aria-label="How far it is" max=${running.total || 1} value=${running.total ? running.done : undefined}></progress></section>`}
      ${!done && start}
      ${done && html`<${Result} rehearsal=${chosen} room=${room} busy=${sending} usePace=${this.#usePace} />`}
      ${done && start}
      ${chosen?.state === "failed" && html`<p class="create-problem" role="alert">The rehearsal ${STATES.failed}: ${chosen.error}</p>`}
      ${rehearsals?.length > 0 && html`<section class="card" aria-labelledby="rehearse-before"><h2 id="rehearse-before">Rehearsals so far</h2>
        <ul class="rehearsal-list">${rehearsals.map((one) => html`<li key=${one.id}><span>${moment(one.asked_at)}: ${counted(one.buyers, "buyer")}, ${STATES[one.state]} <small>by ${one.who}</small></span>
          ${one.state === "done" && html`<button type="button" class="button quiet small" aria-pressed=${one.id === shown} onClick=${() => this.setState({ shown: one.id })}>Show</button>`}</li>`)}</ul></section>`}
      ${!rehearsals && !unread && html`<${Bones} rows=${1} />`}
      ${rehearsals?.length === 0 && html`<p class="quiet-text">It was not rehearsed yet. A rehearsal takes about a minute.</p>`}
    </main>`;
  }
}
