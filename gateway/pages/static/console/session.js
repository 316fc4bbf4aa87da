// Who is logged in: a key becomes a session (a cookie that scripts cannot read), which ends by itself.

import { pause } from "../core/fetching.js";

const PATH = "/v1/operator/session";
const ROLES = ["viewer", "operator", "owner"];
const AGAIN_MS = 3_000;

/** @typedef {"asking" | "out" | "in" | "ended"} Phase `ended`: was in, and must log in again to go on */

export class Session {
  #looking = null;
  /** Raised by who comes or goes: what was asked before is not so any more. */
  #turn = 0;

  /** @param {import("./api.js").Api} api */
  constructor(api) {
    this.api = api;
    /** @type {{phase: Phase, name: string, role: string, events: string[] | null, expires_at: string | null, story: string, busy: boolean}} */
    this.state = { phase: "asking", name: "", role: "", events: null, expires_at: null, story: "", busy: false };
    this.changed = () => {};
    api.ended = () => this.state.phase === "in" && this.#set({ phase: "ended", story: "" });
  }

  /** Whether somebody may do what needs that role. @param {"viewer" | "operator" | "owner"} role */
  may(role) {
    return ROLES.indexOf(this.state.role) >= ROLES.indexOf(role);
  }

  /** Whether the browser has a session; asked until the server answers. Asked twice at a time it is one question. */
  look() {
    this.#looking ??= this.#look().finally(() => (this.#looking = null));
    return this.#looking;
  }

  async #look() {
    for (;;) {
      const turn = this.#turn;
      try {
        const known = await this.api.get(PATH, { asks: true });
        return turn === this.#turn ? this.#enter(known) : undefined;
      } catch (problem) {
        if (turn !== this.#turn) return; // somebody has come or gone meanwhile, so this is not so any more
        if (problem.status === 401) return this.#nobody();
        const story = problem.status ? problem.detail : "The server does not answer. This page asks again by itself.";
        if (this.state.phase === "asking") this.#set({ story });
      }
      await pause(AGAIN_MS);
    }
  }

  /** Who has been asked to log in already may be reading why that was refused. */
  #nobody() {
    const { phase } = this.state;
    if (phase === "asking" || phase === "in") this.#set({ phase: phase === "in" ? "ended" : "out", story: "" });
  }

  /** @param {string} key */
  async come(key) {
    this.#turn += 1;
    this.#set({ busy: true, story: "" });
    try {
      this.#enter(await this.api.post(PATH, { key: key.trim() }));
    } catch (problem) {
      const story = problem.status ? problem.detail : "The server does not answer. Try again in a moment.";
      this.#set({ busy: false, story });
    }
  }

  async leave() {
    this.#turn += 1;
    await this.api.del(PATH).catch((problem) => {
      if (problem.status !== 401) throw problem; // it had ended already
    });
    this.#set({ phase: "out", name: "", role: "", events: null, story: "" });
  }

  #enter({ name, role, events, expires_at }) {
    this.#set({ phase: "in", name, role, events, expires_at, story: "", busy: false });
    this.api.begun();
  }

  #set(patch) {
    this.state = { ...this.state, ...patch };
    this.changed();
  }
}
