// Seats and areas that get another category: picked by row, section or id; what comes of it is said before.

import { counted, listed } from "../../core/money.js";
import { Component, html } from "../../html.js";
import { SEATS_MAX } from "../launch/seats.js";
import { Row } from "../sales/row.js";
import { NamesField, Picked, rowOf, rowsOf, seatsNamed, Where } from "../sales/where.js";
import { Fold } from "../states.js";
import { count, money } from "../words.js";
import { groupsOf, pickedInWords } from "./picked.js";
import { areaStays, moveOf, seatStays } from "./standing.js";
import { Named } from "./table.js";

const EMPTY = { picked: new Set(), areas: [], names: "", wrong: "" };

/** What somebody has already, where they may keep it. */
const hadWords = (had) => (had ? `${counted(had, "place")} of it ${had === 1 ? "is" : "are"} on hold or sold: who has them pays what it cost when they got them.` : "Nobody has any of it.");
const moreWords = (more_minor, currency) => (more_minor ? `If all that nobody has of it sells, buyers pay ${money(Math.abs(more_minor), currency)} ${more_minor > 0 ? "more" : "less"} than they would have.` : "It brings the same.");

/** @extends {Component<{venue: import("../../core/plan.js").Venue, offered: any, states: string, busy: boolean, ask: any, send: any}>} */
export class Move extends Component {
  constructor(props) {
    super(props);
    const first = props.venue.rows[0];
    this.state = { ...EMPTY, section: first?.section ?? 0, row: first?.row ?? "", last: null, to: null, why: "" };
  }

  #can = (seat) => !seatStays(this.props.venue, this.props.offered, this.props.states, seat);

