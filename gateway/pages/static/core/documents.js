// What the page reads over HTTP. Patient: while there is no answer it asks again.

import { patientFetch } from "./fetching.js";

export class Documents {
  /** @param {string} slug @param {() => void} away said each time there is no answer */
  constructor(slug, away) {
    this.event = `/v1/events/${slug}`;
    this.away = away;
    this.plan_etag = "";
  }

  /** A token for an anonymous buyer of a demo. */
  async demoToken() {
    return (await this.#read("/v1/demo/token", { method: "POST" })).token;
  }

  /** The seating plan; null where there is no such event. */
  plan() {
    return this.#read(`${this.event}/plan`, {}, (answer) => {
      this.plan_etag = answer.headers.get("ETag") ?? "";
    });
  }

  /** Fees and tax, settled when the sale begins; null where they are not told. */
  prices() {
    return this.#read(`${this.event}/prices`, { cache: "no-store" });
  }

  /** The seat map now, by whose answer the clock learns the server's time. @param {import("./clock.js").ServerClock} clock */
  seats(clock) {
    const sent_ms = Date.now();
    return this.#read(`${this.event}/seats`, { cache: "no-store" }, (answer) => clock.learnFromDate(answer, sent_ms));
  }

  /** How much is sold; null where that cannot be read just now. */
  async figures() {
    const answer = await fetch(`${this.event}/figures`, { cache: "no-store" }).catch(() => null);
    return answer?.ok ? answer.json() : null;
  }

  /** The buyer's place in the waiting room: null where there is none, undefined where that cannot be read just now. @param {string} token */
  async place(token) {
    const answer = await fetch(`${this.event}/room/place`, bearing(token)).catch(() => null);
    if (answer?.status === 404) return null;
    return answer?.ok ? answer.json() : undefined;
  }

  /** The buyer's token by that of a place, in a demo; empty where it leads nowhere any more. @param {string} token */
  async resume(token) {
    const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }) };
    return (await this.#read(`${this.event}/room/resume`, options))?.token ?? "";
  }

  /** What a proof of work solves. @param {string} token */
  challenge(token) {
    return this.#read(`${this.event}/room/challenge`, bearing(token));
  }

  /** A token with which the buyer passes into a shop elsewhere, or why there is none. @param {string} token @param {string} shop its origin */
  async admission(token, shop) {
    const answer = await patientFetch(`${this.event}/room/admission?shop=${encodeURIComponent(shop)}`, bearing(token), () => {});
    return answer.json().catch(() => ({ detail: answer.statusText }));
  }

  async #read(path, options, heard = (_answer) => {}) {
    const answer = await patientFetch(path, options, this.away);
    if (!answer.ok) return null;
    heard(answer);
    return answer.json();
  }
}

const bearing = (token) => ({ headers: { Authorization: `Bearer ${token}` }, cache: "no-store" });
