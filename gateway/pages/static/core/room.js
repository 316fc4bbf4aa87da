// The waiting room as this page knows it: what was told of the room and of the buyer's own place. A place that
// was told is kept until the server says otherwise, and times are differences to the moment of the server's
// documents: no clock of this computer is believed.

import { Human } from "./human.js";
import { wear } from "./look.js";
import { Returning } from "./returning.js";
import { aheadOf, milestoneOf, standsOf, turnOf, waitOf } from "./roomline.js";
import { RoomAsking } from "./roomasking.js";
import { RoomTime } from "./roomtime.js";
import { wordsIn } from "./roomwords.js";
import { notifyOfTurn } from "./yourturn.js";

/** @typedef {import("./roomline.js").Status} Status @typedef {import("./roomline.js").Place} Place */

const WATCH_EVERY_MS = 1_000;
/** So long after a welcome a place that was known is waited for, before it is asked for. */
const PLACE_WITHIN_MS = 3_000;
/** So long what is filed is waited for, before it is asked for again. */
const WISH_WITHIN_MS = 3_000;
const LOOK_AGAIN_AFTER_MS = 5_000;
/** So long it is said that the wait became another. */
const TURN_SHOWN_MS = 120_000;
/** The ballot's request of a buyer has this name. */
export const BALLOT = "ballot";

export class Room {
  /**
   * @param {import("./sale.js").Sale} sale @param {boolean} there whether the event has a waiting room
   * @param {{back?: any, human?: any}} told the way back to the shop that sent the buyer here, and the human check
   */
  constructor(sale, there, { back, human }) {
    this.sale = sale;
    this.there = there;
    /** @type {Status | null} */
    this.status = null;
    /** @type {Place | null} */
    this.place = null;
    /** How many were ahead when this place was first seen. */
    this.from = 0;
    /** @type {{want: any, filed_at: number} | null} */
    this.wish = null;
    this.ballot_asked = false;
    /** @type {import("./words.js").Notice | null} what became of a wish that could not be had */
    this.not_had = null;
    /** When what is filed is asked for, again where nothing came. */
    this.wish_ms = 0;
    this.asking = new RoomAsking(this);
    this.returning = new Returning(this, back);
    this.human = new Human(this, human);
    this.time = new RoomTime(this);
    this.told_wait = null;
    this.turn = "";
    this.offset_ms = -Infinity;
    this.look_ms = Infinity;
    /** How often the place was told: an answer that was asked for before the last time is older than that. */
    this.tellings = 0;
    this.words = wordsIn("en");
    setInterval(() => this.#watch(), WATCH_EVERY_MS);
  }

  get kept() {
    const { place, from, wish, ballot_asked, not_had, isInside } = this;
    return { place, from, wish, ballot_asked, not_had: isInside ? null : not_had, back: this.returning.address };
  }

  /** @param {ReturnType<typeof Room.prototype.kept> | undefined} kept of before a refresh */
  restore(kept) {
    if (!this.there || !kept) return;
    const { back, ...mine } = kept;
    Object.assign(this, mine);
    this.returning.restore(back);
    this.sale.set({ notice: this.not_had });
  }

  /** Milliseconds by the server's clock. */
  now() {
    return performance.now() + this.offset_ms;
  }

  get stands() {
    return standsOf(this.status, this.place);
  }

  /** Whether seats are chosen, held or paid for here now; everybody is where there is no waiting room. */
  get isInside() {
    const { place, sale } = this;
    const begun = place?.state === "admitted" && place.begun_at !== null && !this.returning.address;
    return !this.there || begun || sale.orders.active.length > 0 || sale.state.asked.length > 0;
  }

  get ahead() {
    return this.status && this.place ? aheadOf(this.status, this.place) : null;
  }

  get wait() {
    return this.ahead === null ? null : waitOf(this.status, this.ahead);
  }

  /** Milliseconds left of one of the place's times. @param {"begin_by" | "until"} name */
  left_ms(name) {
    const end = this.place?.[name];
    return end ? Math.max(0, end - this.now()) : 0;
  }

  // --- what is told ---

  /** A connection is here: of the room it tells by itself, of the place where there is one. */
  welcomed() {
    this.offset_ms = -Infinity;
    if (this.place) this.look_ms = Date.now() + PLACE_WITHIN_MS;
    this.wish_ms = 0;
    this.asking.say();
  }

  /** @param {Status} status */
  told(status) {
    if (this.status && status.at < this.status.at && status.version < this.status.version) return;
    const before = { status: this.status, ahead: this.ahead, stands: this.stands };
    this.there = true;
    this.status = status;
    this.offset_ms = Math.max(this.offset_ms, status.at - performance.now());
    if (JSON.stringify(before.status?.look) !== JSON.stringify(status.look)) this.#wear(status.look ?? {});
    const { message } = status;
    if (message && message.at !== before.status?.message?.at) this.sale.say(this.words("said.message", { text: message.text }));
    else this.#sayPhase(before.status, status);
    this.#askForWish();
    this.#adoptBallot();
    this.#moved(before);
  }

  /** Once a connection, and until it is told: what is filed, perhaps on another device. */
  #askForWish() {
    if (Date.now() < this.wish_ms || !this.place || !this.status || this.status.ballot === "none") return;
    if (this.sale.link.send({ type: "wish" })) this.wish_ms = Date.now() + WISH_WITHIN_MS;
  }

