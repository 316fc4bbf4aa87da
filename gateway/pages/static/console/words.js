// Numbers, moments and states as the console writes them: in English whatever the browser's language, so that a point
// and a comma mean the same everywhere on a page; in the browser's time.

import { price } from "../core/money.js";

const english = new Intl.NumberFormat("en");
const NONE = "–";

/** What is not known is a dash, never 0. @param {number | null | undefined} number */
export const count = (number) => (number === null || number === undefined ? NONE : english.format(number));

/** @param {number | null | undefined} minor @param {string} currency */
export const money = (minor, currency) => (minor === null || minor === undefined ? NONE : price(minor, currency, "en"));

/** How many requests wait for their answer: the event's owner tells it, so without one nobody knows. @param {{state: string, owner: any}} launch @param {number | null} number @returns {[string, string]} the number and what it says */
export function waitingForAnswers({ state, owner }, number) {
  if (number !== null) return [count(number), "requests that wait for their answer"];
  if (state === "draft" || state === "closed") return [NONE, "nothing can be asked for"];
  return ["unknown", owner ? "its owner has not said lately" : "nobody decides, so nobody counts what waits"];
}

/** With one digit behind the point where it is small. @param {number | null | undefined} number */
export const perSecond = (number) => (number === null || number === undefined ? NONE : english.format(number < 10 ? Math.round(number * 10) / 10 : Math.round(number)));

/** @param {number | null | undefined} ms */
export function latency(ms) {
  if (ms === null || ms === undefined) return NONE;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

/** @param {number | null | undefined} percent */
export const percent = (percent) => (percent === null || percent === undefined ? NONE : `${percent.toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} %`);

/** A rate in basis points: 250 are 2.5 %. @param {number} basis_points */
export const percentOf = (basis_points) => `${english.format(basis_points / 100)} %`;

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minutes = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** A moment as milliseconds or as the API writes times. @param {number | string | null | undefined} at */
export function moment(at) {
  if (at === null || at === undefined) return NONE;
  const then = new Date(at);
  const today = day.format(then) === day.format(new Date());
  return today ? clock.format(then) : `${day.format(then)}, ${minutes.format(then)}`;
}

/** @param {number} ms */
export const hourMinute = (ms) => minutes.format(new Date(ms));

/** With seconds. @param {number} ms */
export const clockOf = (ms) => clock.format(new Date(ms));

/** @param {number} seconds */
export function spell(seconds) {
  if (seconds < 120) return `${Math.max(0, Math.floor(seconds))} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

/** @param {number | string} at */
export function ago(at) {
  const ms = Date.now() - new Date(at).getTime();
  return ms < 1500 ? "just now" : `${spell(ms / 1000)} ago`;
}

/** @param {number | null} bytes */
export function memory(bytes) {
  if (bytes === null || bytes === undefined) return NONE;
  const mega = bytes / 2 ** 20;
  return mega < 1024 ? `${Math.round(mega)} MB` : `${(mega / 1024).toFixed(1)} GB`;
}

/** The state of a sale in the words of the page, and what it means. */
export const STATES = {
  draft: ["draft", "Buyers see it; nothing can be asked yet."],
  lobby: ["lobby", "Buyers may join the line; it is not on sale yet."],
  open: ["on sale", "Requests are decided as they arrive."],
  paused: ["paused", "Requests are accepted and keep their order; none is decided. Running holds get the lost time back."],
  closed: ["closed", "Nothing is sold any more; what is on hold can still be paid."],
};

/** Why a room calls fewer than its pace says. */
export const SLOWED = {
  lag: "Fewer are let in than the pace says: requests wait too long for their decision.",
  payments_failing: "Fewer are let in than the pace says: payments are failing.",
  full_inside: "As many are inside as may be; somebody is let in when somebody leaves.",
  paused: "Nobody is let in: admission or the sale is paused.",
  stopped: "Nobody is let in any more: admission was stopped.",
};
