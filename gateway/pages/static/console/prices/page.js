// What seats cost: prices with fees and tax by category and how each stands; fees and tax set before the sale,
// seats and areas given another category until it is over.

import { Component, html } from "../../html.js";
import { readPlan } from "../../core/plan.js";
import { Acting, EventHead, NeedsRole, together, WHY } from "../acting.js";
import { ofEvent } from "../api.js";
import { allTheSame, changedBy } from "../quicker.js";
import { Reading } from "../states.js";
import { Fees, Settled } from "./fees.js";
import { Move } from "./move.js";
import { pickedInWords } from "./picked.js";
import { termsInWords } from "./reckon.js";
import { asOffered, standingOf } from "./standing.js";
import { Prices } from "./table.js";

const EVERY_MS = 5_000;
/** While a move waits to be taken in. */
const SOON_MS = 1_000;
const CHANGED = ["prices_changed", "plan_changed"];

/** @extends {Component<{event: string, api: any, ask: any, tell: any, session: any}>} */
export class PricesPage extends Component {
  /** A plan is large; what may change of it comes with the prices. */
  #plan = null;
  #venue = null;

  constructor(props) {
    super(props);
    this.acting = new Acting(this);
  }

  #of(plan) {
    if (this.#plan !== plan) [this.#plan, this.#venue] = [plan, readPlan(plan)];
    return this.#venue;
  }

  #path = (below) => ofEvent(this.props.event, below);
  #now = () => this.props.api.get(this.#path("/prices"));

  /** What was done, null where it was refused; `{quicker: true}` where somebody had changed it before. */
  #change = (call, done, how) => {
    const send = () => call().catch((problem) => {
      if (CHANGED.includes(problem.code)) return { quicker: true };
      throw problem;
    });
    return this.acting.do(send, (told) => (told.quicker ? "" : done), how);
  };

  /** Who was slower: what is there now, and whether to do it all the same; what is there, or null. */
  #again = async (how, not) => {
    const { api, ask, event, tell } = this.props;
    try {
      const [now, by] = await Promise.all([this.#now(), changedBy(api, event)]);
      return (await allTheSame(ask, [by, how(now), not])) ? now : null;
    } catch (problem) {
      tell(problem.detail, { wrong: true });
      return null;
    }
  };

  #fees = async (terms, seen, why) => {
    const undo = { words: "As it was before", act: () => this.#fees(seen, terms, WHY) };
    const done = await this.#change(() => this.props.api.put(this.#path("/prices"), { ...terms, seen, why }), "Fees and tax are set.", { undo });
    if (!done?.quicker) return Boolean(done);
    const now = await this.#again((there) => `It is now: ${termsInWords(there.terms, there.currency)}`, "Yours was not set.");
    return now ? this.#fees(terms, now.terms, why) : false;
  };

  #move = async (move, venue) => {
    const { seats, areas, to, back, words, why, seen } = move;
    const named = { seats: seats.map((seat) => venue.guid[seat]), areas: areas.map((area) => venue.areas[area].guid) };
    const body = { category: venue.categories[to].name, ...named, seen, why: why.trim() || WHY };
    const undo = back === null ? undefined : { words: `Back to ${venue.categories[back.to].name}`, act: () => this.#back(move, venue) };
    const done = await this.#change(() => this.props.api.post(this.#path("/categories"), body), `${words}: ${venue.categories[to].name} now.`, { undo });
    if (!done?.quicker) return Boolean(done);
    const now = await this.#again((there) => meanwhile(venue, there, seats, areas), "What you wanted was not done.");
    return now ? this.#move({ ...move, back: null, seen: now.plan }, venue) : false;
  };

  /** From how it stands by now. */
  #back = async ({ to, back }, venue) => {
    const now = await this.#now().catch((problem) => this.props.tell(problem.detail, { wrong: true }));
    if (now) await this.#move({ ...back, back: { ...back, to }, words: pickedInWords(venue, back.seats.length, back.areas), why: "", seen: now.plan }, venue);
  };

  render({ event, api, session }, { turn }) {
    const open = `/v1/events/${encodeURIComponent(event)}`;
    return html`<main class="page" id="content">
      <${EventHead} event=${event} title="Prices">What a seat or place of each category costs, with fees and tax, and how many there are.<//>
      <${Reading} api=${api} path=${`${open}/plan`} rows=${2}>${(plan) => html`
        <${Reading} api=${together(api, { offered: this.#path("/prices"), seats: `${open}/seats` })} path=${event} turn=${turn} every_ms=${({ offered }) => (offered.taken_in ? EVERY_MS : SOON_MS)}>${(read) => this.#shown(this.#of(plan), read, session.may("operator"))}<//>`}<//>
    </main>`;
  }

  #shown(plain, { offered, seats }, may) {
    const { ask } = this.props;
    const { busy } = this.state;
    const venue = asOffered(plain, offered);
    const over = offered.may_move === "none";
    return html`${!offered.taken_in && html`<p class="notice warn" role="status"><b>A move is on its way.</b> <span>It counts, and buyers see it, once who decides for this event takes it in. If this stays here, look on the launch's page at who decides.</span></p>`}
      <${Prices} venue=${venue} offered=${offered} standing=${standingOf(venue, seats.states, offered.areas)} />
      ${offered.fees_settled ? html`<${Settled} event=${this.props.event} offered=${offered} />` : may && html`<${Fees} offered=${offered} busy=${busy} ask=${ask} send=${this.#fees} />`}
      ${may && !over && html`<${Move} venue=${venue} offered=${offered} states=${seats.states} busy=${busy} ask=${ask} send=${(move) => this.#move(move, venue)} />`}
      ${!may && !over && html`<${NeedsRole} role="operator" what=${offered.fees_settled ? "Giving seats another category" : "Changing fees, tax and categories"} />`}`;
  }
}

/** Of what somebody picked, how much is of another category than they saw. */
function meanwhile(venue, now, seats, areas) {
  const other = seats.filter((seat) => now.seat_categories[seat] !== venue.category[seat]).length + areas.filter((area) => now.area_categories[area] !== venue.areas[area].category).length;
  return other ? `Of what you picked, ${other} ${other === 1 ? "has" : "have"} another category by now than you saw.` : "Other seats or areas were moved; what you picked is as you saw it.";
}
