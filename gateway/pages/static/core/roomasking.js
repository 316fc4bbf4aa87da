// What this buyer asked of the waiting room: joining, naming an address, beginning, more time, leaving, filing a
// wish; one at a time, and asked until it is answered. Each may be said again, as the server does it once. Joining
// a busy room costs a proof of work, which this page finds when it is told so, unless the buyer stops it.

import { canProve } from "./proof.js";
import { Proving } from "./proving.js";

const SAY_AGAIN_AFTER_MS = 6_000;
/** Refusals of a join that another proof of work answers. */
const PROOFS = new Set(["proof_required", "proof_not_valid", "proof_expired", "proof_used"]);
/** So often one join proves; then the buyer decides whether to go on. */
const PROOFS_MAX = 3;

/** @typedef {"join" | "mail" | "begin" | "more" | "leave" | "wish"} Kind */

export class RoomAsking {
  /** @param {import("./room.js").Room} room */
  constructor(room) {
    this.room = room;
    this.sale = room.sale;
    /** @type {{kind: Kind, frame: any, again_ms: number, busy: boolean, proving: boolean, proofs: number} | null} */
    this.now = null;
    /** @type {Proving | null} the proof that is being looked for */
    this.proof = null;
    /** What was refused, as a sentence. */
    this.trouble = "";
    /** The same of an address for mails. */
    this.mail_trouble = "";
    /** So many addresses were taken. */
    this.mailed = 0;
  }

  /** @param {Kind} kind */
  is(kind) {
    return this.now?.kind === kind;
  }

  /** @param {Kind} kind @param {object} frame */
  ask(kind, frame) {
    if (this.now) return;
    Object.assign(this, { trouble: "", mail_trouble: "" });
    this.now = { kind, frame, again_ms: 0, busy: false, proving: false, proofs: 0 };
    if (kind === "join" && this.room.status.proof) this.#prove();
    else this.say();
    this.sale.set({});
  }

  /** Says it, once more if need be. */
  say() {
    if (!this.now || this.now.proving) return;
    Object.assign(this.now, { busy: false, again_ms: Date.now() + SAY_AGAIN_AFTER_MS });
    this.sale.link.send(this.now.frame);
  }

  /** It is time to say it again. */
  watch() {
    if (!this.now || this.now.proving || Date.now() < this.now.again_ms) return;
    if (!this.now.busy) this.sale.link.doubt();
    this.say();
  }

  /** A place answers what it shows. @param {import("./roomline.js").Place | null} place */
  answeredBy(place) {
    const live = place?.state === "waiting" || place?.state === "admitted";
    const out = place?.state !== "admitted";
    const more = out || this.room.time.end !== this.now?.frame.end;
    const done = { join: live, mail: live, begin: out || place.begun_at !== null, more, leave: !live, wish: false };
    if (!this.now || !done[this.now.kind]) return;
    if (this.now.frame.email) this.mailed += 1;
    if (this.is("mail")) this.sale.say(this.room.words("mail.told"));
    this.#done();
  }

  #done() {
    this.proof?.stop();
    Object.assign(this, { now: null, proof: null });
  }

  /** The buyer does not want to prove any more, and so does not join. */
  stopProving() {
    if (!this.now?.proving) return;
    this.#done();
    this.trouble = this.room.words("join.stopped");
    this.sale.set({});
  }

  /** What is filed now, or that nothing is. @param {any} want */
  filed(want) {
    if (this.is("wish") && (want === null) === (this.now.frame.want === null)) this.now = null;
  }

  /** @param {any} frame @returns {boolean} whether it was about this */
  failed({ id, hold, code, message, retry_after }) {
    const { now } = this;
    if (!now || id !== undefined || hold !== undefined) return false;
    if (retry_after) Object.assign(now, { busy: true, again_ms: Date.now() + retry_after * 1000 * (1 + Math.random()) });
    else if (PROOFS.has(code) && now.proofs < PROOFS_MAX) this.#prove();
    else this.#refuse(message, code);
    this.sale.set({});
    return true;
  }

  #refuse(message, code = "") {
    const { words } = this.room;
    const { kind } = this.now;
    this.#done();
    if (kind === "join") this.room.human.again();
    const mail = kind === "mail" || code === "email_not_valid"; // it is said at its field
    const trouble = words("join.failed", { message });
    this[mail ? "mail_trouble" : "trouble"] = trouble;
    if (!mail) this.sale.say(trouble);
    if (kind !== "join" && kind !== "mail" && kind !== "wish") this.room.look(); // it is not as this page thinks
  }

  async #prove() {
    const { now, sale } = this;
    if (!canProve()) return this.#refuse(this.room.words("join.insecure"));
    Object.assign(now, { proving: true, proofs: now.proofs + 1 });
    const challenge = await sale.documents.challenge(sale.token);
    if (this.now !== now) return;
    if (challenge) {
      this.proof = new Proving(challenge);
      const proof = await this.proof.solution;
      if (this.now !== now) return;
      if (!proof) return this.#refuse(this.room.words("join.unproven"));
      now.frame = { ...now.frame, proof };
    }
    now.proving = false;
    this.say();
    sale.set({});
  }
}
