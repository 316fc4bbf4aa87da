// The form of a sale by hand: what, for whom, as what. What was picked and is gone meanwhile says so.

import { listed } from "../../core/money.js";
import { seatPlace } from "../../core/plan.js";
import { Component, html } from "../../html.js";
import { newKey } from "../api.js";
import { Reading } from "../states.js";
import { canBeSold, freeTogether } from "./free.js";
import { Row } from "./row.js";
import { placesWords, sumOf } from "./sum.js";
import { Picked, rowOf, Where } from "./where.js";

const SEATS_EVERY_MS = 4_000;
const TOGETHER_MAX = 20;
const NAMED_MAX = 6;

/** @extends {Component<{venue: import("../../core/plan.js").Venue, event: string, api: any, busy: boolean, turn: number, sell: any}>} */
export class SaleForm extends Component {
  constructor(props) {
    super(props);
    const first = props.venue.rows[0];
    this.state = { section: first?.section ?? 0, row: first?.row ?? "", together: "2", picked: [], places: {}, kind: "box_office", to: "door", why: "", wrong: "", reference: newKey() };
  }

  #toggle = (seat) => this.setState(({ picked }) => ({ picked: picked.includes(seat) ? picked.filter((one) => one !== seat) : [...picked, seat], wrong: "" }));

  #find = (states) => {
    const { venue } = this.props;
    const { section, together, picked } = this.state;
    const wanted = Number(together);
    if (!Number.isInteger(wanted) || wanted < 1 || wanted > TOGETHER_MAX) return this.setState({ wrong: `Say how many together: 1 to ${TOGETHER_MAX}.` });
    const found = freeTogether(venue, states, wanted, section, new Set(picked));
    if (!found) return this.setState({ wrong: `No ${wanted} seats that are free sit together in ${venue.sections[section]}. Try another section, or fewer.` });
    this.setState({ picked: [...picked, ...found], row: venue.row[found[0]], wrong: "" });
  };

  #send = async (submitted, gone) => {
    submitted.preventDefault();
    const { venue, sell } = this.props;
    const { picked, kind, to, why, reference } = this.state;
    const places = this.#places();
    const count = picked.length + places.reduce((sum, [, n]) => sum + n, 0);
    if (!count) return this.setState({ wrong: "Choose a seat or a standing place first." });
    if (gone.length) return this.setState({ wrong: `Take ${listed(gone.map((seat) => venue.guid[seat]))} out first: somebody has it.` });
    if (!to.trim()) return this.setState({ wrong: "Say for whom it is." });
    const sale = { to: to.trim(), kind, seats: picked.map((seat) => venue.guid[seat]), areas: Object.fromEntries(places.map(([area, n]) => [venue.areas[area].guid, n])), reference, why };
    const words = [...picked.slice(0, NAMED_MAX).map((seat) => seatPlace(venue, seat)), ...(picked.length > NAMED_MAX ? [`${picked.length - NAMED_MAX} more seats`] : []), ...places.map(([area, n]) => `${n} × ${venue.areas[area].name}`)];
    // The reference tells it from a sale that is alike; it stays until this one is done, so it is sold once.
    if (await sell(sale, words.join("; "), sumOf(venue, picked, places))) this.setState({ picked: [], places: {}, wrong: "", reference: newKey() });
  };

  #places = () => Object.entries(this.state.places).map(([area, n]) => [Number(area), Number(n)]).filter(([, n]) => Number.isInteger(n) && n > 0);

  render({ venue, event, api, turn }) {
    return html`<${Reading} key=${turn} api=${api} path=${`/v1/events/${encodeURIComponent(event)}/seats`} rows=${2} every_ms=${SEATS_EVERY_MS}>${({ states, areas }) => this.#form(venue, states, areas)}<//>`;
  }

  #form(venue, states, areas) {
    const { picked, kind, to, why, wrong } = this.state;
    const { busy } = this.props;
    const set = (name) => (event) => this.setState({ [name]: event.target.value, wrong: "" });
    const gone = picked.filter((seat) => !canBeSold(states[seat]));
    const places = this.#places();
    const count = picked.length + places.reduce((sum, [, n]) => sum + n, 0);
    return html`<form class="card" aria-labelledby="sale-title" onSubmit=${(submitted) => this.#send(submitted, gone)}>
      <h2 id="sale-title">A sale</h2>
      ${venue.count > 0 && this.#seats(venue, states)}
      ${venue.areas.length > 0 && html`<div class="field-row sale-areas">${venue.areas.map((area, index) => html`<label class="field" key=${area.guid}>${area.name}: ${areas[index].toLocaleString("en")} free
        <input type="number" min="0" max="1000" value=${this.state.places[index] ?? ""} onInput=${(event) => this.setState({ places: { ...this.state.places, [index]: event.target.value }, wrong: "" })} /></label>`)}</div>`}
      <${Picked} items=${picked.map((seat) => ({ key: seat, words: seatPlace(venue, seat), gone: gone.includes(seat), leave: () => this.#toggle(seat) }))} />
      <div class="switch sale-kind" role="group" aria-label="As what"><button type="button" aria-pressed=${kind === "box_office"} onClick=${() => this.setState({ kind: "box_office" })}>Sold here</button>
        <button type="button" aria-pressed=${kind === "complimentary"} onClick=${() => this.setState({ kind: "complimentary" })}>Given for free</button></div>
      <div class="field-row">
        <label class="field"><span>For whom <small>(as your shop names buyers; at the door any word)</small></span><input value=${to} onInput=${set("to")} maxlength="128" required autocapitalize="off" spellcheck=${false} /></label>
        <label class="field"><span>Reason for the log <small>(may be left out)</small></span><input maxlength="200" value=${why} onInput=${set("why")} /></label></div>
      <p class="sale-sum"><b class="huge">${kind === "complimentary" ? "For free" : sumOf(venue, picked, places)}</b> <span>${placesWords(count)}</span></p>
      <p role="alert" class="wrong-text">${wrong}</p>
      <p class="card-end"><button class="button main" disabled=${busy || count === 0}>${busy ? "Sending…" : kind === "complimentary" ? "Give…" : "Sell…"}</button></p>
    </form>`;
  }

  #seats(venue, states) {
    const { section, row, together, picked } = this.state;
    return html`<div class="field-row">
        <${Where} venue=${venue} section=${section} row=${row} set=${(chosen) => this.setState({ ...chosen, wrong: "" })} />
        <label class="field">How many together<input inputmode="numeric" value=${together} onInput=${(event) => this.setState({ together: event.target.value, wrong: "" })} /></label>
        <button type="button" class="button quiet" onClick=${() => this.#find(states)}>Pick the best free</button></div>
      <${Row} venue=${venue} row=${rowOf(venue, section, row)} states=${states} picked=${picked} toggle=${this.#toggle} />`;
  }
}
