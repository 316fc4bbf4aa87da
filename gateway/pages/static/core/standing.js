// What this buyer wishes of a hold, and how a hold stands: each is asked until the server has answered.
// A wish may be said again, as the server does it once. How a hold stands is asked at each connection and
// before one is taken to be over: no clock of this page ends a hold.

import * as words from "./holdwords.js";

/** @typedef {import("./holds.js").Hold} Hold */

const WATCH_EVERY_MS = 500;
const SAY_AGAIN_AFTER_MS = 6_000;
const LOOK_AGAIN_FIRST_MS = 1_000;
const LOOK_AGAIN_MAX_MS = 15_000;
/** After a reconnect or a pause, a crowd looks within so long. */
const LOOK_WITHIN_MS = 2_000;
/** Refusals that say how a hold stands. */
const ENDED = { hold_paid: "paid", hold_released: "released", hold_refunded: "refunded", hold_not_found: "not_found" };

export class Standing {
  /** @param {import("./orders.js").Orders} orders */
  constructor(orders) {
    this.orders = orders;
    this.sale = orders.sale;
    /** @type {Map<string, {tries: number, next_ms: number, silent: boolean}>} holds whose standing is asked, by id */
    this.looks = new Map();
    setInterval(() => this.#watch(), WATCH_EVERY_MS);
  }

  /** @param {Hold} hold @param {Hold["wish"]} wish @param {object} frame */
  wish(hold, wish, frame) {
    if (hold.wish) return;
    Object.assign(hold, { wish, frame });
    this.sale.touch({ notice: null });
    this.sale.remember();
    this.#say(hold);
  }

  /** It is answered, or there is nothing to answer any more. @param {Hold} hold */
  settle(hold) {
    hold.wish = "";
    delete hold.frame;
    delete hold.unsure;
  }

  #say(hold) {
    Object.assign(hold, { silent: true, again_ms: Date.now() + SAY_AGAIN_AFTER_MS });
    this.sale.link.send(hold.frame);
  }

  /** The connection is here: says what was not answered, and asks how the others stand. */
  resume() {
    for (const hold of this.orders.active) {
      if (!hold.wish || !hold.frame) continue;
      if (hold.unsure) this.sale.tell(words.notKnownYet(hold.wish));
      this.#say(hold);
    }
    this.lookAtAll();
  }

  lookAtAll() {
    this.looks.clear();
    for (const { id } of this.orders.active) this.#plan(id, Math.random() * LOOK_WITHIN_MS);
  }

  #plan(id, wait_ms, tries = 0) {
    this.looks.set(id, { tries, next_ms: Date.now() + wait_ms, silent: false });
  }

  /** Its time seems over: is it? @param {Hold} hold */
  look(hold) {
    if (hold.wish || this.looks.has(hold.id)) return; // the answer to a wish says it
    this.#plan(hold.id, 0);
    this.#lookNow(hold);
    this.sale.set({});
  }

  /** Asks for more time from an end that no hold has: nothing is added, and the answer says how it stands. */
  #lookNow(hold) {
    const { link } = this.sale;
    const { tries, silent } = this.looks.get(hold.id);
    if (silent) link.doubt();
    if (!link.send({ type: "extend", hold: hold.id, expires_at: 0 })) return;
    const wait_ms = Math.min(LOOK_AGAIN_MAX_MS, LOOK_AGAIN_FIRST_MS * 2 ** tries);
    this.looks.set(hold.id, { tries: tries + 1, next_ms: Date.now() + wait_ms * (0.5 + Math.random() / 2), silent: true });
  }

  #watch() {
    const { link } = this.sale;
    if (!link.live || !this.sale.state.venue) return;
    for (const hold of this.orders.active) {
      const look = this.looks.get(hold.id);
      if (hold.wish && hold.frame) this.#sayAgain(hold);
      else if (look && Date.now() >= look.next_ms) this.#lookNow(hold);
    }
  }

  #sayAgain(hold) {
    if (Date.now() < hold.again_ms) return;
    if (hold.silent) this.sale.link.doubt();
    this.#say(hold);
  }

  /** The server said something of this hold. Where it runs, and by this page's clock is over, it is asked again later. @param {Hold} hold */
  heard(hold) {
    const look = this.looks.get(hold.id);
    if (look) look.silent = false;
    if (hold.state !== "active" || this.orders.paused_at !== null || this.orders.left_ms(hold) > 0) this.looks.delete(hold.id);
  }

  /** Something about a hold was refused, or its answer was lost. @param {any} frame */
  failed({ code, hold: id, message, retry_after }) {
    const { orders } = this;
    const hold = orders.find(id);
    if (hold?.state !== "active") return;
    if (retry_after) return this.#askLater(hold, retry_after * 1000 * (1 + Math.random()));
    if (code === "hold_expired") return orders.became(orders.lapsed.add(hold), "expired");
    if (code in ENDED) return orders.became(id, ENDED[code], code === "hold_refunded" ? "operator" : undefined);
    if (!hold.wish) return this.heard(hold);
    this.settle(hold);
    if (code === "payment_required") return this.sale.paying.begin.becameRequired(hold);
    if (code === "no_extensions_left") hold.extensions_left = 0;
    this.sale.tell(code === "no_extensions_left" ? words.noMoreTime() : words.notDone(message, orders.names(hold)));
    this.sale.remember();
  }

  /** Whether it was done is not known: the same once more settles it, whatever happened. */
  #askLater(hold, wait_ms) {
    if (!hold.wish) return this.#plan(hold.id, wait_ms, this.looks.get(hold.id)?.tries);
    const told = hold.unsure;
    Object.assign(hold, { unsure: true, silent: false, again_ms: Date.now() + wait_ms });
    if (!told) this.sale.tell(words.notKnownYet(hold.wish));
    this.sale.remember();
  }
}
