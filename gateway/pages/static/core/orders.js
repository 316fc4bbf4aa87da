// What this buyer holds and bought. Holds end when the server says so; while the sale is paused their time
// stands still, as the allocator gives running holds the lost time back.

import { costOf } from "./choice.js";
import { spoken } from "./clock.js";
import { endInWords, holdOf, orderOf, placesOf, sizeOf } from "./holds.js";
import * as words from "./holdwords.js";
import { Lapsed } from "./lapsed.js";
import { paidFor } from "./paywords.js";
import { asGiven, seatLabel } from "./plan.js";
import { Standing } from "./standing.js";

/** @typedef {import("./holds.js").Hold} Hold */

const MILESTONES_S = [120, 60, 30, 10];
/** So many holds that are over are remembered. */
const OVER_MAX = 100;

export class Orders {
  /** @param {import("./sale.js").Sale} sale */
  constructor(sale) {
    this.sale = sale;
    /** @type {Hold[]} */
    this.holds = [];
    /** @type {string[]} holds that ended here, so that no late word brings them back */
    this.over = [];
    this.lapsed = new Lapsed(this);
    this.standing = new Standing(this);
    /** @type {number | null} server time at which the sale was paused */
    this.paused_at = null;
    this.timer = 0;
    this.told_s = Infinity;
  }

  /** @param {Hold[]} holds @param {number | null} paused_at */
  restore(holds, paused_at = this.paused_at) {
    this.holds = holds;
    this.paused_at = paused_at;
    this.#waitForTheNext();
  }

  get active() {
    return this.holds.filter(({ state }) => state === "active");
  }

  get paid() {
    return this.holds.filter(({ state }) => state === "paid");
  }

  /** What was offered from the waiting list and is not taken yet. */
  get open() {
    return this.active.filter(({ offered }) => offered);
  }

  /** The hold that other seats are looked for instead of. */
  get moving() {
    return this.active.find(({ id }) => id === this.sale.state.moving);
  }

  /** @param {string} id */
  find(id) {
    return this.holds.find((one) => one.id === id);
  }

  /** Seats and places this buyer has. */
  get quantity() {
    return [...this.active, ...this.paid].reduce((total, hold) => total + sizeOf(hold), 0);
  }

  /** @returns {Map<number, "active" | "paid">} whose are these seats: this buyer's */
  get mine() {
    return new Map([...this.active, ...this.paid].flatMap((hold) => hold.seats.map((seat) => [seat, hold.state])));
  }

  /** @param {Pick<Hold, "seats" | "places">} hold */
  names(hold) {
    const { venue } = this.sale.state;
    const places = Object.entries(hold.places).map(([area, n]) => `${n} × ${venue.areas[area].name}`);
    return [...hold.seats.map((seat) => seatLabel(venue, seat)), ...places];
  }

  /** @param {Hold} hold */
  cost(hold) {
    return costOf(asGiven(this.sale.state.venue, hold.id), hold.seats, hold.places);
  }

  /** @param {Hold} hold */
  left_ms(hold) {
    return hold.expires_at - (this.paused_at ?? this.sale.clock.now());
  }

  // --- holds that come ---

  /** A request was answered with a hold. */
  got(request, result, hold_ttl_seconds) {
    const old = this.find(result.moved);
    const ttl_ms = old?.ttl_ms ?? hold_ttl_seconds * 1000;
    if (request.sent_ms && !result.moved) this.sale.clock.learn(result.expires_at - ttl_ms, request.sent_ms, Date.now());
    if (old) this.#end(old);
    const hold = holdOf(this.sale.state, result, { ttl_ms, want: request.want, extensions_left: old?.extensions_left });
    this.#add(hold);
    this.sale.say(`Yours for now: ${this.names(hold).join(", ")}. ${hold.story} You have ${spoken(this.left_ms(hold) / 1000)} to buy.`);
  }

