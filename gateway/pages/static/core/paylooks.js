// Asks how payments stand. Frames on the socket say it sooner and may be lost; so the server is asked too:
// seldom where frames come, more often where not, with growing and jittered pauses, and not for ever.

import { eagernessOf } from "./payments.js";

/** @typedef {import("./payments.js").Payment} Payment */

const WATCH_EVERY_MS = 500;
const FIRST_MS = 1_000;
const GROWS_BY = 1.6;
const PAUSE_MAX_MS = { soon: { live: 15_000, away: 8_000 }, later: { live: 60_000, away: 20_000 } };
/** So often one is asked for, until something happens: more than a quarter of an hour. */
const LOOKS_MAX = 80;
/** A crowd that comes back looks within so long. */
const WITHIN_MS = 2_000;

export class PayLooks {
  /** @param {import("./paying.js").Paying} paying */
  constructor(paying) {
    this.paying = paying;
    /** @type {Map<Payment, {looks: number, next_ms: number, under_way: boolean}>} */
    this.plans = new Map();
    setInterval(() => this.#watch(), WATCH_EVERY_MS);
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.hurry());
  }

  /** Something happened: all are asked for anew. @param {number} [within_ms] */
  hurry(within_ms = WITHIN_MS) {
    for (const plan of this.plans.values()) Object.assign(plan, { looks: 0, next_ms: Date.now() + Math.random() * within_ms });
  }

  /** Asked for at once, and from then on anew. @param {Payment} payment */
  now(payment) {
    this.plans.set(payment, { looks: 0, next_ms: Date.now(), under_way: this.plans.get(payment)?.under_way ?? false });
    this.#watch();
  }

  /** Whether it is not asked for any more by itself. @param {Payment} payment */
  gaveUp(payment) {
    return (this.plans.get(payment)?.looks ?? 0) >= LOOKS_MAX;
  }

  #watch() {
    const { payments, sale } = this.paying;
    for (const payment of this.plans.keys()) if (!payments.includes(payment)) this.plans.delete(payment);
    if (!sale.state.venue) return;
    for (const payment of payments) {
      if (!eagernessOf(payment)) {
        this.plans.delete(payment);
        continue;
      }
      if (!this.plans.has(payment)) this.plans.set(payment, { looks: 0, next_ms: Date.now(), under_way: false });
      const plan = this.plans.get(payment);
      if (!plan.under_way && plan.looks < LOOKS_MAX && Date.now() >= plan.next_ms) this.#look(payment, plan);
    }
  }

  async #look(payment, plan) {
    plan.under_way = true;
    const answer = await this.paying.desk.look(payment.hold);
    const longest = PAUSE_MAX_MS[eagernessOf(payment) || "later"][this.paying.sale.link.live ? "live" : "away"];
    const wait_ms = Math.max(answer.retry_ms, Math.min(longest, FIRST_MS * GROWS_BY ** plan.looks));
    const looks = answer.status === 401 ? LOOKS_MAX : plan.looks + 1;
    Object.assign(plan, { looks, next_ms: Date.now() + wait_ms * (0.5 + Math.random()), under_way: false });
    this.paying.looked(payment, answer);
  }
}
