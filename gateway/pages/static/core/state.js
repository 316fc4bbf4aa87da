// What the page knows, in one object; `Sale` alone changes it.

import { emptyChoice } from "./choice.js";

/**
 * @typedef {object} State
 * @property {"loading" | "ready" | "missing" | "no_token"} phase
 * @property {"connecting" | "live" | "reconnecting" | "refused"} link
 * @property {number} close_code
 * @property {any} event from the welcome
 * @property {string} buyer
 * @property {import("./plan.js").Venue | null} venue
 * @property {Uint8Array | null} seats state of each seat
 * @property {number[]} places free places of each area
 * @property {number} changes rises with every change of seats, places, choice or orders
 * @property {import("./choice.js").Choice} choice
 * @property {import("./asking.js").Asked[]} asked undecided requests
 * @property {{of: number, entries: import("./waiting.js").Entry[]}} waiting this buyer's requests on the waiting list
 * @property {string} moving the hold that other seats are looked for instead of, or empty
 * @property {number | null} held_until milliseconds by the server: when the first of all holds runs out
 * @property {import("./words.js").Notice | null} notice
 * @property {{percent_sold: number, just_booked: any[], as_of_ms: number} | null} figures how much is sold, where that is told
 * @property {string} spoken the last milestone, for screen readers
 * @property {string} alerted what cannot wait until they have finished reading
 */

/** @returns {State} before anything is known */
export const initialState = () => ({
  phase: "loading", link: "connecting", close_code: 0, event: null, buyer: "", venue: null,
  seats: null, places: [], changes: 0, choice: emptyChoice(), asked: [], notice: null, spoken: "",
  waiting: { of: 0, entries: [] }, moving: "", held_until: null, figures: null, alerted: "",
});
