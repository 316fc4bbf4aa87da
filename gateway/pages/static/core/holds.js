// One hold as the page knows it: made from what the server says, measured, and its end in words. Pure.

import { gotInWords } from "./tellings.js";
import * as words from "./holdwords.js";

/**
 * @typedef {object} Hold
 * @property {string} id
 * @property {number[]} seats
 * @property {Record<number, number>} places by area number
 * @property {number} expires_at milliseconds by the server
 * @property {number} ttl_ms how long it was given for
 * @property {"active" | "paid" | "released" | "expired" | "refunded" | "not_found"} state
 * @property {"" | "confirm" | "release" | "extend" | "some"} wish sent, not yet answered
 * @property {any} [frame] that was sent for the wish
 * @property {number} [again_ms] when it is sent again, by this computer's clock
 * @property {boolean} [silent] nothing came since it was sent
 * @property {boolean} [unsure] whether it was done is not known
 * @property {boolean} [asked_again] for more time, from another end
 * @property {string} [story] how these answer what was asked for
 * @property {number} extensions_left
 * @property {{id: string, want: any} | null} offered the request on the waiting list that it was offered to
 */

/** Places by area number. @param {import("./plan.js").Venue} venue @param {Record<string, number>} areas by guid */
export const placesOf = (venue, areas) =>
  Object.fromEntries(Object.entries(areas).map(([guid, n]) => [venue.areaByGuid.get(guid), n]));

/** @param {Pick<Hold, "seats" | "places">} hold */
export const sizeOf = ({ seats, places }) => seats.length + Object.values(places).reduce((total, n) => total + n, 0);

/**
 * A hold that runs from now on.
 * @param {import("./sale.js").State} state @param {any} result of a decision, an offer or a `hold` frame
 * @param {{ttl_ms: number, want?: any, extensions_left?: number}} known
 * @returns {Hold}
 */
export function holdOf({ venue, event }, { hold, seats = [], areas = {}, expires_at, ...result }, { ttl_ms, want, extensions_left }) {
  const numbers = seats.map((guid) => venue.seatByGuid.get(guid));
  return {
    id: hold,
    seats: numbers,
    places: placesOf(venue, areas),
    expires_at,
    ttl_ms,
    state: "active",
    wish: "",
    story: want ? gotInWords(want, result, venue, numbers) : "",
    extensions_left: extensions_left ?? event.extensions_max ?? 0,
    offered: null,
  };
}

/** An order that this page did not see being held. @param {string} id @returns {Hold} */
export const orderOf = (id) => ({
  id, seats: [], places: {}, expires_at: 0, ttl_ms: 1, state: "paid", wish: "", story: "", extensions_left: 0, offered: null,
});

/** What is said when a hold ends. @param {Hold} hold @param {Hold["state"]} state @param {string[]} names */
export function endInWords(hold, state, names) {
  if (state === "paid") return words.bought(names);
  if (state === "released") return hold.offered ? words.declined(names) : words.givenBack(names);
  if (state === "not_found") return words.notFound(names);
  if (state !== "expired") return null;
  return hold.offered ? { ...words.offerRanOut(names), wait: hold.offered.want } : words.expired(names);
}
