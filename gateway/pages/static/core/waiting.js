// This buyer's requests on the waiting list, as the server tells them: at which place, and what was
// offered. The server is asked at each connection and tells every change, so a reload, another tab or a
// lost message loses nothing.

import { placesOf } from "./holds.js";
import { triesInWords } from "./tellings.js";
import * as words from "./words.js";

/**
 * @typedef {object} Entry
 * @property {string} id of the request
 * @property {number} position 1 is the first
 * @property {any} [want] what it asks for, unless nobody here knows
 */

/** The first places are worth a word each time; before that, each halving is. */
const SAID_FROM = 3;
const ENTRIES_MAX = 4;

export class Waiting {
  /** @param {import("./sale.js").Sale} sale */
  constructor(sale) {
    this.sale = sale;
    /** @type {Set<string>} requests that leave, not answered yet */
    this.leaving = new Set();
    /** @type {Map<string, number>} the place that was said last */
    this.said = new Map();
  }

  get entries() {
    return this.sale.state.waiting.entries;
  }

  get isFull() {
    return this.entries.length >= ENTRIES_MAX;
  }

  /** @param {Entry[]} entries of before a refresh */
  restore(entries) {
    this.sale.state.waiting = { of: 0, entries };
  }

  /** The connection is there: what is on the list? And again what was not answered. */
  resume() {
    this.sale.link.send({ type: "waiting" });
    for (const id of this.leaving) this.sale.link.send({ type: "leave", id });
  }

  /** A request was answered with a place on the list. */
  joined({ id, want }, { position }) {
    const entry = { id, position, want };
    this.said.set(id, position);
    this.#set([...this.entries.filter((one) => one.id !== id), entry], Math.max(this.sale.state.waiting.of, position));
    this.sale.tell({ ...words.nowWaiting(position, want, this.sale.state.venue), about: "place" });
  }

  /** What the server has of this buyer. */
  listed({ of, waiting }) {
    const before = new Map(this.entries.map((entry) => [entry.id, entry]));
    const entries = waiting.filter(({ state }) => state === "waiting");
    this.#set(entries.map(({ id, position, want }) => ({ id, position, want: want ?? before.get(id)?.want })), of);
    for (const entry of waiting) {
      if (entry.state === "offered" && entry.offer) this.#hadOffer(entry, before.get(entry.id));
    }
    for (const entry of this.entries) this.#sayPlace(entry, of);
  }

  /** An offer, just made. */
  offered({ id, result }) {
    const entry = this.entries.find((one) => one.id === id);
    this.#set(this.entries.filter((one) => one !== entry));
    this.sale.orders.offered({ id, want: entry?.want, result });
  }

  #hadOffer({ id, want, offer, hold }, waited) {
    const { orders, state } = this.sale;
    const now = hold ?? { hold: offer.hold, state: "active", expires_at: offer.expires_at };
    if (orders.offered({ id, want, result: offer, now }) || !waited || now.state !== "expired") return;
    const seats = (offer.seats ?? []).map((guid) => state.venue.seatByGuid.get(guid));
    const names = orders.names({ seats, places: placesOf(state.venue, offer.areas ?? {}) });
    this.sale.tell({ ...words.offerMissed(names), wait: want });
  }

  #sayPlace({ id, position, want }, of) {
    const said = this.said.get(id) ?? Infinity;
    if (position >= said || (position > SAID_FROM && position > said / 2)) return;
    this.said.set(id, position);
    if (said === Infinity) return; // the panel shows it, and a reload is no news
    if (this.sale.state.notice?.about === "place") this.sale.touch({ notice: null });
    const what = want ? ` for ${triesInWords(want, this.sale.state.venue)[0]}` : "";
    this.sale.say(`You are number ${position} of ${of} now${what}.`);
  }

  /** @param {string} id */
  leave(id) {
    this.leaving.add(id);
    this.sale.set({});
    this.sale.link.send({ type: "leave", id });
  }

  /** @param {string} id */
  left(id) {
    const mine = this.entries.some((entry) => entry.id === id);
    this.leaving.delete(id);
    this.#set(this.entries.filter((entry) => entry.id !== id));
    if (mine) this.sale.tell(words.leftTheList());
  }

  /** @returns {boolean} whether it was about leaving */
  failed({ id, code, message, retry_after }) {
    if (!this.leaving.has(id)) return false;
    if (retry_after) {
      setTimeout(() => this.leaving.has(id) && this.leave(id), retry_after * 1000 * (1 + Math.random()));
      return true;
    }
    this.leaving.delete(id);
    if (code === "not_waiting") this.left(id);
    else if (code !== "offered") this.sale.tell(words.refused(message)); // of an offer the list tells
    this.sale.link.send({ type: "waiting" });
    return true;
  }

  #set(entries, of = this.sale.state.waiting.of) {
    this.sale.touch({ waiting: { of, entries } });
    this.sale.remember();
  }
}
