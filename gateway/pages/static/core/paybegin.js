// Beginning to pay for a hold: asked under a key until it is answered, and then to the provider's page. Nothing
// is charged here, so asking again is safe; with the same key it is the same asking.

import { isAway } from "./desk.js";
import { pause } from "./fetching.js";
import { hasMoney, isOpen, stageInHold } from "./payments.js";
import * as words from "./paywords.js";

/** @typedef {import("./payments.js").Payment} Payment @typedef {import("./holds.js").Hold} Hold */

/** Asked so often by itself, then by the buyer. */
const TRIES_MAX = 5;
const AGAIN_FIRST_MS = 1_000;
const AGAIN_MAX_MS = 8_000;
/** The provider's page did not come within so long: this one is used on. */
const LEAVING_MS_MAX = 15_000;
/** Refusals that say how the hold stands. */
const STANDINGS = new Set(["hold_expired", "hold_released", "hold_paid", "hold_refunded", "hold_not_found"]);

export class PayBegin {
  /** @param {import("./paying.js").Paying} paying */
  constructor(paying) {
    this.paying = paying;
    this.sale = paying.sale;
    /** The hold for which this page is being left, or empty. */
    this.leaving = "";
    /** @type {Set<Payment>} */
    this.asking = new Set();
    addEventListener("pageshow", ({ persisted }) => persisted && this.#shownAgain());
  }

  /** Pays, or goes on paying. @param {Hold} hold @param {string} email where tickets go; empty: nowhere */
  pay(hold, email = this.paying.email) {
    const known = this.paying.of(hold.id);
    const payment = known && !hasMoney(known) ? known : this.paying.add(hold.id);
    if (this.leaving || this.asking.has(payment)) return;
    this.paying.email = email;
    Object.assign(payment, { seats: hold.seats, places: hold.places, shown_minor: this.costOf(hold), missing: false });
    if (!payment.key) Object.assign(payment, { key: newKey(), email });
    this.#begin(payment, true);
  }

  /** Asked for before a reload, and not answered yet; nobody is sent away from a page that just came. @param {Payment} payment */
  resume(payment) {
    this.#begin(payment, false);
  }

  /** What paying for a hold costs: what the server said, where it says another price than the page. @param {Hold} hold */
  costOf(hold) {
    return this.paying.stageOf(hold) === "price" ? this.paying.of(hold.id).amount_minor : this.sale.orders.cost(hold);
  }

  /** Asks under one key until there is an answer, for a while. @param {Payment} payment @param {boolean} going to the provider's page then */
  async #begin(payment, going) {
    if (this.asking.has(payment)) return;
    this.asking.add(payment);
    Object.assign(payment, { begin: "asking", stuck: false });
    this.sale.state.notice = null;
    this.paying.changed(payment);
    for (let tries = 1; payment.key; tries += 1) {
      const answer = await this.paying.desk.begin(payment);
      if (!payment.key) break; // the hold ended meanwhile
      if (!isAway(answer)) {
        this.#answered(payment, answer, going);
        break;
      }
      const away = answer.status === 503 || answer.status === 429;
      Object.assign(payment, { begin: away ? "away" : "unsure", stuck: tries >= TRIES_MAX });
      this.paying.changed(payment);
      if (payment.stuck) break;
      await pause(Math.max(answer.retry_ms, Math.min(AGAIN_MAX_MS, AGAIN_FIRST_MS * 2 ** tries) / 2) * (1 + Math.random()));
    }
    this.asking.delete(payment);
  }

  #answered(payment, { status, body, code }, going) {
    Object.assign(payment, { key: "", begin: "" });
    if (status < 300) {
      this.paying.told({ ...body, hold: payment.hold });
      if (going && stageInHold(payment, false) !== "price") this.go(payment);
      return;
    }
    this.#refused(payment, code, body?.detail ?? "");
    this.paying.changed(payment);
  }

  #refused(payment, code, message) {
    const { sale } = this;
    const hold = sale.orders.find(payment.hold);
    if (STANDINGS.has(code)) return sale.orders.standing.failed({ code, hold: payment.hold, message });
    if (code === "payment_not_required" && hold) return sale.orders.act(hold, "confirm");
    if (code.startsWith("token_")) return sale.tell(words.signInEnded());
    sale.tell(words.notBegun(message));
  }

  /** Whether this page can be left and come back to as who it is: where nothing is kept, paying is done beside it. */
  get canLeave() {
    return this.sale.memory.keeps;
  }

  /** To the provider's page. @param {Payment} payment */
  go(payment) {
    if (!isOpen(payment) || !payment.url) return;
    Object.assign(payment, { visit: "there", declines_then: payment.declines });
    this.paying.changed(payment);
    if (!this.canLeave) return;
    this.leaving = payment.hold;
    this.sale.set({});
    location.assign(payment.url);
    setTimeout(() => this.#stays(payment.hold), LEAVING_MS_MAX);
  }

  /** The page where it is paid, for who opens it beside this one: one of our own is told who comes. @param {Payment} payment */
  besideOf({ url }) {
    return new URL(url).origin === location.origin ? `${url}#token=${encodeURIComponent(this.sale.token)}` : url;
  }

  #stays(hold) {
    if (this.leaving !== hold) return;
    this.leaving = "";
    this.sale.set({});
  }

  /** The browser kept this page as it was, and somebody came back to it. */
  #shownAgain() {
    this.leaving = "";
    this.paying.looks.hurry(0);
    this.sale.set({});
  }

  /** A confirmation was refused, as this is bought with money. @param {Hold} hold */
  becameRequired(hold) {
    this.sale.state.event.payment = "required";
    this.pay(hold);
  }
}

const newKey = () => `pay-${crypto.getRandomValues(new Uint32Array(4)).join("-")}`;
