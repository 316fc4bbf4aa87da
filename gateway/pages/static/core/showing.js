// Whether an event takes place, when, and where its orders went if it does not.

import { EVENT_STATES } from "./words.js";

const DATE = { weekday: "long", day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit" };

/** A moment as people read it, by the clock on this computer's screen; nothing for none. @param {number | null | undefined} moment_ms */
export function dateOf(moment_ms) {
  const moment = new Date(moment_ms ?? NaN);
  return Number.isNaN(moment.getTime()) ? "" : moment.toLocaleString("en-GB", DATE);
}

/**
 * @typedef {{slug: string, name: string, venue: string, starts_at: number | null}} Elsewhere
 * @typedef {{at: number, to: Elsewhere | null}} CalledOff
 */

/** How an event stands that does not sell, as [title, text]. @param {any} event */
export function standingOf(event) {
  const off = event.called_off;
  if (!off) return EVENT_STATES[event.state] ?? ["The sale is open", ""];
  return off.to ? moved(event, off.to) : canceled(event);
}

const canceled = ({ payment }) => [
  "This event is canceled",
  payment === "required"
    ? "It does not take place. All that was paid goes back to where it came from, by itself; your bank may take some days. Tickets for it are no longer valid."
    : "It does not take place. Tickets for it are no longer valid.",
];

/** @param {any} event @param {Elsewhere} to */
function moved(event, to) {
  const date = dateOf(to.starts_at);
  const place = to.venue && to.venue !== event.venue ? ` at ${to.venue}` : "";
  const where = date ? `The new date is ${date}${place}.` : `It is now “${to.name}”${place}.`;
  const money = event.payment === "required" ? " What cannot be had there is refunded, and we write to you." : "";
  return ["This event was moved", `${where} What was bought goes along, with the same seats and at the price that was paid.${money}`];
}

/** What a list of events says of one. @param {any} event */
export const inOneWord = ({ called_off: off }) => (off ? (off.to ? "moved" : "canceled") : "");
