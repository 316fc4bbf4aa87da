// What the page asks of payments over HTTP. One question, one answer; who asks decides whether to ask again.

import { isPayment } from "./payments.js";

/** Nobody waits longer for an answer. */
const ANSWER_WITHIN_MS = 15_000;

/**
 * @typedef {{status: number, body: any, code: string, retry_ms: number}} Answer status 0: none came. `code` and
 *   `retry_ms` are of a refusal
 */

export class Desk {
  /** @param {string} slug @param {() => string} token @param {(answer: Response, sent_ms: number) => void} heard of each answer */
  constructor(slug, token, heard = () => {}) {
    this.event = `/v1/events/${slug}`;
    this.token = token;
    this.heard = heard;
  }

  /** Begins to pay for a hold, or finds what was begun. @param {import("./payments.js").Payment} payment */
  begin({ hold, key, email }) {
    const headers = { "Content-Type": "application/json", "Idempotency-Key": key };
    return this.#ask(hold, { method: "POST", headers, body: JSON.stringify(email ? { email } : {}) });
  }

  /** How a hold's payment stands. @param {string} hold */
  look(hold) {
    return this.#ask(hold, { cache: "no-store" });
  }

  /** @returns {Promise<Answer>} */
  async #ask(hold, { headers = {}, ...options }) {
    const sent_ms = Date.now();
    try {
      const answer = await fetch(`${this.event}/holds/${encodeURIComponent(hold)}/payment`, {
        ...options, headers: { ...headers, Authorization: `Bearer ${this.token()}` }, signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      this.heard(answer, sent_ms);
      const body = await answer.json().catch(() => null);
      if (answer.ok && !isPayment(body)) return NONE; // half of an answer, or somebody else's
      const retry_ms = 1000 * (Number(answer.headers.get("Retry-After")) || 0);
      return { status: answer.status, body, code: body?.code ?? "", retry_ms };
    } catch {
      return NONE;
    }
  }
}

const NONE = { status: 0, body: null, code: "", retry_ms: 0 };

/** Whether the same is to be asked again: nobody was there, or had the time. @param {Answer} answer */
export const isAway = ({ status, code }) => status === 0 || status >= 500 || status === 429 || code === "request_under_way";
