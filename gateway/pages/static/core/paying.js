// Paying for what is held, where the organiser wants money: begun here, done on the provider's page, and its
// outcome told by the server alone. What was begun is remembered, so a reload, a closed tab or the way back
// from the provider loses nothing; asking to begin is repeated under its key until it is answered.

import { Desk, isAway } from "./desk.js";
import { pause } from "./fetching.js";
import { PayLooks } from "./paylooks.js";
import { ageOf, hasMoney, isOpen, isSlow, mayBePaid, paymentFor, stageAlone, stageInHold, take } from "./payments.js";
import * as words from "./paywords.js";

/** @typedef {import("./payments.js").Payment} Payment @typedef {import("./holds.js").Hold} Hold */

const TRIES_MAX = 5;
const AGAIN_FIRST_MS = 1_000;
const AGAIN_MAX_MS = 8_000;
/** The provider's page did not come within so long: this one is used on. */
const LEAVING_MS_MAX = 15_000;
const PAYMENTS_MAX = 50;
const HOLD_IN_ADDRESS = /^[0-9]{1,19}$/;
/** Refusals that say how the hold stands. */
const STANDINGS = new Set(["hold_expired", "hold_released", "hold_paid", "hold_refunded", "hold_not_found"]);

export class Paying {
  /** @param {import("./sale.js").Sale} sale */
  constructor(sale) {
    this.sale = sale;
    /** @type {Payment[]} the oldest first */
    this.payments = [];
    this.email = "";
    this.leaving = "";
    /** @type {Set<Payment>} that are being begun */
    this.beginning = new Set();
    /** @type {Map<Payment, string>} the stage that was said last */
    this.said = new Map();
    this.desk = new Desk(sale.slug, () => sale.token);
    this.looks = new PayLooks(this);
    addEventListener("pageshow", ({ persisted }) => persisted && this.#shownAgain());
  }

  /** Whether holds are bought with money. */
  get required() {
    return this.sale.state.event?.payment === "required";
  }

  /** What is kept over a refresh. */
  get kept() {
    return { payments: this.payments, email: this.email };
  }

  /** @param {{payments?: Payment[], email?: string} | undefined} kept */
  restore(kept) {
    this.payments = (kept?.payments ?? []).map((one) => ({ ...paymentFor(one.hold), ...one, begin: one.key ? "asking" : "", stuck: false }));
    this.email = kept?.email ?? "";
    for (const payment of this.payments) this.said.set(payment, this.#standing(payment));
  }

  /** Who comes back from the provider says so by the address, once. */
  cameBack() {
    const address = new URL(location.href);
    const hold = address.searchParams.get("paid") ?? "";
    if (!address.searchParams.has("paid")) return;
    address.searchParams.delete("paid");
    history.replaceState(null, "", address.pathname + address.search + address.hash);
    if (!HOLD_IN_ADDRESS.test(hold)) return;
    const payment = this.of(hold) ?? this.#add(hold);
    if (hasMoney(payment)) return;
    Object.assign(payment, { visit: "back", back_ms: Date.now(), closed: false });
  }

  /** The seats are known: what was not answered is asked again. */
  start() {
    for (const payment of this.payments) if (payment.key) this.#begin(payment, false);
    for (const payment of this.payments) this.#say(payment);
  }

  /** The newest payment of a hold. @param {string} hold */
  of(hold) {
    const all = this.payments.filter((one) => one.hold === hold);
    return all.sort((a, b) => ageOf(a) - ageOf(b)).at(-1);
  }

  /** Whether money may be on its way for a hold just now, so that it had better stay as it is. @param {Hold} hold */
  isUnderWay(hold) {
    const payment = this.of(hold.id);
    if (!payment) return false;
    const stage = this.stageOf(hold);
    return stage === "leaving" || stage === "beginning" || (stage === "waiting" && !isSlow(payment, Date.now()));
  }

  /** The one that bought an order. @param {string} order */
  ofOrder(order) {
    return this.payments.find((one) => one.order === order);
  }

  /** @param {Hold} hold */
  stageOf(hold) {
    return stageInHold(this.of(hold.id), this.leaving === hold.id);
  }

  /** Those that are told of by themselves, the newest first. */
  get alone() {
    return this.payments.filter((one) => !this.#runs(one) || hasMoney(one)).filter(stageAlone).reverse();
  }

  #runs({ hold }) {
    return this.sale.orders.find(hold)?.state === "active";
  }

  #add(hold) {
    const payment = paymentFor(hold, this.sale.orders.find(hold));
    const kept = this.payments.length < PAYMENTS_MAX ? this.payments : this.payments.filter((one) => mayBePaid(one) || stageAlone(one));
    this.payments = [...kept, payment].slice(-PAYMENTS_MAX);
    return payment;
  }

  // --- what the buyer does ---

  /** Pays, or goes on paying. @param {Hold} hold @param {string} email where tickets go; empty: nowhere */
  pay(hold, email = this.email) {
    const known = this.of(hold.id);
    const payment = known && !hasMoney(known) ? known : this.#add(hold.id);
    if (this.leaving || this.beginning.has(payment)) return;
    this.email = email;
    Object.assign(payment, { seats: hold.seats, places: hold.places, shown_minor: this.costOf(hold), missing: false });
    if (!payment.key) Object.assign(payment, { key: newKey(), email });
    this.#begin(payment, true);
  }

  /** What paying for a hold costs: what the server said, where it says another price than the page. @param {Hold} hold */
  costOf(hold) {
    return this.stageOf(hold) === "price" ? this.of(hold.id).amount_minor : this.sale.orders.cost(hold);
  }

  /** Asks now for what is waited for. @param {Payment} payment */
  look(payment) {
    this.looks.now(payment);
    this.sale.set({});
  }

  /** Its last word was read. @param {Payment} payment */
  close(payment) {
    payment.closed = true;
    this.#changed(payment);
  }

  // --- beginning ---

  /** Asks under one key until there is an answer, for a while. @param {Payment} payment @param {boolean} going to the provider's page then */
  async #begin(payment, going) {
    if (this.beginning.has(payment)) return;
    this.beginning.add(payment);
    Object.assign(payment, { begin: "asking", stuck: false });
    this.sale.state.notice = null;
    this.#changed(payment);
    for (let tries = 1; payment.key; tries += 1) {
      const answer = await this.desk.begin(payment);
      if (!payment.key) break; // the hold ended meanwhile
      if (!isAway(answer)) {
        this.#answered(payment, answer, going);
        break;
      }
      const away = answer.status === 503 || answer.status === 429;
      Object.assign(payment, { begin: away ? "away" : "unsure", stuck: tries >= TRIES_MAX });
      this.#changed(payment);
      if (payment.stuck) break;
      await pause(Math.max(answer.retry_ms, Math.min(AGAIN_MAX_MS, AGAIN_FIRST_MS * 2 ** tries) / 2) * (1 + Math.random()));
    }
    this.beginning.delete(payment);
  }

