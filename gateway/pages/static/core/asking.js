// Requests under way. One leaves the list only with an answer: after a reconnect each undecided one is
// resumed, and asked again under its own id if nobody knows it. What an answer means for the choice and
// which words it gets is here too.

import { groupsNear, offersOfGroups, offersWhenSoldOut } from "./offers.js";
import { seatLabel } from "./plan.js";
import { BALLOT } from "./room.js";
import * as words from "./words.js";

/**
 * @typedef {{id: string, want: any, stage: "asking" | "busy" | "accepted" | "delayed", sent_ms: number, asked_ms: number}} Asked
 *   `sent_ms` is 0 when an answer can no longer tell what time it is at the server
 */

const ASK_AGAIN_AFTER_MS = 6_000;
const WATCH_EVERY_MS = 2_000;
const BEGUN_WITHIN_S = 1;
/** Who is in line hears of the seats meanwhile. After so long a silence the line is asked for. */
const SILENCE_MS_MAX = 30_000;

export class Asking {
  /** @param {import("./sale.js").Sale} sale */
  constructor(sale) {
    this.sale = sale;
    setInterval(() => this.#askTheSilentAgain(), WATCH_EVERY_MS);
  }

  /** @param {Asked[]} requests of before a refresh */
  restore(requests) {
    this.sale.state.asked = requests.map((request) => ({ ...request, stage: "asking", sent_ms: 0 }));
  }

  /** Asks for this, unless nothing is wanted or something is asked for already. @param {any} want */
  ask(want) {
    const { sale } = this;
    if (!want || sale.state.asked.length) return;
    want = this.#moving(want);
    const id = `r-${crypto.getRandomValues(new Uint32Array(3)).join("-")}`;
    const sent_ms = Date.now();
    const request = { id, want, stage: "asking", sent_ms, asked_ms: sent_ms };
    sale.touch({ asked: [request], notice: null });
    sale.remember();
    sale.link.send({ type: "request", id, ...want });
  }

  /** What the server put in line for this buyer is waited for as if it was asked here. @param {string} id @param {any} want */
  adopt(id, want) {
    const { sale } = this;
    sale.touch({ asked: [{ id, want, stage: "accepted", sent_ms: 0, asked_ms: Date.now() }], notice: null });
    sale.remember();
    sale.link.send({ type: "resume", ids: [id] });
  }

  /** While a hold is being changed, what is asked for is asked for instead of it. */
  #moving(want) {
    const { moving } = this.sale.orders;
    if (!moving) return want;
    const { waitlist, ...rest } = want;
    return waitlist ? want : { ...rest, move: moving.id };
  }

  /** The connection is back: what became of these? */
  resume() {
    const { asked } = this.sale.state;
    for (const request of asked) Object.assign(request, { asked_ms: Date.now(), sent_ms: 0 });
    if (asked.length) this.sale.link.send({ type: "resume", ids: asked.map(({ id }) => id) });
  }

  /** Nobody knows this one. */
  unknown({ id }) {
    this.#again(this.#find(id));
  }

