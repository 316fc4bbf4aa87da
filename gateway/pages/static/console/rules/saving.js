// A change of rules: asked once with before and after, sent as what was changed and nothing else, from what was seen;
// where somebody else was quicker, who that was and how it is now, with the way to do it all the same.

import { counted } from "../../core/money.js";
import { html } from "../../html.js";
import { whyOf } from "../acting.js";
import { ofEvent } from "../api.js";
import { changeInWords } from "../changes.js";
import { errorsOf } from "../create/body.js";
import { allTheSame } from "../quicker.js";
import { ago } from "../words.js";
import { groupsOf, valueOf } from "./terms.js";
import { saidOf, standing } from "./written.js";

const AUDIT_MAX = 20;
const UNDONE_WITHIN_MS = 60_000;
const ROOM_KINDS = ["room", "message", "look", "admission"];

/** @typedef {{rule: any, from: any, to: any}} Change */

const MOMENTS = ["lobby_opens_at", "opens_at", "starts_at"];
/** The value as the API takes it. */
const onTheWire = (name, value) => (MOMENTS.includes(name) && value !== null ? new Date(value).toISOString() : value);
const wired = (terms) => Object.fromEntries(Object.entries(terms).map(([name, value]) => [name, onTheWire(name, value)]));

/** What is changed of the terms that were seen: limits of categories are one term. @param {Change[]} changes @param {Record<string, any>} seen */
export function termsOf(changes, seen) {
  const limited = changes.filter(({ rule }) => rule.category !== undefined);
  const terms = Object.fromEntries(changes.filter(({ rule }) => rule.category === undefined).map(({ rule, to }) => [rule.name, to]));
  if (!limited.length) return terms;
  const limits = { ...seen.limits, ...Object.fromEntries(limited.map(({ rule, to }) => [rule.category, to])) };
  return { ...terms, limits: Object.fromEntries(Object.entries(limits).filter(([, most]) => most !== null)) };
}

const sets = (kind) => ({ change, terms = {} }, names) => change === kind && names.some((name) => name in terms);
const KINDS = {
  policy: {
    path: "/policy", changed: "event_changed", what: ["rule", "rules"], names: ({ policy }) => Object.keys(policy), by: sets("policy"),
    body: (terms, { policy }) => ({ ...wired(terms), seen: wired(policy) }),
  },
  room: {
    path: "/room", changed: "room_changed", what: ["term of its waiting room", "terms of its waiting room"], names: (now) => groupsOf("room", now).flatMap(([, rules]) => rules.map(({ name }) => name)),
    by: (what, names) => (names.length ? sets("room")(what, names) : ROOM_KINDS.includes(what.change)), // an edition is the message's, too
    body: (terms, { room }) => ({ ...terms, edition: room.edition }),
  },
};

/** One line for each: what it was, what it becomes, what comes of it. */
const listOf = (changes, now) => html`<ul class="rule-changes">${changes.map(({ rule, from, to }) => html`<li key=${rule.name}>
  <b>${rule.label}</b>
  <span>${saidOf(rule, from)} <span aria-hidden="true">→</span><span class="unseen">becomes</span> <b>${saidOf(rule, to)}</b></span>
  <small>${rule.then(to, from, now)}</small></li>`)}</ul>`;

export class Saving {
  /** `look` reads how it stands; `kind`: what is changed. @param {{event: string, kind: "policy" | "room", api: any, ask: any, tell: any, acting: import("../acting.js").Acting, look: () => Promise<any>}} of */
  constructor(of) {
    Object.assign(this, of, KINDS[of.kind]);
  }

  /** `{}` where it was left or could not be, else `{done}`, or the `errors` of fields. @param {Change[]} changes @param {any} now as it was seen */
  async save(changes, now) {
    const said = await this.ask({
      title: `Change ${counted(changes.length, ...this.what)} of ${this.event}?`, says: standing(now), act: changes.length === 1 ? "Change it" : "Change them",
      more: listOf(changes, now), reason: true,
    });
    return said ? this.#send(changes, now, whyOf(said)) : {};
  }

  async #send(changes, now, why) {
    const body = { ...this.body(termsOf(changes, now[this.kind]), now), why };
    const send = () => this.api.patch(ofEvent(this.event, this.path), body).then(() => ({ done: true }), (problem) => this.#refused(problem));
    const [{ rule, to }, ...more] = changes;
    const words = more.length ? `${counted(changes.length, ...this.what)} are changed.` : `${rule.label}: ${saidOf(rule, to)}.`;
    const told = await this.acting.do(send, ({ done }) => (done ? words : ""), { undo: this.#undo(changes, why) });
    if (told?.changed) return this.#asked(changes, now, why);
    await this.look();
    return told ?? {};
  }

  /** What is about fields goes beside them. */
  #refused(problem) {
    if (problem.code === this.changed) return { changed: true };
    const errors = errorsOf(problem);
    if (!Object.keys(errors).length) throw problem;
    return { errors };
  }

  /** Not of a date that was none before, which can be another and not none again, nor of a time that what it begins would begin by at once. */
  #undo(changes, why) {
    const soon = Date.now() + UNDONE_WITHIN_MS;
    if (changes.some(({ rule, from }) => (rule.kind === "moment" ? from === null : rule.kind === "schedule" && from !== null && from < soon))) return undefined;
    const back = changes.map(({ rule, from, to }) => ({ rule, from: to, to: from }));
    return { words: "As it was before", act: async () => { const now = await this.look(); if (now) await this.#send(back, now, why); } };
  }

  async #asked(changes, seen, why) {
    const [now, { audit }] = await Promise.all([this.look(), this.api.get(ofEvent(this.event, `/audit?limit=${AUDIT_MAX}`)).catch(() => ({ audit: [] }))]);
    if (!now) return {};
    const others = this.names(now).filter((name) => JSON.stringify(seen[this.kind][name]) !== JSON.stringify(now[this.kind][name]));
    const row = audit.find(({ what }) => this.by(what, others));
    const by = row ? `${row.who} changed it ${ago(row.at)}: ${changeInWords(row.what)}.` : "It was changed by somebody else.";
    const left = changes.map((one) => ({ ...one, from: valueOf(this.kind, one.rule, now) })).filter(({ from, to }) => from !== to);
    if (!left.length) {
      this.tell(`${by} It is as you want it, so nothing more was done.`);
      return { done: true };
    }
    const says = [by, "What you wanted was not done. Done now, it would change:"];
    const again = await allTheSame(this.ask, says, { more: listOf(left, now) });
    return again ? this.#send(left, now, why) : {};
  }
}
