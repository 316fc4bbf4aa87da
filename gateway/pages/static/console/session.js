// Who is logged in: a key becomes a session (a cookie that scripts cannot read), which ends by itself.

const PATH = "/v1/operator/session";
const ROLES = ["viewer", "operator", "owner"];
const AGAIN_MS = 3_000;

/** @typedef {"asking" | "out" | "in" | "ended"} Phase `ended`: was in, and must log in again to go on */

export class Session {
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

  /** Looks whether the browser has a session; asked again until the server answers. */
  async look() {
    try {
      this.#enter(await this.api.get(PATH));
    } catch (problem) {
      if (problem.status === 401) return this.#set({ phase: this.state.phase === "asking" ? "out" : "ended", story: "" });
      this.#set({ story: problem.status ? problem.detail : "The server does not answer. This page asks again by itself." });
      setTimeout(() => this.look(), AGAIN_MS);
    }
  }

  /** @param {string} key */
  async come(key) {
    this.#set({ busy: true, story: "" });
    try {
      this.#enter(await this.api.post(PATH, { key: key.trim() }));
    } catch (problem) {
      const story = problem.status ? problem.detail : "The server does not answer. Try again in a moment.";
      this.#set({ busy: false, story });
    }
  }

  async leave() {
    await this.api.del(PATH);
    this.#set({ phase: "out", name: "", role: "", events: null, story: "" });
  }

  #enter({ name, role, events, expires_at }) {
    this.#set({ phase: "in", name, role, events, expires_at, story: "", busy: false });
  }

  #set(patch) {
    this.state = { ...this.state, ...patch };
    this.changed();
  }
}
