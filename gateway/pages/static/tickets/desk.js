// What the tickets page knows and does. Who the buyer is comes from the same storage as the event's page; every
// call may be repeated, so one that was not answered is asked again until it is.

import { Documents } from "../core/documents.js";
import { patientFetch } from "../core/fetching.js";
import { Memory, subjectOf, tokenFromAddress } from "../core/memory.js";

/**
 * @typedef {object} Ticket
 * @property {string} ticket its name within the order
 * @property {string | null} section
 * @property {string | null} row
 * @property {string | null} seat
 * @property {boolean} accessible
 * @property {string | null} area
 * @property {number | null} place
 * @property {boolean} yours else somebody it was given to has it
 * @property {{size: number, path: string} | null} qr
 * @property {string | null} offer the code that claims it
 * @property {number | null} checked_at
 * @property {number | null} paid_minor
 *
 * @typedef {object} State
 * @property {"loading" | "no_token" | "signed_out" | "missing" | "off" | "list" | "offer" | "order"} phase
 * @property {any[]} orders
 * @property {any} order with its tickets
 * @property {string} code of a ticket that somebody gives
 * @property {boolean} away the server does not answer just now
 * @property {string} busy what is being done: a ticket's name, or "order" or "claim"
 * @property {{tone: "good" | "warn" | "info", title: string, text: string} | null} notice
 */

export class Desk {
  /** @param {{event: string, order: string, demo: boolean}} boot @param {Memory} memory */
  constructor({ event, order, demo }, memory) {
    this.event = event;
    this.demo = demo;
    this.memory = memory;
    this.token = "";
    this.listener = () => {};
    /** @type {State} */
    this.state = { phase: "loading", orders: [], order: null, code: "", away: false, busy: "", notice: null };
    this.wanted = order;
    this.documents = new Documents(event, () => this.set({ away: true }));
  }

  /** @param {Partial<State>} patch */
  set(patch) {
    Object.assign(this.state, patch);
    this.listener();
  }

  async start() {
    const code = new URLSearchParams(location.hash.slice(1)).get("code") ?? "";
    const given = tokenFromAddress();
    const found = this.memory.load();
    if (given && subjectOf(given) !== subjectOf(found.token)) this.memory.clear();
    this.token = given || found.token;
    if (!this.token && this.demo && this.wanted === "claim") this.token = await this.documents.demoToken();
    if (!this.token) return this.set({ phase: "no_token" });
    this.memory.save({ ...this.memory.load(), token: this.token });
    if (this.wanted === "claim") return this.set({ phase: code ? "offer" : "missing", code, away: false });
    return this.wanted ? this.load() : this.#list();
  }

  async #list() {
    const answer = await this.#ask("GET", "/orders");
    if (answer.ok) this.set({ phase: "list", orders: answer.body.orders });
  }

  /** Reads the order anew. */
  async load() {
    const answer = await this.#ask("GET", `/orders/${this.wanted}/tickets`);
    if (!answer.ok) return;
    this.#remember(answer.body);
    this.set({ phase: "order", order: answer.body });
  }

  /** What the event's page shows as bought is what the order has now. */
  #remember({ order, state, tickets }) {
    const remembered = this.memory.load();
    const hold = remembered.holds.find(({ id }) => id === order);
    if (!hold) return;
    hold.seats = tickets.filter(({ seat }) => seat !== null).map(({ ticket }) => Number(ticket));
    hold.places = {};
    for (const { ticket, place } of tickets) {
      if (place === null) continue;
      const area = ticket.split("-")[0];
      hold.places[area] = (hold.places[area] ?? 0) + 1;
    }
    const holds = state === "paid" ? remembered.holds : remembered.holds.filter((one) => one !== hold);
    this.memory.save({ ...remembered, holds });
  }

  // --- what the buyer does ---

  /** Some tickets back to the organiser, or with none named all there are. @param {Ticket[]} tickets */
  async giveBack(tickets) {
    const whole = tickets.length === this.state.order.tickets.length;
    this.set({ busy: whole ? "order" : tickets[0].ticket, notice: null });
    const body = whole ? undefined : { tickets: tickets.map(({ ticket }) => ticket) };
    const answer = await this.#ask("POST", `/orders/${this.wanted}/return`, body);
    if (answer.ok) await this.load();
    const done = { tone: "good", title: "Returned.", text: this.#comesBack() };
    this.set({ busy: "", notice: answer.ok ? done : refused(answer) });
  }

  #comesBack() {
    const due = this.state.order.payment?.refund_due_minor ?? 0;
    return due > 0 ? "Your money is on its way back. It can take some days to arrive." : "It can be had by others again.";
  }

  /** A code by which somebody else can have the ticket. @param {Ticket} ticket */
  async offer(ticket) {
    await this.#change(ticket, "transfer");
  }

  /** The code means nothing then. @param {Ticket} ticket */
  async withdraw(ticket) {
    await this.#change(ticket, "withdraw");
  }

  async #change({ ticket }, what) {
    this.set({ busy: ticket, notice: null });
    const answer = await this.#ask("POST", `/orders/${this.wanted}/tickets/${ticket}/${what}`);
    await this.load();
    this.set({ busy: "", notice: answer.ok ? null : refused(answer) });
  }

  /** Takes what somebody gives. */
  async claim() {
    this.set({ busy: "claim", notice: null });
    const answer = await this.#ask("POST", "/v1/tickets/claim", { code: this.state.code });
    this.set({ busy: "" });
    if (!answer.ok) return this.set({ notice: refused(answer) });
    const { event, order } = answer.body;
    if (event !== this.event) return location.replace(`/e/${event}/tickets/${order}`);
    history.replaceState(null, "", `/e/${event}/tickets/${order}`);
    this.wanted = order;
    const notice = { tone: "good", title: "It is yours.", text: "Show the code at the door." };
    await this.load();
    this.set({ notice });
  }

  /** Where somebody takes what is offered under a code. @param {string} code */
  linkOf(code) {
    return `${location.origin}/e/${this.event}/tickets/claim#code=${code}`;
  }

  // --- asking ---

  /** @returns {Promise<{ok: boolean, body: any}>} what stops the page is shown by it */
  async #ask(method, path, body) {
    const there = path.startsWith("/v1/") ? path : `/v1/events/${this.event}${path}`;
    const headers = { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json" };
    const options = { method, headers, cache: "no-store", ...(body && { body: JSON.stringify(body) }) };
    const answer = await patientFetch(there, options, () => this.set({ away: true }));
    this.set({ away: false });
    const told = await answer.json();
    if (answer.status === 401) this.set({ phase: "signed_out" });
    if (told.code === "tickets_off") this.set({ phase: "off" });
    if (method === "GET" && answer.status === 404 && told.code !== "tickets_off") this.set({ phase: "missing" });
    return { ok: answer.ok, body: told };
  }
}

const refused = ({ body }) => ({ tone: "warn", title: "That was not done.", text: body.detail ?? "" });