  /**
   * Something was offered from the waiting list; `now` is how the hold stands, where the list tells it.
   * @returns {boolean} whether it is known here, now or from before
   */
  offered({ id, want, result, now }) {
    const known = this.find(result.hold);
    if (known) {
      if (now && known.state === "active") this.told({ ...now, hold: result.hold });
      return true;
    }
    if (this.over.includes(result.hold)) return true;
    if (now && (now.state !== "active" || (this.paused_at === null && now.expires_at <= this.sale.clock.now()))) return false;
    const { event } = this.sale.state;
    const extensions_left = now?.extensions_left;
    const hold = holdOf(this.sale.state, { ...result, ...(now && { expires_at: now.expires_at }) }, {
      ttl_ms: (event.offer_ttl_seconds ?? event.hold_ttl_seconds) * 1000, want, extensions_left,
    });
    hold.offered = { id, want };
    this.sale.state.moving = ""; // an offer goes before looking for other seats
    this.#add(hold);
    const notice = words.offered(this.names(hold));
    this.sale.tell({ ...notice, seats: hold.seats });
    this.sale.say(`${notice.title} ${notice.text} You have ${spoken(this.left_ms(hold) / 1000)} to take it.`);
    return true;
  }

  #add(hold) {
    this.holds.push(hold);
    this.told_s = Infinity;
    this.sale.remember();
    this.#waitForTheNext();
  }

  #end(hold) {
    this.holds = this.holds.filter((one) => one !== hold);
    this.over = [...this.over, hold.id].slice(-OVER_MAX);
    if (this.sale.state.moving === hold.id) this.sale.state.moving = "";
  }

  // --- what the buyer does with them ---

  /** @param {Hold} hold @param {"confirm" | "release"} wish */
  act(hold, wish) {
    this.standing.wish(hold, wish, { type: wish, hold: hold.id });
  }

  /** More time. The server extends only from the end that is named, so asking twice adds once. @param {Hold} hold @param {boolean} accessible twice as long */
  extend(hold, accessible = false) {
    const frame = { type: "extend", hold: hold.id, expires_at: hold.expires_at };
    this.standing.wish(hold, "extend", accessible ? { ...frame, accessible } : frame);
  }

  /** Gives some back. @param {Hold} hold @param {{seats: number[], places: Record<number, number>}} some */
  giveBack(hold, some) {
    const { venue } = this.sale.state;
    if (sizeOf(some) === sizeOf(hold)) return this.act(hold, "release");
    const areas = Object.entries(some.places).filter(([, n]) => n > 0).map(([area, n]) => [venue.areas[area].guid, n]);
    this.standing.wish(hold, "some", {
      type: "release", hold: hold.id, seats: some.seats.map((seat) => venue.guid[seat]),
      areas: Object.fromEntries(areas), quantity: sizeOf(hold),
    });
  }

  // --- what the server says of them ---

  /** A `hold` frame: an answer, or what happened to a hold elsewhere. */
  told(frame) {
    const hold = this.find(frame.hold) ?? this.lapsed.again(frame);
    if (!hold) return this.#ofElsewhere(frame);
    const before = { ...hold };
    if (frame.state !== (frame.by || frame.seats ? hold.state : "active")) return this.became(frame.hold, frame.state, frame.by);
    this.#refresh(hold, frame);
    this.standing.heard(hold);
    if (frame.by) return this.#answered(hold, words.tookSomeBack(this.names(hold)));
    if (frame.ends_soon) return this.#endsSoon(hold);
    if (frame.given_back_ms) this.sale.tell(words.timeBack(frame.given_back_ms / 1000));
    if (before.wish === "extend") return this.#moreTime(hold, before);
    if (before.wish === "some" && frame.seats) this.#answered(hold, words.gaveSomeBack(this.names(hold)));
    this.sale.touch();
    this.sale.remember();
  }

  /** Another tab of this buyer changed a hold for this one. */
  #ofElsewhere({ hold, state, seats, areas, expires_at }) {
    if (state !== "active" || !seats || this.over.includes(hold)) return;
    const ttl_ms = this.sale.state.event.hold_ttl_seconds * 1000;
    this.#add(holdOf(this.sale.state, { hold, seats, areas, expires_at }, { ttl_ms }));
    this.sale.touch();
  }

  #refresh(hold, { expires_at, extensions_left, seats, areas }) {
    const { venue } = this.sale.state;
    if (expires_at !== undefined && expires_at !== hold.expires_at) {
      hold.expires_at = expires_at;
      this.told_s = Infinity;
    }
    if (extensions_left !== undefined) hold.extensions_left = extensions_left;
    if (seats) hold.seats = seats.map((guid) => venue.seatByGuid.get(guid));
    if (areas) hold.places = placesOf(venue, areas);
  }

  #endsSoon(hold) {
    this.sale.touch();
    this.sale.remember();
    this.sale.say(`${this.names(hold).join(", ")}: less than a minute left.${hold.extensions_left ? " You can take more time." : ""}`);
  }

  /** Where the end was another one than this page knew, nothing was added: it is asked once more from the true one. */
  #moreTime(hold, before) {
    const added = hold.extensions_left < before.extensions_left || hold.expires_at > before.expires_at + 1_000;
    this.standing.settle(hold);
    if (!added && !hold.asked_again) {
      hold.asked_again = true;
      return this.extend(hold, before.frame?.accessible);
    }
    delete hold.asked_again;
    hold.ttl_ms = Math.max(hold.ttl_ms, this.left_ms(hold));
    this.#answered(hold, words.extended(this.left_ms(hold) / 1000));
  }

  #answered(hold, notice) {
    this.standing.settle(hold);
    if (notice) this.sale.tell(notice);
    this.sale.remember();
  }

  /** @param {string} id @param {Hold["state"]} state @param {"operator"} [by] who ended it, if not this buyer or its time */
  became(id, state, by) {
    const hold = this.find(id);
    if (!hold || (hold.state === state && !hold.wish)) return;
    hold.state = state;
    this.standing.settle(hold);
    if (state !== "paid" && state !== "active") this.#end(hold);
    const notice = by && state !== "paid" ? words.takenBack(this.names(hold)) : endInWords(hold, state, this.names(hold));
    const said = this.sale.paying.ended(hold); // and what it says is truer
    this.sale.touch({ notice: said ? null : notice });
    if (notice && !said) this.sale.say(`${notice.title} ${notice.text}`);
    this.sale.remember();
    this.#waitForTheNext();
  }

  /** A payment bought this: the hold it was for, or the same seats again where it came late. @param {string} id @param {import("./payments.js").Payment} payment */
  bought(id, { hold, seats, places }) {
    if (this.find(id) || this.lapsed.again({ hold: id, state: "paid" })) return this.became(id, "paid");
    if (this.over.includes(id)) return; // and was taken back since
    const order = { ...orderOf(id), seats, places };
    this.#add(order);
    this.sale.tell(paidFor(this.names(order), id !== hold));
  }

  /** What holds got back of a pause is about the time since this page heard of it; the server says the rest. @param {string} state of the event */
  eventBecame(state) {
    const now = this.sale.clock.now();
    if (state === "paused") {
      this.paused_at ??= now;
    } else if (this.paused_at !== null) {
      for (const hold of this.active) hold.expires_at += now - this.paused_at;
      this.paused_at = null;
      this.standing.lookAtAll();
    }
    this.sale.remember();
    this.#waitForTheNext();
  }

  // --- time ---

  #waitForTheNext() {
    clearInterval(this.timer);
    if (this.active.length) this.timer = setInterval(() => this.#tick(), 250);
  }

  #tick() {
    if (this.paused_at !== null || !this.sale.state.venue) return;
    const running = this.active.filter(({ wish }) => wish !== "confirm").sort((a, b) => a.expires_at - b.expires_at);
    for (const hold of running) if (this.left_ms(hold) <= 0) this.standing.look(hold);
    const next = running.find((hold) => this.left_ms(hold) > 0);
    if (!next) return;
    const left_s = this.left_ms(next) / 1000;
    const passed = MILESTONES_S.find((mark) => left_s <= mark && left_s > mark - 2 && mark < this.told_s);
    if (!passed) return;
    this.told_s = passed;
    this.sale.say(`${spoken(passed)} left to buy ${this.names(next).join(", ")}.`);
  }
}
