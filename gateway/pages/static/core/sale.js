// The whole of what the page knows, and what each frame changes. Views read `state` and call the
// actions; they decide nothing.

import { Asking } from "./asking.js";
import { quantityOf, wantOf } from "./choice.js";
import { ServerClock } from "./clock.js";
import { Documents } from "./documents.js";
import { SoldFigures } from "./figures.js";
import { sizeOf } from "./holds.js";
import { placeFromAddress, subjectOf, tokenFromAddress } from "./memory.js";
import { Orders } from "./orders.js";
import { Paying } from "./paying.js";
import { FREE, readPlan, seatLabel, stateOf } from "./plan.js";
import { lookAround, readAgain, readPrices } from "./rereading.js";
import { Room } from "./room.js";
import { standingOf } from "./showing.js";
import { initialState } from "./state.js";
import { Waiting } from "./waiting.js";
import { Ways } from "./ways.js";
import * as words from "./words.js";

export class Sale {
  /** @param {{event: string, demo: boolean, room: boolean, back?: any, human?: any}} boot @param {import("./memory.js").Memory} memory */
  constructor({ event, demo, room, ...told }, memory) {
    this.slug = event;
    this.demo = demo;
    this.memory = memory;
    this.clock = new ServerClock();
    this.documents = new Documents(event, () => this.set({ link: "reconnecting" }));
    this.orders = new Orders(this);
    this.asking = new Asking(this);
    this.waiting = new Waiting(this);
    this.paying = new Paying(this);
    this.figures = new SoldFigures(this);
    this.room = new Room(this, room, told);
    this.listeners = new Set();
    this.early = [];
    this.batch_no = -1;
    this.state = initialState();
    this.link = new Ways({
      hello: () => ({ type: "hello", event: this.slug, token: this.token, watch: (this.watches = this.room.isInside) }),
      frame: (frame) => this.receive(frame),
      change: (link, close_code) => this.set({ link, close_code }),
      hasRoom: () => this.room.there,
      around: (round) => lookAround(this, round),
    });
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

  /** Says what cannot wait. */
  alert(alerted) {
    this.set({ alerted });
  }

  remember() {
    const { token, orders, clock, paying, room } = this;
    const { asked, waiting } = this.state;
    const { holds, paused_at } = orders;
    this.memory.save({ token, requests: asked, holds, paused_at, waiting: waiting.entries, clock: clock.estimate, paying: paying.kept, room: room.kept });
  }

  async start() {
    const found = this.memory.load();
    const place = placeFromAddress();
    const given = place ? await this.documents.resume(place) : tokenFromAddress();
    const same = !given || subjectOf(given) === subjectOf(found.token);
    this.token = given || found.token;
    if (same) {
      if (this.memory.isOfThisTab && found.clock) this.clock.restore(found.clock);
      this.orders.restore(found.holds, found.paused_at);
      this.asking.restore(found.requests);
      this.waiting.restore(found.waiting);
      this.paying.restore(found.paying);
      this.room.restore(found.room);
    }
    this.paying.cameBack();
    if (!this.token && this.demo) this.token = await this.documents.demoToken();
    if (!this.token) return this.set({ phase: "no_token" });
    this.remember();
    const [plan, prices] = await Promise.all([this.documents.plan(), this.documents.prices()]);
    if (!plan) return this.set({ phase: "missing" });
    this.touch({ venue: readPlan(plan, prices) });
    this.paying.start();
    this.link.open();
  }

  /** Who comes in from the waiting room looks at the seats from now on. */
  followRoom() {
    if (this.room.isInside && this.link.live && !this.watches) this.link.renew();
  }

  /** Takes the whole map; changes that came meanwhile are applied after it. */
  async #loadSeats() {
    const early = (this.early = [...(this.early ?? [])]);
    const map = await this.documents.seats(this.clock);
    if (!map || this.early !== early) return; // or a later one is under way, and tells more
    const { batch_no, states, areas, held_until = null } = map;
    this.batch_no = batch_no;
    const seats = Uint8Array.from(states, stateOf);
    this.touch({ seats, places: areas, held_until, phase: "ready", link: this.link.live ? "live" : this.state.link });
    this.early = null;
    for (const frame of early) this.#changed(frame);
    this.dropGone();
  }

