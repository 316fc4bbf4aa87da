// The whole of what the page knows, and what each frame changes. Views read `state` and call the
// actions; they decide nothing. A request leaves the list only with an answer: after a reconnect each
// undecided one is resumed, and asked again under its own id if nobody knows it.

import { emptyChoice, quantityOf, wantOf } from "./choice.js";
import { ServerClock } from "./clock.js";
import { patientFetch } from "./fetching.js";
import { Link } from "./link.js";
import { subjectOf, tokenFromAddress } from "./memory.js";
import { Orders } from "./orders.js";
import { FREE, readPlan, seatLabel, stateOf } from "./plan.js";
import * as words from "./words.js";

/**
 * @typedef {{id: string, want: any, stage: "asking" | "busy" | "accepted" | "delayed", sent_ms: number, asked_ms: number}} Asked
 *   `sent_ms` is 0 when an answer can no longer tell what time it is at the server
 * @typedef {object} State
 * @property {"loading" | "ready" | "missing" | "no_token"} phase
 * @property {"connecting" | "live" | "reconnecting" | "refused"} link
 * @property {number} close_code
 * @property {any} event from the welcome
 * @property {string} buyer
 * @property {import("./plan.js").Venue | null} venue
 * @property {Uint8Array | null} seats state of each seat
 * @property {number[]} places free places of each area
 * @property {number} changes rises with every change of seats, places, choice or orders
 * @property {import("./choice.js").Choice} choice
 * @property {Asked[]} asked undecided requests
 * @property {import("./words.js").Notice | null} notice
 * @property {string} spoken the last milestone, for screen readers
 */

const ASK_AGAIN_AFTER_MS = 6_000;
const WATCH_EVERY_MS = 2_000;

export class Sale {
  /** @param {{event: string, demo: boolean}} boot @param {import("./memory.js").Memory} memory */
  constructor({ event, demo }, memory) {
    this.slug = event;
    this.demo = demo;
    this.memory = memory;
    this.clock = new ServerClock();
    this.orders = new Orders(this);
    this.listeners = new Set();
    this.early = [];
    this.batch_no = -1;
    /** @type {State} */
    this.state = {
      phase: "loading", link: "connecting", close_code: 0, event: null, buyer: "", venue: null,
      seats: null, places: [], changes: 0, choice: emptyChoice(), asked: [], notice: null, spoken: "",
    };
    this.link = new Link({
      hello: () => ({ type: "hello", event: this.slug, token: this.token, watch: true }),
      frame: (frame) => this.receive(frame),
      change: (link, close_code) => this.set({ link, close_code }),
    });
    setInterval(() => this.#askTheSilentAgain(), WATCH_EVERY_MS);
  }

  set(patch) {
    Object.assign(this.state, patch);
    for (const listener of this.listeners) listener();
  }

  /** Something the map shows has changed. */
  touch(patch = {}) {
    this.set({ ...patch, changes: this.state.changes + 1 });
  }

  say(spoken) {
    this.set({ spoken });
  }

  remember() {
    const { token, orders, clock } = this;
    this.memory.save({ token, requests: this.state.asked, holds: orders.holds, clock: clock.estimate });
  }

  async start() {
    const found = this.memory.load();
    const given = tokenFromAddress();
    const same = !given || subjectOf(given) === subjectOf(found.token);
    this.token = given || found.token;
    if (same) {
      if (this.memory.isOfThisTab && found.clock) this.clock.restore(found.clock);
      this.orders.restore(found.holds);
      this.state.asked = found.requests.map((request) => ({ ...request, stage: "asking", sent_ms: 0 }));
    }
    if (!this.token && this.demo) {
      const answer = await this.#get("/v1/demo/token", { method: "POST" });
      this.token = (await answer.json()).token;
    }
    if (!this.token) return this.set({ phase: "no_token" });
    this.remember();
    const answer = await this.#get(`/v1/events/${this.slug}/plan`);
    if (!answer.ok) return this.set({ phase: "missing" });
    this.touch({ venue: readPlan(await answer.json()) });
    this.link.open();
  }

  #get(path, options) {
    return patientFetch(path, options, () => this.set({ link: "reconnecting" }));
  }

