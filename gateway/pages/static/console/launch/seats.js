// Taking seats and places off sale and putting them on again: by name, or what is free of a section or row.

import { counted } from "../../core/money.js";
import { readPlan } from "../../core/plan.js";
import { Component, html } from "../../html.js";
import { NamesField, seatsNamed, Where } from "../sales/where.js";
import { Bones, Failed } from "../states.js";

export const SEATS_MAX = 1_000;
const FREE = "a";
const BLOCKED = "b";

/** @extends {Component<{event: string, api: any, levers: import("./moves.js").Levers}>} */
export class SeatsForm extends Component {
  constructor(props) {
    super(props);
    this.state = { venue: null, problem: null, off: true, by: "section", section: 0, row: "", names: "", area: 0, places: "1", why: "", wrong: "" };
  }

  async #read() {
    if (this.state.venue) return;
    try {
      this.setState({ venue: readPlan(await this.props.api.get(`/v1/events/${encodeURIComponent(this.props.event)}/plan`)), problem: null });
    } catch (problem) {
      this.setState({ problem });
    }
  }

  /** What is meant, as the API takes it and in words; or what is wrong with it. */
  async #meant() {
    const { venue, off, section, row, names, area, places } = this.state;
    const by = this.#by();
    if (by === "area") {
      const count = Number(places);
      if (!Number.isInteger(count) || count < 1) return { wrong: "Say how many places: 1 or more." };
      return { what: { seats: [], areas: { [venue.areas[area].guid]: count } }, words: `${counted(count, "place")} of ${venue.areas[area].name}` };
    }
    if (by === "names") {
      const { seats, wrong } = seatsNamed(venue, names);
      return wrong ? { wrong } : bounded(seats, seats.length > 4 ? counted(seats.length, "seat") : seats.join(", "));
    }
    const { states } = await this.props.api.get(`/v1/events/${encodeURIComponent(this.props.event)}/seats`);
    const wanted = off ? FREE : BLOCKED;
    const seats = venue.guid.filter((_, seat) => venue.section[seat] === section && (row === "" || venue.row[seat] === row) && states[seat] === wanted);
    const where = `${venue.sections[section]}${row && `, row ${row}`}`;
    if (!seats.length) return { wrong: `Of ${where} none is ${off ? "free" : "blocked"} just now.` };
    return bounded(seats, `${counted(seats.length, off ? "free seat" : "blocked seat")} of ${where}`);
  }

  /** How the plan can be spoken of: (name, words). */
  #ways() {
    const { count, areas } = this.state.venue;
    return [["section", "a section", count], ["names", "single seats", count], ["area", "standing places", areas.length]].filter(([, , there]) => there);
  }

  /** As chosen, if the plan has such. */
  #by() {
    const ways = this.#ways().map(([way]) => way);
    return ways.includes(this.state.by) ? this.state.by : ways[0];
  }

  async #send(submitted) {
    submitted.preventDefault();
    this.setState({ wrong: "" });
    try {
      const { wrong, what, words } = await this.#meant();
      if (wrong) return this.setState({ wrong });
      if (await this.props.levers.block(this.state.off, what, words, this.state.why)) this.setState({ names: "", why: "" });
    } catch (problem) {
      this.setState({ wrong: problem.detail });
    }
  }

  render({ levers }, { venue, problem }) {
    return html`<section class="card wide" aria-labelledby="seats-title">
      <h2 id="seats-title">Seats off sale</h2>
      <p class="quiet-text">Seats and places that are free can be taken off sale and put on again. What somebody has stays theirs.</p>
      <details onToggle=${(event) => event.target.open && this.#read()}><summary>Take off sale, or put on sale again</summary>
        ${problem ? html`<${Failed} problem=${problem} again=${() => this.#read()} />` : venue ? this.#form(venue, levers) : html`<${Bones} rows=${1} />`}
      </details></section>`;
  }

  #form(venue, levers) {
    const { off, section, row, names, area, places, why, wrong } = this.state;
    const set = (name, as = String) => (event) => this.setState({ [name]: as(event.target.value), wrong: "" });
    const chosen = this.#by();
    return html`<form class="fields seats-form" onSubmit=${(event) => this.#send(event)}>
      <div class="switch" role="group" aria-label="What to do"><button type="button" aria-pressed=${off} onClick=${() => this.setState({ off: true })}>Take off sale</button><button type="button" aria-pressed=${!off} onClick=${() => this.setState({ off: false })}>Put on sale</button></div>
      <div class="field-row">
        <label class="field">What<select onChange=${set("by")}>${this.#ways().map(([way, words]) => html`<option key=${way} value=${way} selected=${chosen === way}>${words}</option>`)}</select></label>
        ${chosen === "section" && html`<${Where} all venue=${venue} section=${section} row=${row} set=${(where) => this.setState({ ...where, wrong: "" })} />`}
        ${chosen === "names" && html`<${NamesField} venue=${venue} value=${names} change=${set("names")} />`}
        ${chosen === "area" && html`<label class="field">Area<select onChange=${set("area", Number)}>${venue.areas.map((one, index) => html`<option key=${one.guid} value=${index} selected=${area === index}>${one.name}</option>`)}</select></label>
          <label class="field">How many<input inputmode="numeric" value=${places} onInput=${set("places")} /></label>`}
      </div>
      <label class="field"><span>Reason for the log <small>(may be left out)</small></span><input maxlength="200" value=${why} onInput=${set("why")} /></label>
      <p role="alert" class="wrong-text">${wrong}</p>
      <button class="button quiet" disabled=${Boolean(levers.sending)}>${off ? "Take off sale…" : "Put on sale…"}</button>
    </form>`;
  }
}

const bounded = (seats, words) =>
  seats.length > SEATS_MAX ? { wrong: `${words}: that is more than ${SEATS_MAX.toLocaleString("en")} at a time. Choose row by row.` } : { what: { seats, areas: {} }, words };