  receive(frame) {
    switch (frame.type) {
      case "welcome": return this.#welcomed(frame);
      case "accepted": return this.asking.stage(frame.id, "accepted");
      case "delayed": return this.asking.stage(frame.id, "delayed");
      case "decision": return this.asking.decided(frame);
      case "not_queued": return this.asking.refusedAtTheGate(frame);
      case "unknown": return this.asking.unknown(frame);
      case "hold": return this.orders.told(frame);
      case "payment": return this.paying.told(frame);
      case "waiting": return this.waiting.listed(frame);
      case "offer": return this.waiting.offered(frame);
      case "left": return this.waiting.left(frame.id);
      case "seats": return this.early ? this.early.push(frame) : this.#changed(frame);
      case "room": return this.room.told(frame);
      case "place": return this.room.placed(frame);
      case "wish": return this.room.wished(frame);
      case "event": return this.#eventBecame(frame);
      case "figures": return this.figures.told(frame);
      case "plan": return readAgain(this);
      case "error": return this.#failed(frame);
    }
  }

  #welcomed({ event, buyer }) {
    this.orders.eventBecame(event.state);
    this.set({ event, buyer });
    if (event.plan && this.documents.plan_etag !== `"${event.plan}"`) readAgain(this); // while we were away
    if (this.watches) this.#loadSeats();
    this.room.welcomed();
    this.asking.resume();
    this.orders.standing.resume();
    this.waiting.resume();
    this.paying.looks.hurry();
    this.figures.welcomed(event);
  }

  #eventBecame({ state, called_off = null }) {
    const before = this.state.event.state;
    this.orders.eventBecame(state);
    this.touch({ event: { ...this.state.event, state, called_off } });
    if (before === "draft" && state !== "draft") readAgain(this); // its plan is settled now
    else if (state === "open") readPrices(this);
    const [title, text] = standingOf(this.state.event);
    if (state !== "open" || this.room.isInside) this.say(`${title}. ${text}`.trim()); // who waits hears of the line instead
  }

  #changed({ batch_no, changed, areas, held_until = null }) {
    if (batch_no < this.batch_no) return;
    this.batch_no = batch_no;
    const { seats, places } = this.state;
    for (const [seat, letter] of changed) seats[seat] = stateOf(letter);
    for (const [area, free] of areas ?? []) places[area] = free;
    this.touch({ held_until, notice: words.stillOffered(this.state.notice, (seat) => seats[seat] === FREE) });
    this.dropGone();
  }

  /** Seats that went while they were only being looked at leave the choice, with a word about it. */
  dropGone() {
    const { choice, venue, asked } = this.state;
    if (asked.length) return;
    const gone = choice.picked.filter((seat) => !this.canPick(seat));
    if (!gone.length) return;
    const notice = words.goneWhileChoosing(gone.map((seat) => seatLabel(venue, seat)), gone);
    this.choose({ picked: choice.picked.filter((seat) => this.canPick(seat)) }, notice);
    this.say(notice.title);
  }

  /** Changes the choice. @param {Partial<import("./choice.js").Choice>} patch */
  choose(patch, notice = null) {
    this.touch({ choice: { ...this.state.choice, ...patch }, notice });
  }

  /** How many more this buyer may have. */
  get allowance() {
    const moving = this.orders.moving;
    const had = this.orders.quantity - (moving ? sizeOf(moving) : 0);
    return Math.max(0, (this.state.event?.seats_per_buyer_max ?? 0) - had);
  }

  /** Whether a seat can be chosen: it is free, or of the hold that is about to be changed for others. */
  canPick(seat) {
    return this.state.seats[seat] === FREE || (this.orders.moving?.seats.includes(seat) ?? false);
  }

  /** Whether something can be chosen now. */
  get #choosable() {
    const { asked, event } = this.state;
    return !asked.length && (event.state === "open" || event.state === "paused");
  }

  /** Chooses a seat or takes it back; a seat of a group that was offered chooses that group instead. @param {number} seat */
  toggle(seat) {
    const { choice, notice } = this.state;
    if (!this.#choosable || !this.canPick(seat)) return;
    if (choice.picked.includes(seat)) return this.choose({ picked: choice.picked.filter((one) => one !== seat) });
    const picked = notice?.offers?.find((offer) => offer.seats.includes(seat))?.seats ?? [...choice.picked, seat];
    const wanted = { ...choice, mode: "map", picked };
    if (quantityOf(wanted) > this.allowance) return this.tell(words.limitReached(this.state.event.seats_per_buyer_max));
    this.choose({ mode: "map", picked });
  }

  /** How many places of an area can be wanted now: what is free (of a full one, to wait for), and what the buyer may have. @param {number} area */
  placesMost(area) {
    const { choice } = this.state;
    const room = this.allowance - quantityOf({ ...choice, mode: "map" });
    return Math.max(0, Math.min(this.#placesToWant(area), (choice.places[area] ?? 0) + room));
  }

  #placesToWant(area) {
    return this.state.places[area] || (this.orders.moving ? 0 : Infinity);
  }

  /** Whether what is chosen can only be waited for: places of a full area are in it. */
  get onlyToWait() {
    const { choice, places } = this.state;
    return choice.mode === "map" && Object.entries(choice.places).some(([area, n]) => n > 0 && !places[area]);
  }

  /** Wants so many places of an area, within its bounds. @param {number} area @param {number} quantity */
  want(area, quantity) {
    if (!this.#choosable) return;
    const { choice, event } = this.state;
    const most = this.placesMost(area);
    if (quantity > most && most < this.#placesToWant(area)) this.tell(words.limitReached(event.seats_per_buyer_max));
    const within = Math.min(Math.max(quantity, 0), most);
    if (within === (choice.places[area] ?? 0)) return;
    this.choose({ mode: "map", places: { ...choice.places, [area]: within } });
  }

  /** Asks for what is chosen. */
  ask() {
    const want = wantOf(this.state.choice, this.state.venue);
    if (want && this.onlyToWait) return this.wait(want);
    this.asking.ask(want);
  }

  /** Asks for what was offered instead. @param {import("./offers.js").Offer} offer */
  take({ want }) {
    const { best } = this.state.choice;
    const quantity = want.best?.quantity;
    if (quantity) this.choose({ best: { ...best, quantity, section: want.best.section ?? "" } });
    this.asking.ask(want);
  }

  /** Waits for this, from now on. @param {any} want */
  wait(want) {
    const { move: _, ...rest } = want;
    this.asking.ask({ ...rest, waitlist: true });
  }

  /** Looks for other seats instead of a hold's; the hold stays until others are had. @param {import("./holds.js").Hold} hold */
  move(hold) {
    const { choice } = this.state;
    const best = { ...choice.best, quantity: hold.seats.length || choice.best.quantity };
    this.touch({ moving: hold.id, notice: null, choice: { ...choice, best, picked: [], places: {} } });
  }

  /** Shows a notice and says it. @param {import("./words.js").Notice} notice */
  tell(notice) {
    this.touch({ notice });
    const offers = (notice.offers ?? []).map(({ label }, index) => `${index + 1}: ${label}.`);
    this.say([notice.title, notice.text, ...offers].join(" "));
  }

  #failed(frame) {
    if (!this.room.asking.failed(frame) && !this.asking.failed(frame) && !this.waiting.failed(frame)) this.orders.standing.failed(frame);
  }

  /** Forgets who this was, to come in anew. */
  leave() {
    this.memory.clear();
    location.reload();
  }
}