  #answered(payment, { status, body, code }, going) {
    Object.assign(payment, { key: "", begin: "" });
    if (status < 300) {
      this.told({ ...body, hold: payment.hold });
      if (going && stageInHold(payment, false) !== "price") this.go(payment);
      return;
    }
    this.#refused(payment, code, body?.detail ?? "");
    this.#changed(payment);
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
    this.#changed(payment);
    if (!this.canLeave) return;
    this.leaving = payment.hold;
    this.sale.set({});
    location.assign(payment.url);
    setTimeout(() => this.#stays(payment.hold), LEAVING_MS_MAX);
  }

  #stays(hold) {
    if (this.leaving !== hold) return;
    this.leaving = "";
    this.sale.set({});
  }

  /** The browser kept this page as it was, and somebody came back to it. */
  #shownAgain() {
    this.leaving = "";
    this.looks.hurry(0);
    this.sale.set({});
  }

  /** A confirmation was refused, as this is bought with money. @param {Hold} hold */
  becameRequired(hold) {
    this.sale.state.event.payment = "required";
    this.pay(hold);
  }

  // --- what the server says ---

  /** How a payment stands: an answer, or a `payment` frame. @param {any} told */
  told(told) {
    const payment = this.#toldOf(told);
    if (!payment) return;
    if (payment.payment && payment.payment !== told.payment) Object.assign(payment, { visit: "", declines_then: -1 });
    take(payment, told);
    if (payment.state === "succeeded" && payment.order) this.sale.orders.bought(payment.order, payment);
    this.#changed(payment);
  }

  /** Which one; a hold has several where money came twice, or for what it had before. Nothing, where it is of old. */
  #toldOf(told) {
    const known = this.payments.find((one) => told.payment && one.payment === told.payment);
    const newest = this.of(told.hold);
    if (known || !newest) return known ?? this.#add(told.hold);
    const older = told.payment && ageOf(newest) < Infinity && Number(told.payment) < ageOf(newest);
    if (older) return hasMoney(told) ? this.#add(told.hold) : undefined;
    return newest.payment && told.payment && hasMoney(newest) ? this.#add(told.hold) : newest;
  }

  /** What a look was answered. @param {Payment} payment @param {import("./desk.js").Answer} answer */
  looked(payment, answer) {
    if (answer.status > 0 && answer.status < 300) return this.told({ ...answer.body, hold: payment.hold });
    if (answer.status === 404 && payment.payment === "") payment.missing = true;
    this.#changed(payment);
  }

  /** A hold ended. @param {Hold} hold @returns {boolean} whether its payment says it */
  ended(hold) {
    const payment = this.of(hold.id);
    if (!payment || hold.state === "active" || hold.state === "paid") return false;
    Object.assign(payment, { ended: hold.state, key: "", begin: "", seats: hold.seats, places: hold.places });
    this.#changed(payment);
    return hold.state === "expired" && mayBePaid(payment);
  }

  /** It runs after all: the server gave its time back. @param {Hold} hold */
  runsAgain(hold) {
    const payment = this.of(hold.id);
    if (payment) payment.ended = "";
  }

  /** What is told of a payment now: in the hold that it is for, or alone. @param {Payment} payment @returns {import("./words.js").Notice | null} */
  noticeOf(payment) {
    if (!this.#runs(payment) || hasMoney(payment)) return words.alone(this.sale, payment, stageAlone(payment));
    return words.inHold(this.sale, payment, this.stageOf(this.sale.orders.find(payment.hold)));
  }

  #standing(payment) {
    const stage = this.#runs(payment) && !hasMoney(payment) ? stageInHold(payment, false) : stageAlone(payment);
    return `${stage} ${payment.declines} ${payment.stuck}`;
  }

  #changed(payment) {
    this.#say(payment);
    this.sale.set({});
    this.sale.remember();
  }

  /** Each once, for who listens. */
  #say(payment) {
    const standing = this.#standing(payment);
    if (!this.sale.state.venue || this.said.get(payment) === standing) return;
    this.said.set(payment, standing);
    const notice = this.noticeOf(payment);
    if (notice) this.sale.say(`${notice.title} ${notice.text}`);
  }
}

const newKey = () => `pay-${crypto.getRandomValues(new Uint32Array(4)).join("-")}`;
