// What the operators' page knows, and how it is kept up to date: asked every two seconds while somebody looks.
// The key is kept for this tab only and sent to this server only.

const EVERY_MS = 2000;
const AWAY_MS_MAX = 15_000;
const KEY = "onsale operator key";

/** @typedef {"asking" | "key" | "refused" | "missing" | "live" | "away"} Phase */

export class Desk {
  /** @param {string} event */
  constructor(event) {
    this.slug = event;
    this.path = `/v1/operator/events/${event}/figures`;
    this.key = sessionStorage.getItem(KEY) ?? "";
    this.etag = "";
    this.failures = 0;
    this.timer = 0;
    /** @type {{phase: Phase, story: string, figures: any, as_of_ms: number}} `as_of_ms`: all that happened before is in the figures */
    this.state = { phase: "asking", story: "", figures: null, as_of_ms: 0 };
    this.changed = () => {};
    document.addEventListener("visibilitychange", () => document.hidden || this.start());
  }

  /** Begins to ask, or goes on at once. */
  start() {
    clearTimeout(this.timer);
    if (this.key) this.#ask();
    else this.#set({ phase: "key" });
  }

  /** @param {string} key */
  come(key) {
    this.key = key.trim();
    this.#set({ phase: "asking", story: "" });
    this.start();
  }

  /** Forgets the key and what it showed. */
  leave() {
    sessionStorage.removeItem(KEY);
    Object.assign(this, { key: "", etag: "" });
    this.#set({ phase: "key", figures: null, story: "" });
  }

  #set(patch) {
    Object.assign(this.state, patch);
    this.changed();
  }

  async #ask() {
    const key = this.key;
    const sent_ms = Date.now();
    const answer = await fetch(this.path, { cache: "no-store", headers: this.#headers() }).catch(() => null);
    const told = answer?.status === 200 ? await answer.json().catch(() => null) : null;
    if (key !== this.key) return; // somebody else looks by now
    clearTimeout(this.timer);
    if (answer && (told || answer.status === 304)) this.#heard(answer, told, sent_ms);
    else if (answer && answer.status < 500 && answer.status !== 429) return this.#refused(answer);
    else this.#away();
    if (!document.hidden) this.timer = setTimeout(() => this.#ask(), this.#pause_ms());
  }

  #headers() {
    return { Authorization: `Bearer ${this.key}`, ...(this.etag && { "If-None-Match": this.etag }) };
  }

  #pause_ms() {
    return Math.min(AWAY_MS_MAX, EVERY_MS * 2 ** this.failures) * (0.9 + 0.2 * Math.random());
  }

  #heard(answer, told, sent_ms) {
    this.failures = 0;
    sessionStorage.setItem(KEY, this.key);
    this.etag = answer.headers.get("ETag") ?? "";
    const figures = told ?? this.state.figures;
    this.#set({ phase: "live", story: "", figures, as_of_ms: sent_ms - figures.age_ms });
  }

  #away() {
    this.failures += 1;
    this.#set({ phase: this.state.figures ? "away" : "asking", story: "The server does not answer. This page asks again by itself." });
  }

  async #refused(answer) {
    const problem = await answer.json().catch(() => ({}));
    if (answer.status === 404) return this.#set({ phase: "missing", story: problem.detail ?? "" });
    sessionStorage.removeItem(KEY);
    this.#set({ phase: "refused", story: problem.detail ?? "The key was refused.", figures: null });
  }
}