  /** With Shift all between this seat and the one picked before. */
  #toggle = (seat, shift) => this.setState(({ picked, last }) => {
    const next = new Set(picked);
    const row = this.props.venue.rows.find(({ seats }) => seats.includes(seat)).seats;
    const [one, other] = [row.indexOf(last), row.indexOf(seat)].sort((a, b) => a - b);
    if (shift && one >= 0) row.slice(one, other + 1).filter(this.#can).forEach((between) => next.add(between));
    else if (!next.delete(seat)) next.add(seat);
    return { picked: next, last: seat, wrong: "" };
  });

  #add = (seats, where) => {
    const free = seats.filter(this.#can);
    if (!free.length) return this.setState({ wrong: `Nothing of ${where} can be moved just now.` });
    this.setState(({ picked }) => ({ picked: new Set([...picked, ...free]), wrong: "" }));
  };

  #addNamed = () => {
    const { venue, offered, states } = this.props;
    const { seats, wrong } = seatsNamed(venue, this.state.names);
    const numbers = seats.map((name) => venue.seatByGuid.get(name));
    const stays = numbers.find((seat) => seat !== undefined && !this.#can(seat));
    const why = wrong || (stays === undefined ? "" : `${venue.guid[stays]} cannot be moved: ${seatStays(venue, offered, states, stays)}.`);
    if (why) return this.setState({ wrong: why });
    this.setState(({ picked }) => ({ picked: new Set([...picked, ...numbers]), names: "", wrong: "" }));
  };

  #send = async (submitted) => {
    submitted.preventDefault();
    const { venue, offered, states, ask, send } = this.props;
    const { picked, areas, to, why } = this.state;
    const seats = [...picked].sort((one, other) => one - other);
    if (!seats.length && !areas.length) return this.setState({ wrong: "Pick seats or an area first." });
    if (to === null) return this.setState({ wrong: "Choose which category they get." });
    if (seats.length > SEATS_MAX) return this.setState({ wrong: `That is more than ${count(SEATS_MAX)} seats at a time. Leave some out and move them next.` });
    const stays = seats.filter((seat) => !this.#can(seat));
    if (stays.length) return this.setState({ wrong: `Leave ${listed(stays.map((seat) => venue.guid[seat]))} out first: ${seatStays(venue, offered, states, stays[0])}.` });
    const { groups, already, had, more_minor } = moveOf(venue, offered, states, seats, areas, to);
    const target = venue.categories[to];
    const words = pickedInWords(venue, seats.length, areas);
    if (!groups.length) return this.setState({ wrong: `All of it is ${target.name} already.` });
    const from = groups.map(([category, n]) => `${count(n)} × ${venue.categories[category].name} (${money(venue.categories[category].total_minor, venue.currency)})`);
    const says = [
      `Now ${listed(from)}; then a buyer pays ${money(target.total_minor, venue.currency)}.${already ? ` ${count(already)} ${already === 1 ? "is" : "are"} ${target.name} already.` : ""}`,
      offered.may_move === "free" ? "The sale has not begun: nobody was sold any of it." : `Who asks from now on is sold it at the new price. ${hadWords(had)}`,
      moreWords(more_minor, venue.currency), "It can be moved back.",
    ];
    const said = await ask({ title: `Give ${words} the category ${target.name}?`, says, act: `Make it ${target.name}` });
    if (!said) return;
    // What was of several categories has no one move back; what was of the new one already stays when it is taken back.
    const back = groups.length === 1 ? { to: groups[0][0], seats: seats.filter((seat) => venue.category[seat] !== to), areas: areas.filter((area) => venue.areas[area].category !== to) } : null;
    const done = await send({ seats, areas, to, back, words, why, seen: offered.plan });
    if (done) this.setState({ ...EMPTY, to: null, why: "" });
  };

  render({ venue, offered, states, busy }) {
    const { picked, areas, to, why, names, wrong } = this.state;
    const set = (name) => (event) => this.setState({ [name]: event.target.value, wrong: "" });
    const leave = (seats) => this.setState({ picked: new Set([...picked].filter((seat) => !seats.includes(seat))), wrong: "" });
    return html`<section class="card" aria-labelledby="categories-title"><h2 id="categories-title">Give seats another category</h2>
      <p class="quiet-text">${offered.may_move === "free" ? "Before the sale: seats and areas of which nobody has anything." : "Any of them, whoever has them: what somebody has costs what it did when they got it."}${offered.limited.length > 0 && ` ${listed(offered.limited)} ${offered.limited.length === 1 ? "has a limit" : "have limits"} per buyer, so nothing of that is moved, and nothing to it.`}</p>
      <form class="fields" onSubmit=${this.#send} autocomplete="off">
        ${venue.count > 0 && this.#seats(venue, states)}
        ${venue.areas.length > 0 && html`<fieldset class="create-group"><legend>Standing areas</legend>${venue.areas.map((area, index) => {
          const stays = areaStays(venue, offered, index);
          return html`<label class="check" key=${area.guid}><input type="checkbox" checked=${areas.includes(index)} disabled=${Boolean(stays)} onChange=${() => this.setState({ areas: areas.includes(index) ? areas.filter((one) => one !== index) : [...areas, index], wrong: "" })} />
            <span>${area.name}: ${counted(area.capacity, "place")}, ${venue.categories[area.category].name} now${stays && ` (${stays})`}</span></label>`;
        })}</fieldset>`}
        ${venue.count > 0 && html`<${Fold} title="Or by the seats' ids">${() => html`<div class="field-row"><${NamesField} venue=${venue} value=${names} change=${set("names")} /><button type="button" class="button quiet" onClick=${this.#addNamed}>Pick these</button></div>`}<//>`}
        <${Picked} items=${groupsOf(venue, picked).map((group) => ({ key: group.seats[0], words: group.words, leave: () => leave(group.seats) }))} />
        <fieldset class="create-group"><legend>They get</legend><div class="price-choices">${venue.categories.map((one, index) => html`<label class="check price-choice" key=${one.name}><input type="radio" name="to" checked=${to === index} disabled=${offered.limited.includes(one.name)} onChange=${() => this.setState({ to: index, wrong: "" })} />
          <span><${Named} category=${one} /><small>${offered.limited.includes(one.name) ? "has a limit per buyer" : `a buyer pays ${money(one.total_minor, venue.currency)}`}</small></span></label>`)}</div></fieldset>
        <label class="field"><span>Reason for the log <small>(may be left out)</small></span><input maxlength="200" value=${why} onInput=${set("why")} /></label>
        <p role="alert" class="wrong-text">${wrong}</p>
        <p class="card-end"><button class="button main" disabled=${busy || (!picked.size && !areas.length)}>${busy ? "Sending…" : `Move ${pickedInWords(venue, picked.size, areas) || "them"}…`}</button>
          ${(picked.size > 0 || areas.length > 0) && html`<button type="button" class="button quiet" onClick=${() => this.setState(EMPTY)}>Pick none</button>`}</p></form></section>`;
  }

  #seats(venue, states) {
    const { section, row, picked } = this.state;
    const shown = rowOf(venue, section, row);
    const name = venue.sections[section];
    return html`<div class="field-row"><${Where} venue=${venue} section=${section} row=${row} set=${(where) => this.setState({ ...where, wrong: "" })} />
        <span class="card-end"><button type="button" class="button quiet" onClick=${() => this.#add(shown.seats, shown.row ? `row ${shown.row}` : "these")}>Pick ${shown.row ? `row ${shown.row}` : "these"}</button>
          <button type="button" class="button quiet" onClick=${() => this.#add(rowsOf(venue, section).flatMap(({ seats }) => seats), name)}>Pick all of ${name}</button></span></div>
      <${Row} venue=${venue} row=${shown} states=${states} picked=${picked} toggle=${this.#toggle} off="off sale" can=${this.#can} coloured />
      <p class="quiet-text">The line below a seat is its category's colour. Shift picks all between.</p>`;
  }
}
