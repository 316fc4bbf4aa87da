// What this buyer holds and bought. Holds end by the server's time; while the sale is paused that time
// stands still, as the allocator gives running holds the lost time back.

import { costOf } from "./choice.js";
import { spoken } from "./clock.js";
import { seatLabel } from "./plan.js";
import { gotInWords } from "./tellings.js";
import * as words from "./words.js";

/**
 * @typedef {object} Hold
 * @property {string} id
 * @property {number[]} seats
 * @property {Record<number, number>} places by area number
 * @property {number} expires_at milliseconds by the server
 * @property {number} ttl_ms how long it was given for
 * @property {"active" | "paid" | "released" | "expired"} state
 * @property {"" | "confirm" | "release"} wish sent, not yet answered
 * @property {string} [story] how these answer what was asked for
 */

const MILESTONES_S = [120, 60, 30, 10];

export class Orders {
  /** @param {import("./sale.js").Sale} sale */
  constructor(sale) {
    this.sale = sale;
    /** @type {Hold[]} */
    this.holds = [];
    /** @type {number | null} server time at which the sale was paused */
    this.paused_at = null;
    this.timer = 0;
    this.told_s = Infinity;
  }

  /** @param {Hold[]} holds */
  restore(holds) {
    this.holds = holds;
    this.#waitForTheNext();
  }

  get active() {
    return this.holds.filter(({ state }) => state === "active");
  }

  get paid() {
    return this.holds.filter(({ state }) => state === "paid");
  }

  /** Seats and places this buyer has. */
  get quantity() {
    const sizes = [...this.active, ...this.paid].map(
      (hold) => hold.seats.length + Object.values(hold.places).reduce((total, n) => total + n, 0),
    );
    return sizes.reduce((total, n) => total + n, 0);
  }

  /** @returns {Map<number, "active" | "paid">} whose are these seats: this buyer's */
  get mine() {
    return new Map([...this.active, ...this.paid].flatMap((hold) => hold.seats.map((seat) => [seat, hold.state])));
  }

  /** @param {Hold} hold */
  names(hold) {
    const { venue } = this.sale.state;
    const places = Object.entries(hold.places).map(([area, n]) => `${n} × ${venue.areas[area].name}`);
    return [...hold.seats.map((seat) => seatLabel(venue, seat)), ...places];
  }

  /** @param {Hold} hold */
  cost(hold) {
    return costOf(this.sale.state.venue, hold.seats, hold.places);
  }

  /** @param {Hold} hold */
  left_ms(hold) {
    return hold.expires_at - (this.paused_at ?? this.sale.clock.now());
  }

  /** A request was answered with a hold. */
  got(request, result, hold_ttl_seconds) {
    const { venue } = this.sale.state;
    const ttl_ms = hold_ttl_seconds * 1000;
    if (request.sent_ms) this.sale.clock.learn(result.expires_at - ttl_ms, request.sent_ms, Date.now());
    const seats = (result.seats ?? []).map((guid) => venue.seatByGuid.get(guid));
    const hold = {
      id: result.hold,
      seats,
      places: Object.fromEntries(
        Object.entries(result.areas ?? {}).map(([guid, n]) => [venue.areaByGuid.get(guid), n]),
      ),
      expires_at: result.expires_at,
      ttl_ms,
      state: "active",
      wish: "",
      story: gotInWords(request.want, result, venue, seats),
    };
    this.holds.push(hold);
    const names = this.names(hold).join(", ");
    this.sale.say(`Yours for now: ${names}. ${hold.story} You have ${spoken(this.left_ms(hold) / 1000)} to buy.`);
    this.told_s = Infinity;
    this.#waitForTheNext();
  }

  /** @param {Hold} hold @param {"confirm" | "release"} wish */
  act(hold, wish) {
    if (hold.wish) return;
    hold.wish = wish;
    this.sale.touch({ notice: null });
    this.sale.remember();
    this.sale.link.send({ type: wish, hold: hold.id });
  }

  /** Says again what was not answered before the connection went. */
  resume() {
    for (const hold of this.active) if (hold.wish) this.sale.link.send({ type: hold.wish, hold: hold.id });
  }

  /** @param {string} id @param {Hold["state"]} state */
  became(id, state) {
    const hold = this.holds.find((one) => one.id === id);
    if (!hold || (hold.state === state && !hold.wish)) return;
    hold.state = state;
    hold.wish = "";
    const sentence = { paid: words.bought, released: words.givenBack, expired: words.expired }[state];
    const notice = sentence ? sentence(this.names(hold)) : null;
    this.sale.touch({ notice });
    if (notice) this.sale.say(`${notice.title} ${notice.text}`);
    if (state !== "paid" && state !== "active") this.holds = this.holds.filter((one) => one !== hold);
    this.sale.remember();
    this.#waitForTheNext();
  }

  /** Buying or giving back was refused: its time was over, or the buttons come back. @param {string} code */
  failed(code) {
    const hold = this.holds.find(({ wish }) => wish);
    if (!hold) return false;
    hold.wish = "";
    if (code === "hold_expired") this.became(hold.id, "expired");
    return true;
  }

  /** @param {string} state of the event */
  eventBecame(state) {
    const now = this.sale.clock.now();
    if (state === "paused") {
      this.paused_at ??= now;
    } else if (this.paused_at !== null) {
      for (const hold of this.active) hold.expires_at += now - this.paused_at;
      this.paused_at = null;
      this.sale.remember();
    }
    this.#waitForTheNext();
  }

  #waitForTheNext() {
    clearInterval(this.timer);
    if (this.active.length) this.timer = setInterval(() => this.#tick(), 250);
  }

  #tick() {
    if (this.paused_at !== null || !this.sale.state.venue) return;
    const next = this.active.filter(({ wish }) => wish !== "confirm").sort((a, b) => a.expires_at - b.expires_at)[0];
    if (!next) return;
    const left_s = this.left_ms(next) / 1000;
    if (left_s <= 0) return this.became(next.id, "expired");
    const passed = MILESTONES_S.find((mark) => left_s <= mark && left_s > mark - 2 && mark < this.told_s);
    if (!passed) return;
    this.told_s = passed;
    this.sale.say(`${spoken(passed)} left to buy ${this.names(next).join(", ")}.`);
  }
}
