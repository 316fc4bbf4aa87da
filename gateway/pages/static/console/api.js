// The operators' API as the console's pages call it: JSON in and out, what is refused as a Problem.

import { pause } from "../core/fetching.js";

const READ_MS_MAX = 20_000;
const CHANGE_MS_MAX = 60_000;
/** Of a call that has a key. */
const TRIES_MAX = 3;
const PAUSE_MS = 1_000;

/** What a call was refused with: `code` for programs, `detail` for people. `status` 0: nothing answered. */
export class Problem extends Error {
  /** @param {number} status @param {string} code @param {string} detail @param {Record<string, unknown>} [told] */
  constructor(status, code, detail, told = {}) {
    super(detail);
    Object.assign(this, { status, code, detail, told });
  }
}

const UNREAD = "The server does not answer. Nothing was changed; this page asks again.";
const UNKNOWN = "The server did not answer, so it is not known whether this was done. Look at how it stands, then try again.";
const STRANGE = "The server answered with something this page cannot read. Reload the page; if it stays so, look at the gateway's log.";

export class Api {
  #waiting = [];

  constructor() {
    /** Told of a call that was refused for want of a session. */
    this.ended = () => {};
  }

  /** Somebody is logged in: what was to be read meanwhile is asked for now. */
  begun() {
    this.#waiting.splice(0).forEach((go) => go());
  }

  /**
   * Where the session has ended it waits until somebody has logged in again; not if it `asks` for the session itself.
   * @param {string} path @param {{signal?: AbortSignal, asks?: boolean}} [options]
   */
  get(path, options) {
    return this.#call("GET", path, undefined, options);
  }

  /**
   * `body`: sent as JSON, or as it is if it is a Blob or FormData. `key`: a name for this call, under which the
   * server does it once however often it is sent; so it is sent again while nothing answers.
   * @param {string} path @param {unknown} [body] @param {{signal?: AbortSignal, key?: string}} [options]
   */
  post(path, body, options) {
    return this.#call("POST", path, body, options);
  }

  put(path, body, options) {
    return this.#call("PUT", path, body, options);
  }

  patch(path, body, options) {
    return this.#call("PATCH", path, body, options);
  }

  del(path, options) {
    return this.#call("DELETE", path, undefined, options);
  }

  async #call(method, path, body, { signal, key, asks } = {}) {
    const json = body !== undefined && !(body instanceof Blob || body instanceof FormData);
    const headers = { ...(json && { "Content-Type": "application/json" }), ...(key && { "Idempotency-Key": key }) };
    const ask = () => {
      const within = AbortSignal.timeout(method === "GET" ? READ_MS_MAX : CHANGE_MS_MAX);
      const either = signal ? AbortSignal.any([signal, within]) : within;
      return fetch(path, { method, cache: "no-store", headers, body: json ? JSON.stringify(body) : body, signal: either }).catch(() => null);
    };
    let answer = await ask();
    for (let again = 1; !answer && key && again < TRIES_MAX && !signal?.aborted; again += 1) {
      await pause(PAUSE_MS * again);
      answer = await ask();
    }
    if (!answer) throw new Problem(0, "no_answer", method === "GET" ? UNREAD : UNKNOWN);
    const told = answer.status === 204 ? {} : await answer.json().catch(() => null);
    if (answer.ok && told !== null) return told;
    if (answer.status === 401) this.ended();
    if (answer.status === 401 && method === "GET" && !asks) {
      await this.#someoneIn(signal);
      return this.#call(method, path, body, { signal });
    }
    throw new Problem(answer.status, told?.code ?? "unreadable", told?.detail ?? STRANGE, told ?? {});
  }

  #someoneIn(signal) {
    return new Promise((go, stopped) => {
      this.#waiting.push(go);
      signal?.addEventListener("abort", () => stopped(new Problem(0, "no_answer", UNREAD)));
    });
  }
}

/** Path segments and search parameters, made safe. `undefined`, null and "" are left out of the search. */
export function to(path, search = {}) {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

/** A name for one call, for `post`. */
export const newKey = () => `console-${crypto.getRandomValues(new Uint32Array(4)).join("-")}`;

/** Where an event's calls go. @param {string} event @param {string} [below] */
export const ofEvent = (event, below = "") => `/v1/operator/events/${encodeURIComponent(event)}${below}`;
