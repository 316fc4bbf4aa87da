// The way around a network that lets no websocket through: the same frames, over HTTP. It greets, brings news of the
// waiting room by a stream or by asking, reads the map of seats for who follows it, and carries what is said until
// it is answered. Closed, it asks and tells nothing any more.

import { callOf, changesOf, fateOf, frameOf } from "./errands.js";
import { Patience } from "./fetching.js";
import { backoff } from "./link.js";
import { subjectOf } from "./memory.js";
import { lookAfterSeconds, readStream } from "./news.js";
import { after } from "./waychoice.js";

const ANSWER_WITHIN_MS = 20_000;
const AROUND_MS = 5_000;
const AGAIN_MS = 2_000;
const DECISION_WITHIN_MS = 10_000;
/** So many calls in a row were not answered: nobody is there. */
const MISSED_MAX = 2;
/** After so many looks a stream is tried again. */
const LOOKS_MAX = 60;
const TOKEN_REFUSED = 4401;
const NO_SUCH_EVENT = 4404;
/** @type {import("./waychoice.js").Choice} */
const STREAM = { way: "events", failed: 0 };

const jittered = (ms) => ms * (0.75 + Math.random() / 2);

export class Detour {
  /** @param {ConstructorParameters<typeof import("./ways.js").Ways>[0]} on */
  constructor(on) {
    this.on = on;
    this.live = false;
    this.heard_ms = 0;
    this.run = new AbortController();
    this.wakes = new Set();
    /** @type {Set<string>} calls that are not answered yet */
    this.under_way = new Set();
    /** @type {Set<string>} requests whose decision is waited for */
    this.followed = new Set();
    addEventListener("online", () => this.#hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.#hurry());
  }

  /** @returns {Promise<boolean>} whether HTTP answers; if so, it was greeted and goes on until it is closed */
  open() {
    this.run = new AbortController();
    Object.assign(this, { choice: STREAM, status: null, place: null, missed: 0 });
    /** Calls and news in their order here: an answer to what was asked before news came may be older than they are. */
    Object.assign(this, { moment: 0, placed: 0 });
    this.said = this.on.hello();
    return this.#greet(this.run);
  }

  close() {
    this.run.abort();
    this.live = false;
  }

  /** @param {any} frame @returns {boolean} whether it went out */
  send(frame) {
    if (!this.live) return false;
    if (frame.type === "resume") for (const id of frame.ids) this.#follow(id, this.run);
    else this.#carry(frame, this.run);
    return true;
  }

  renew() {
    if (!this.live) return;
    this.#welcome(this.event);
    if (this.on.hasRoom()) this.#look(this.run);
  }

  /** Each call says by itself whether it is answered. */
  doubt() {}

  async #greet(run) {
    const answer = await this.#ask({ method: "GET", path: "" }, run);
    if (answer?.status === 404) this.#refuse(NO_SUCH_EVENT);
    if (run.signal.aborted || answer?.status !== 200) return false;
    this.#welcome(answer.body);
    this.#lookAround(run);
    if (this.on.hasRoom()) this.#bringNews(run);
    return true;
  }