  #find(id) {
    return this.sale.state.asked.find((one) => one.id === id);
  }

  stage(id, stage) {
    const request = this.#find(id);
    if (request) request.stage = stage;
    this.sale.set({});
  }

  #again(request) {
    if (!request) return;
    request.asked_ms = Date.now();
    request.sent_ms = 0;
    request.stage = "asking";
    this.sale.link.send({ type: "request", id: request.id, ...request.want, again: true });
  }

  #askTheSilentAgain() {
    const { link, state } = this.sale;
    const now = Date.now();
    for (const request of state.asked) {
      const in_line = request.stage === "accepted" || request.stage === "delayed";
      const since_ms = in_line ? Math.max(link.heard_ms, request.asked_ms) : request.asked_ms;
      if (!link.live || request.stage === "busy" || now - since_ms <= (in_line ? SILENCE_MS_MAX : ASK_AGAIN_AFTER_MS)) continue;
      if (in_line) {
        request.asked_ms = now;
        link.send({ type: "resume", ids: [request.id] });
      } else {
        this.#again(request);
      }
      link.doubt();
    }
  }

  /** Takes an answered request off the list. @returns {Asked | undefined} */
  #answered(id) {
    const { state } = this.sale;
    const request = this.#find(id);
    state.asked = state.asked.filter((one) => one !== request);
    return request;
  }

  decided({ id, outcome, result }) {
    const { sale } = this;
    const request = this.#answered(id);
    if (!request) return; // told twice: the first answer was the same
    if (outcome === "held") {
      sale.orders.got(request, result, sale.state.event.hold_ttl_seconds);
      sale.touch({ moving: "" });
      sale.choose({ picked: [], places: {}, wait: false });
    } else if (outcome === "waitlisted") {
      sale.waiting.joined(request, result);
      sale.choose({ picked: [], places: {}, wait: false }, sale.state.notice);
    } else {
      this.#notHeld(request, outcome, result);
    }
    sale.remember();
  }

  #notHeld({ id, want }, outcome, result) {
    const { event, venue, seats } = this.sale.state;
    if (id === BALLOT && outcome === "sold_out") return this.sale.tell(this.sale.room.notHad(want, words.soldOut(want, result, venue, [])));
    if (outcome === "taken") {
      const groups = (result.instead ?? []).map((group) => seatsOf(venue, group));
      const told = result.waiting_list ? words.listFull(words.taken) : words.taken;
      return this.#withoutTaken(result.taken ?? [], told, offersOfGroups(venue, groups, want), want);
    }
    const soldOut = result.waiting_list ? words.listFull(words.soldOut) : words.soldOut;
    const sentence = {
      sold_out: () => waitable(soldOut(want, result, venue, offersWhenSoldOut(venue, seats, want, result)), want),
      limit_reached: () => (result.reason === "waiting" ? words.waitsEnough(result.limit) : words.limitReached(event.seats_per_buyer_max, result)),
      closed: words.closed,
      conflict: words.conflict,
      invalid: () => (want.move ? words.moveGone() : words.invalid()),
    }[outcome];
    this.sale.tell(this.#kept((sentence ?? words.invalid)(), result));
  }

  /** Who wanted to change a hold hears that it is as it was. */
  #kept(notice, { kept }) {
    const hold = kept && this.sale.orders.find(kept);
    return hold ? words.keptAsItWas(notice, this.sale.orders.names(hold)) : notice;
  }

  refusedAtTheGate({ id, taken, reason, on_hold = 0, held_until = null }) {
    const request = this.#answered(id);
    if (request && reason === "none_left") {
      const { venue } = this.sale.state;
      const left_ms = held_until === null ? null : held_until - this.sale.clock.now();
      this.sale.tell(waitable(words.noneLeft(request.want, venue, on_hold, left_ms), request.want));
    } else if (request) {
      const { venue, seats } = this.sale.state;
      const groups = groupsNear(venue, seats, seatsOf(venue, request.want.seats ?? []));
      this.#withoutTaken(taken ?? [], words.notQueued, offersOfGroups(venue, groups, request.want), request.want);
    }
    this.sale.remember();
  }

  #withoutTaken(guids, sentence, offers, want) {
    const { sale } = this;
    const { choice, venue } = sale.state;
    const gone = seatsOf(venue, guids);
    const notice = sentence(gone.map((seat) => seatLabel(venue, seat)), gone, offers);
    sale.choose({ picked: choice.picked.filter((seat) => !gone.includes(seat)) });
    sale.dropGone();
    sale.tell(waitable(notice, want));
  }

  /** @returns {boolean} whether it was about a request */
  failed({ id, code, message, retry_after }) {
    const request = this.#find(id);
    if (!request) return false;
    // the gateway that told of the draw knew that the sale has begun, and this one is about to hear of it
    const after_s = id === BALLOT && code === "event_not_open" ? BEGUN_WITHIN_S : retry_after;
    if (after_s) {
      // Whether it was queued is not known: the same key again settles it, whatever happened.
      this.stage(id, "busy");
      setTimeout(() => this.#again(this.#find(id)), after_s * 1000 * (1 + Math.random()));
      return true;
    }
    this.#answered(id);
    this.sale.tell(words.refused(message));
    this.sale.remember();
    return true;
  }
}

/** With the offer to wait for it, unless that is what was asked. */
const waitable = (notice, want) => (want.waitlist || want.move ? notice : { ...notice, wait: want });

const seatsOf = (venue, guids) => guids.map((guid) => venue.seatByGuid.get(guid)).filter((seat) => seat !== undefined);
