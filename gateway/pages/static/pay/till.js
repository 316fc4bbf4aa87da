// What the page to pay on knows and does. Who the buyer is and what is held comes from the same storage as the
// event's page; how the payment stands is asked of the server, which alone says what became of the money.

import { ServerClock } from "../core/clock.js";
import { Desk } from "../core/desk.js";
import { pause } from "../core/fetching.js";
import { subjectOf, tokenFromAddress } from "../core/memory.js";
import { StripeForm } from "./stripe.js";
import * as words from "./words.js";

const LOOK_EVERY_MS = 5_000;
const AGAIN_FIRST_MS = 1_000;
const AGAIN_MAX_MS = 15_000;
/** Stripe says so of an intent that is over: paid in another tab, or ended with its hold. */
const IS_OVER = "payment_intent_unexpected_state";
/** What is typed is wrong, or the bank says no: it can be mended here. */
const CAN_BE_MENDED = new Set(["card_error", "validation_error"]);

/**
 * @typedef {object} State
 * @property {"loading" | "no_token" | "signed_out" | "missing" | "paying"} phase
 * @property {any} payment as the server said it
 * @property {"coming" | "there" | "broken"} form
 * @property {boolean} busy it is being paid
 * @property {boolean} away the server does not answer just now
 * @property {import("../core/words.js").Notice | null} notice
 */

export class Till {
  /** @param {{event: string, name: string, hold: string, demo: boolean, stripe: string, returns: string}} boot @param {import("../core/memory.js").Memory} memory */
  constructor({ event, name, hold, stripe, returns }, memory) {
    Object.assign(this, { event, name, hold_id: hold, key: stripe, returns, memory });
    this.token = "";
    /** @type {import("../core/holds.js").Hold | undefined} as it was remembered */
    this.hold = undefined;
    this.paused = false;
    this.clock = new ServerClock();
    this.desk = new Desk(event, () => this.token, (answer, sent_ms) => this.clock.learnFromDate(answer, sent_ms));
    this.listener = () => {};
    /** @type {State} */
    this.state = { phase: "loading", payment: null, form: "coming", busy: false, away: false, notice: null };
  }

  /** @param {Partial<State>} patch */
  set(patch) {
    Object.assign(this.state, patch);
    this.listener();
  }

  async start() {
    const given = tokenFromAddress();
    const found = this.memory.load();
    const same = !given || subjectOf(given) === subjectOf(found.token);
    this.token = given || found.token;
    if (!this.token) return this.set({ phase: "no_token" });
    if (same) {
      this.hold = found.holds.find(({ id }) => id === this.hold_id);
      this.paused = found.paused_at !== null;
      this.email = found.paying?.email ?? "";
    }
    for (let tries = 0; this.state.phase === "loading" || this.state.phase === "paying"; tries += 1) {
      await this.look();
      const wait_ms = this.state.away ? Math.min(AGAIN_MAX_MS, AGAIN_FIRST_MS * 2 ** tries) : LOOK_EVERY_MS;
      if (!this.state.away) tries = 0;
      await pause(wait_ms * (0.75 + Math.random() / 2));
    }
  }

  /** Asks how it stands. What is no more to be paid is told where everything of the hold is. */
  async look() {
    const { status, body } = await this.desk.look(this.hold_id);
    if (status === 401) return this.set({ phase: "signed_out" });
    if (status === 404) return this.set({ phase: "missing" });
    if (status < 200 || status > 299) return this.set({ away: true });
    const before = this.state.payment;
    if (this.state.busy) return this.set({ away: false });
    if (!body.checkout?.client_secret || (before && before.payment !== body.payment)) return this.leave();
    this.set({ phase: "paying", payment: body, away: false });
  }

  /** To the event's page, which waits for the bank's word. */
  leave() {
    location.replace(this.returns);
  }

  /** Milliseconds, or null where this page does not know until when it is held. */
  get left_ms() {
    if (!this.hold || this.paused) return null;
    return Math.max(0, this.hold.expires_at - this.clock.now());
  }

  /** Stripe's form comes into this element. @param {HTMLElement} place */
  mount(place) {
    const what = { key: this.key, secret: this.state.payment.checkout.client_secret, email: this.email ?? "", returns: this.returns };
    this.set({ form: "coming", notice: null });
    this.form?.leave(place);
    const broken = () => this.set({ form: "broken", notice: words.notLoaded() });
    this.form = new StripeForm(what, () => this.set({ form: "there" }), broken);
    this.form.mount(place);
  }

  async pay() {
    if (this.state.busy || this.state.form !== "there") return;
    this.set({ busy: true, notice: null });
    const error = await this.form.pay();
    if (!error) return; // the page is being left
    if (error.code === IS_OVER) return this.leave();
    this.set({ busy: false, notice: CAN_BE_MENDED.has(error.type) ? words.refused(error) : words.unheard() });
    this.look();
  }
}
