// This buyer's payments, where the organiser wants money for holds: done on the provider's page, and what becomes
// of them told by the server alone. They are remembered, so a reload, a closed tab or the way back from the
// provider loses nothing.

import { Desk } from "./desk.js";
import { PayBegin } from "./paybegin.js";
import { PayLooks } from "./paylooks.js";
import { ageOf, hasMoney, isSlow, mayBePaid, paymentFor, stageAlone, stageInHold, take } from "./payments.js";
import * as words from "./paywords.js";

/** @typedef {import("./payments.js").Payment} Payment @typedef {import("./holds.js").Hold} Hold */

const PAYMENTS_MAX = 50;
const HOLD_IN_ADDRESS = /^[0-9]{1,19}$/;
/** What the way back from paying carries; the last three are Stripe's, and one of them is a secret. */
const OF_A_RETURN = ["paid", "payment_intent", "payment_intent_client_secret", "redirect_status"];

export class Paying {
  /** @param {import("./sale.js").Sale} sale */
  constructor(sale) {
    this.sale = sale;
    /** @type {Payment[]} the oldest first */
    this.payments = [];
    this.email = "";
    /** @type {Map<Payment, string>} the stage that was said last */
    this.said = new Map();
    this.desk = new Desk(sale.slug, () => sale.token);
    this.looks = new PayLooks(this);
    this.begin = new PayBegin(this);
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
    for (const name of OF_A_RETURN) address.searchParams.delete(name);
    history.replaceState(null, "", address.pathname + address.search + address.hash);
    if (!HOLD_IN_ADDRESS.test(hold)) return;
    const payment = this.of(hold) ?? this.add(hold);
    if (hasMoney(payment)) return;
    Object.assign(payment, { visit: "back", back_ms: Date.now(), closed: false });
  }

  /** The seats are known: what was not answered is asked again. */
  start() {
    for (const payment of this.payments) if (payment.key) this.begin.resume(payment);
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
    return stageInHold(this.of(hold.id), this.begin.leaving === hold.id);
  }

  /** Those that are told of by themselves, the newest first. */
  get alone() {
    return this.payments.filter((one) => !this.#runs(one) || hasMoney(one)).filter(stageAlone).reverse();
  }

  #runs({ hold }) {
    return this.sale.orders.find(hold)?.state === "active";
  }

  /** A payment of a hold, of which the server has said nothing yet. @param {string} hold */
  add(hold) {
    const payment = paymentFor(hold, this.sale.orders.find(hold));
    const kept = this.payments.length < PAYMENTS_MAX ? this.payments : this.payments.filter((one) => mayBePaid(one) || stageAlone(one));
    this.payments = [...kept, payment].slice(-PAYMENTS_MAX);
    return payment;
  }

  /** Asks now for what is waited for. @param {Payment} payment */
  look(payment) {
    this.looks.now(payment);
    this.sale.set({});
  }

  /** Its last word was read. @param {Payment} payment */
  close(payment) {
    payment.closed = true;
    this.changed(payment);
  }

  // --- what the server says ---

  /** How a payment stands: an answer, or a `payment` frame. @param {any} told */
  told(told) {
    const payment = this.#toldOf(told);
    if (!payment) return;
    if (payment.payment && payment.payment !== told.payment) Object.assign(payment, { visit: "", declines_then: -1 });
    take(payment, told);
    if (payment.state === "succeeded" && payment.order) this.sale.orders.bought(payment.order, payment);
    this.changed(payment);
  }

  /** Which one; a hold has several where money came twice, or for what it had before. Nothing, where it is of old. */
  #toldOf(told) {
    const known = this.payments.find((one) => told.payment && one.payment === told.payment);
    const newest = this.of(told.hold);
    if (known || !newest) return known ?? this.add(told.hold);
    const older = told.payment && ageOf(newest) < Infinity && Number(told.payment) < ageOf(newest);
    if (older) return hasMoney(told) ? this.add(told.hold) : undefined;
    return newest.payment && told.payment && hasMoney(newest) ? this.add(told.hold) : newest;
  }

  /** What a look was answered. @param {Payment} payment @param {import("./desk.js").Answer} answer */
  looked(payment, answer) {
    if (answer.status > 0 && answer.status < 300) return this.told({ ...answer.body, hold: payment.hold });
    if (answer.status === 404 && payment.payment === "") payment.missing = true;
    this.changed(payment);
  }

  /** A hold ended. @param {Hold} hold @returns {boolean} whether its payment says it */
  ended(hold) {
    const payment = this.of(hold.id);
    if (!payment) return false;
    Object.assign(payment, { ended: hold.state, key: "", begin: "", seats: hold.seats, places: hold.places });
    this.changed(payment);
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

  /** Says it, shows it and keeps it. @param {Payment} payment */
  changed(payment) {
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