  /** Takes the whole map; changes that came meanwhile are applied after it. */
  async #loadSeats() {
    this.early = [];
    const sent_ms = Date.now();
    const answer = await this.#get(`/v1/events/${this.slug}/seats`, { cache: "no-store" });
    if (!answer.ok) return;
    this.clock.learnFromDate(answer, sent_ms);
    const { batch_no, states, areas } = await answer.json();
    this.batch_no = batch_no;
    const seats = Uint8Array.from(states, stateOf);
    this.touch({ seats, places: areas, phase: "ready", link: this.link.live ? "live" : this.state.link });
    const early = this.early;
    this.early = null;
    for (const frame of early) this.#changed(frame);
    this.#dropGone();
  }

  receive(frame) {
    switch (frame.type) {
      case "welcome": return this.#welcomed(frame);
      case "accepted": return this.#stage(frame.id, "accepted");
      case "delayed": return this.#stage(frame.id, "delayed");
      case "decision": return this.#decided(frame);
      case "not_queued": return this.#refusedAtTheGate(frame);
      case "unknown": return this.#again(this.#find(frame.id));
      case "hold": return this.orders.became(frame.hold, frame.state);
      case "seats": return this.early ? this.early.push(frame) : this.#changed(frame);
      case "event": return this.#eventBecame(frame.state);
      case "error": return this.#failed(frame);
    }
  }

  #welcomed({ event, buyer }) {
    this.orders.eventBecame(event.state);
    this.set({ event, buyer });
    this.#loadSeats();
    const ids = this.state.asked.map(({ id }) => id);
    for (const request of this.state.asked) Object.assign(request, { asked_ms: Date.now(), sent_ms: 0 });
    if (ids.length) this.link.send({ type: "resume", ids });
    this.orders.resume();
  }

  #eventBecame(state) {
    this.orders.eventBecame(state);
    this.touch({ event: { ...this.state.event, state } });
    const [title, text] = words.EVENT_STATES[state] ?? ["The sale is open", ""];
    this.say(`${title}. ${text}`);
  }

  #find(id) {
    return this.state.asked.find((one) => one.id === id);
  }

  #stage(id, stage) {
    const request = this.#find(id);
    if (request) request.stage = stage;
    this.set({});
  }

  #changed({ batch_no, changed, areas }) {
    if (batch_no < this.batch_no) return;
    this.batch_no = batch_no;
    const { seats, places } = this.state;
    for (const [seat, letter] of changed) seats[seat] = stateOf(letter);
    for (const [area, free] of areas ?? []) places[area] = free;
    this.touch();
    this.#dropGone();
  }

  /** Seats that went while they were only being looked at leave the choice, with a word about it. */
  #dropGone() {
    const { choice, seats, venue, asked } = this.state;
    if (asked.length) return;
    const gone = choice.picked.filter((seat) => seats[seat] !== FREE);
    if (!gone.length) return;
    const notice = words.goneWhileChoosing(gone.map((seat) => seatLabel(venue, seat)), gone);
    this.choose({ picked: choice.picked.filter((seat) => seats[seat] === FREE) }, notice);
    this.say(notice.title);
  }

  /** Changes the choice. @param {Partial<import("./choice.js").Choice>} patch */
  choose(patch, notice = null) {
    this.touch({ choice: { ...this.state.choice, ...patch }, notice });
  }

  /** How many more this buyer may have. */
  get allowance() {
    return Math.max(0, (this.state.event?.seats_per_buyer_max ?? 0) - this.orders.quantity);
  }

  toggle(seat) {
    const { choice, asked, seats, event } = this.state;
    const selling = event.state === "open" || event.state === "paused";
    if (!selling || asked.length || seats[seat] !== FREE) return;
    if (choice.picked.includes(seat)) return this.choose({ picked: choice.picked.filter((one) => one !== seat) });
    if (quantityOf({ ...choice, mode: "map" }) >= this.allowance) return this.set({ notice: words.limitReached(this.state.event.seats_per_buyer_max) });
    this.choose({ mode: "map", picked: [...choice.picked, seat] });
  }

  /** Asks for what is chosen. */
  ask() {
    const want = wantOf(this.state.choice, this.state.venue);
    if (!want || this.state.asked.length) return;
    const id = `r-${crypto.getRandomValues(new Uint32Array(3)).join("-")}`;
    const sent_ms = Date.now();
    const request = { id, want, stage: "asking", sent_ms, asked_ms: sent_ms };
    this.touch({ asked: [request], notice: null });
    this.remember();
    this.link.send({ type: "request", id, ...want });
  }

  #again(request) {
    if (!request) return;
    request.asked_ms = Date.now();
    request.sent_ms = 0;
    this.link.send({ type: "request", id: request.id, ...request.want, again: true });
  }

  #askTheSilentAgain() {
    if (!this.link.live) return;
    for (const request of this.state.asked) {
      if (request.stage === "asking" && Date.now() - request.asked_ms > ASK_AGAIN_AFTER_MS) this.#again(request);
    }
  }

  /** Takes an answered request off the list. @returns {Asked | undefined} */
  #answered(id) {
    const request = this.#find(id);
    this.state.asked = this.state.asked.filter((one) => one !== request);
    return request;
  }

  #decided({ id, outcome, result }) {
    const request = this.#answered(id);
    if (!request) return; // told twice: the first answer was the same
    if (outcome === "held") {
      this.orders.got(request, result, this.state.event.hold_ttl_seconds);
      this.choose({ picked: [], places: {} });
    } else {
      this.#notHeld(request, outcome, result);
    }
    this.remember();
  }

  #notHeld(request, outcome, result) {
    const { event } = this.state;
    if (outcome === "taken") return this.#withoutTaken(result.taken ?? [], words.taken);
    const sentence = {
      sold_out: () => words.soldOut(request.want),
      limit_reached: () => words.limitReached(event.seats_per_buyer_max),
      closed: words.closed,
      conflict: words.conflict,
    }[outcome];
    this.#tell((sentence ?? words.invalid)());
  }

  #refusedAtTheGate({ id, taken }) {
    if (this.#answered(id)) this.#withoutTaken(taken ?? [], words.notQueued);
    this.remember();
  }

  #withoutTaken(guids, sentence) {
    const { choice, venue } = this.state;
    const gone = guids.map((guid) => venue.seatByGuid.get(guid)).filter((seat) => seat !== undefined);
    const notice = sentence(gone.map((seat) => seatLabel(venue, seat)), gone);
    this.choose({ picked: choice.picked.filter((seat) => !gone.includes(seat)) });
    this.#tell(notice);
    this.#dropGone();
    this.set({ notice });
  }

  #tell(notice) {
    this.touch({ notice });
    this.say(`${notice.title} ${notice.text}`);
  }

  #failed({ id, code, message, retry_after }) {
    const request = this.#find(id);
    if (request && retry_after) {
      // Whether it was queued is not known: the same key again settles it, whatever happened.
      this.#stage(id, "busy");
      setTimeout(() => this.#again(this.#find(id)), retry_after * 1000 * (1 + Math.random()));
      return;
    }
    if (!this.#answered(id) && !this.orders.failed(code)) return;
    if (code !== "hold_expired") this.#tell(words.refused(message));
    this.remember();
  }

  /** Forgets who this was, to come in anew. */
  leave() {
    this.memory.clear();
    location.reload();
  }
}