  #welcome(event) {
    Object.assign(this, { event, etag: "", seats: null, said: this.on.hello(), live: true });
    this.on.change("live", 0);
    this.on.frame({ type: "welcome", event, buyer: subjectOf(this.said.token) });
  }

  #refuse(code) {
    this.close();
    this.on.change("refused", code);
  }

  /** Nobody answers: it is tried until somebody does. */
  async #lost() {
    this.close();
    const run = (this.run = new AbortController());
    Object.assign(this, { choice: STREAM, missed: 0 });
    this.on.change("reconnecting", 0);
    for (let attempt = 0; await this.#rest(backoff(attempt), run); attempt += 1) if (await this.#greet(run)) return;
  }

  /** @param {any} frame @param {number} [moment] when it was asked for, if it was */
  #hear(frame, moment = this.#next()) {
    this.heard_ms = Date.now();
    if (frame.type === "place") Object.assign(this, { place: frame, placed: moment });
    if (frame.type === "room") {
      this.status = frame;
      if (frame.state !== this.event.state) this.#readEvent(this.run);
    }
    this.on.frame(frame);
  }

  // --- news ---

  async #bringNews(run) {
    for (let looks = 1; !run.signal.aborted; looks += 1) {
      if (this.choice.way === "events") await this.#stream(run);
      else await this.#rest(await this.#look(run), run);
      if (this.choice.way === "poll" && looks % LOOKS_MAX === 0) this.choice = after(this.choice, "polled_long");
    }
  }

  async #stream(run) {
    let heard = false;
    const hear = (frame) => this.#hear(((heard = true), frame));
    const status = await readStream(`/v1/events/${this.said.event}/room/stream`, this.#bearing, run.signal, hear);
    if (run.signal.aborted) return;
    if (status === 401) return this.#refuse(TOKEN_REFUSED);
    this.choice = after(this.choice, heard ? "heard" : "ended");
    if (!heard) await this.#look(run); // news all the same, and whether anybody is there
    await this.#rest(jittered(AGAIN_MS), run);
  }

  /** One look at the room, and where that is another at the place. @returns {Promise<number>} milliseconds until the next */
  async #look(run) {
    const asked = this.#next();
    const room = await this.#ask({ method: "GET", path: "/room", headers: this.etag ? { "If-None-Match": this.etag } : {} }, run);
    if (!room) return AGAIN_MS;
    if (room.status === 200) {
      this.etag = room.etag;
      this.#hear({ ...room.body, type: "room" });
    }
    if (room.status === 200 || !this.place) await this.#readPlace(run, asked);
    if (room.retry_seconds) return room.retry_seconds * 1000 * (1 + Math.random());
    return jittered(1000 * Math.max(room.max_age_seconds, lookAfterSeconds(this.status, this.place)));
  }

  async #readPlace(run, asked = this.#next()) {
    const place = await this.#ask({ method: "GET", path: "/room/place" }, run);
    const older = asked < this.placed || this.under_way.size > 0; // than what was told or is answered meanwhile
    if (place?.status === 401) this.#refuse(TOKEN_REFUSED);
    if (place?.status === 200 && !older) this.#hear({ ...place.body, type: "place" }, asked);
  }

  #next() {
    return (this.moment += 1);
  }

  /** What the socket tells of the event and its seats. */
  async #lookAround(run) {
    for (let round = 1; await this.#rest(jittered(AROUND_MS), run); round += 1) {
      if (this.said.watch || !this.on.hasRoom()) await this.#readEvent(run);
      if (this.said.watch) await this.#readSeats(run);
      if (!run.signal.aborted) this.on.around(round);
    }
  }

  async #readEvent(run) {
    const before = this.event;
    const answer = await this.#ask({ method: "GET", path: "" }, run);
    if (answer?.status !== 200 || this.event !== before) return;
    this.event = answer.body;
    const { state, called_off = null, plan } = this.event;
    if (state !== before.state || called_off?.at !== before.called_off?.at) this.#hear({ type: "event", state, called_off });
    if (plan !== before.plan) this.#hear({ type: "plan" });
  }

  async #readSeats(run) {
    const before = this.seats;
    const answer = await this.#ask({ method: "GET", path: "/seats" }, run);
    if (answer?.status !== 200 || this.seats !== before || answer.body.batch_no === before?.batch_no) return;
    this.seats = answer.body;
    this.#hear(changesOf(before, this.seats));
  }

  // --- what is said ---

  async #carry(frame, run) {
    const call = callOf(frame);
    const name = `${call.method} ${call.path}`;
    if (this.under_way.has(name)) return;
    this.under_way.add(name);
    const asked = this.#next();
    const answer = await this.#ask(call, run);
    this.under_way.delete(name);
    const overtaken = asked < this.placed;
    this.placed = this.#next();
    if (answer?.status === 401) this.#refuse(TOKEN_REFUSED);
    const told = answer && !run.signal.aborted && frameOf(frame, answer);
    if (told?.type === "place" && overtaken) return this.#readPlace(run); // which of the two is newer, nobody knows
    if (told) this.#hear(told);
    if (told?.type === "accepted") this.#follow(frame.id, run);
  }

  /** What became of a request, asked until it is decided. */
  async #follow(id, run) {
    if (this.followed.has(id)) return;
    this.followed.add(id);
    for (let wait_ms = 0, decided = false; !decided && !run.signal.aborted; wait_ms = DECISION_WITHIN_MS) {
      const answer = await this.#ask(fateOf(id, wait_ms), run);
      if (answer && !run.signal.aborted) this.#hear(frameOf({ type: "request", id }, answer));
      decided = answer !== null && answer.status !== 202;
      if (!decided) await this.#rest(1000 * (answer?.retry_seconds || 1), run);
    }
    this.followed.delete(id);
  }

  // --- calls ---

  get #bearing() {
    return { Authorization: `Bearer ${this.said.token}` };
  }

  /** @param {import("./errands.js").Call} call @returns {Promise<any>} its answer; null where none came */
  async #ask({ method, path, body, headers = {} }, run) {
    const patience = new Patience(run.signal, ANSWER_WITHIN_MS);
    const sent = body === undefined ? {} : { "Content-Type": "application/json" };
    const options = { method, headers: { ...this.#bearing, ...sent, ...headers }, body: body === undefined ? undefined : JSON.stringify(body) };
    try {
      const answer = await fetch(`/v1/events/${this.said.event}${path}`, { ...options, cache: "no-store", signal: patience.signal });
      const { status, headers: told } = answer;
      const found = status === 304 ? null : await answer.json();
      this.missed = 0;
      const max_age_seconds = Number(/max-age=(\d+)/.exec(told.get("Cache-Control") ?? "")?.[1] ?? 0);
      return { status, body: found, etag: told.get("ETag") ?? "", max_age_seconds, retry_seconds: Number(told.get("Retry-After")) || 0 };
    } catch {
      this.missed += 1;
      if (this.live && !run.signal.aborted && this.missed >= MISSED_MAX) this.#lost();
      return null;
    } finally {
      patience.end();
    }
  }

  /** @returns {Promise<boolean>} after so long, or at once when the network or the tab returns; false: it was closed */
  #rest(ms, { signal }) {
    return new Promise((done) => {
      const wake = () => {
        clearTimeout(timer);
        this.wakes.delete(wake);
        signal.removeEventListener("abort", wake);
        done(!signal.aborted);
      };
      const timer = setTimeout(wake, ms);
      signal.addEventListener("abort", wake);
      this.wakes.add(wake);
    });
  }

  #hurry() {
    for (const wake of [...this.wakes]) wake();
  }
}