  /** @param {Place | null} place */
  placed(place) {
    this.tellings += 1;
    const before = { status: this.status, ahead: this.place?.place === place?.place ? this.ahead : null, stands: this.stands };
    if (this.place?.place !== place?.place) Object.assign(this, { from: 0, told_wait: null, turn: "" });
    const place_before = this.place;
    this.place = place?.state === "left" ? null : place;
    this.look_ms = Infinity;
    this.asking.answeredBy(this.place);
    this.returning.follow(this.place);
    this.#askForWish();
    this.#moved(before);
    this.time.changed(place_before);
    this.sale.remember();
  }

  /** @param {{want: any, filed_at: number}} frame */
  wished({ want, filed_at }) {
    this.wish_ms = Infinity;
    this.asking.filed(want);
    this.wish = want ? { want, filed_at } : null;
    this.#adoptBallot();
    this.sale.remember();
    this.sale.set({});
  }

  #wear(look) {
    wear(look.accent);
    this.words = wordsIn(typeof look.lang === "string" ? look.lang : "en", look.texts ?? {});
  }

  #sayPhase(before, { phase }) {
    if (!before || before.phase === phase || this.stands !== "line") return;
    if (phase === "paused" || phase === "stopped") this.sale.say(`${this.words(`${phase}.title`)}. ${this.words(`${phase}.text`)}`);
    else if (before.phase === "paused") this.sale.say(this.words("said.goes_on"));
  }

  /** A filed wish is a request from when the draw is done: its answer is waited for like any other. */
  #adoptBallot() {
    const { wish, status, sale } = this;
    const decided = status?.ballot === "deciding" || status?.ballot === "done";
    if (!wish || !decided || this.ballot_asked || sale.state.asked.length) return;
    this.ballot_asked = true;
    sale.asking.adopt(BALLOT, wish.want);
  }

  /** A wish of the ballot that could not be had costs no place in line. @param {any} want @param {import("./words.js").Notice} notice */
  notHad(want, { title }) {
    this.not_had = { tone: "warn", title, text: this.words(want.fallbacks?.length ? "wish.not_had_either" : "wish.not_had") };
    return this.not_had;
  }

  /** Says what became of the buyer's way, and looks whether they came in or went out. */
  #moved(before) {
    const { ahead, stands, sale, words } = this;
    if (stands === "line") {
      this.from = Math.max(this.from, ahead);
      this.#followWait();
      if (before.stands === "drawing") sale.say(words("said.line", { position: this.place.position, ahead: this.aheadInWords() }));
      else this.#sayMilestone(milestoneOf(before.ahead, ahead, this.from));
    }
    if (stands === "turn" && before.stands !== "turn") {
      sale.alert(words("said.turn", { minutes: this.minutes("begin_by") }));
      notifyOfTurn(sale.state.event?.name ?? "", words("turn.notify", { minutes: this.minutes("begin_by") }), before.stands !== "");
    }
    sale.followRoom();
    sale.set({});
  }

  #sayMilestone(passed) {
    if (passed === null) return;
    this.sale.say(this.words(passed === "half" ? "said.half" : "said.ahead", { ahead: this.aheadInWords() }));
  }

  aheadInWords() {
    return this.ahead === 0 ? this.words("line.next") : this.words("line.ahead", { count: this.ahead });
  }

  minutes(name) {
    return this.words("minutes", { count: Math.max(1, Math.round(this.left_ms(name) / 60_000)) });
  }

  #followWait() {
    const { wait } = this;
    const at = this.now();
    if (!wait) return;
    const turn = this.told_wait && turnOf(this.told_wait, wait, at);
    if (turn) Object.assign(this, { turn, turn_at: at });
    else if (this.turn && at - this.turn_at > TURN_SHOWN_MS) this.turn = "";
    if (turn || !this.told_wait) this.told_wait = { ...wait, at };
  }

  // --- what is asked ---

  /** @param {string} [code] of a presale or an invitation @param {string} [email] where to write when it is their turn */
  join(code = "", email = "") {
    const human = this.human.take();
    this.asking.ask("join", { type: "join", ...(code && { code }), ...(email && { email }), ...(human && { human }) });
  }

  /** Who has a place names an address, or another one. @param {string} email */
  mail(email) {
    this.asking.ask("mail", { type: "join", email });
  }

  begin() {
    this.returning.begin();
    this.asking.ask("begin", { type: "begin" });
  }

  /** More time, by the end that is seen here: said twice it is given once. */
  more() {
    this.asking.ask("more", { type: "more_time", end: this.time.end });
  }

  leave() {
    this.asking.ask("leave", { type: "leave_line" });
  }

  /** @param {any} want of the ballot; null withdraws what was filed */
  file(want) {
    this.asking.ask("wish", { type: "wish", want });
  }

  /** Asks how the place stands, over HTTP, not more often than every few seconds. */
  async look() {
    this.look_ms = Date.now() + LOOK_AGAIN_AFTER_MS;
    const { tellings } = this;
    const place = await this.sale.documents.place(this.sale.token);
    if (place !== undefined && tellings === this.tellings) this.placed(place);
  }

  #watch() {
    if (!this.there || !this.sale.link.live) return;
    this.asking.watch();
    this.#askForWish();
    if (Date.now() >= this.look_ms || (this.look_ms === Infinity && this.#seemsOver())) this.look();
    this.time.watch();
  }

  #seemsOver() {
    const { stands } = this;
    return (stands === "turn" && this.left_ms("begin_by") === 0) || (stands === "inside" && this.left_ms("until") === 0);
  }
}
