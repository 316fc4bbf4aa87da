// What a buyer is about to ask for: named seats and standing places, or the best available. Pure.

import { emptyWish, triesOf } from "./wishes.js";

/**
 * @typedef {import("./plan.js").Venue} Venue
 * @typedef {object} Choice
 * @property {"map" | "best"} mode
 * @property {number[]} picked seat numbers, in the order they were chosen
 * @property {Record<number, number>} places wanted places by area number
 * @property {import("./wishes.js").Wish} best
 * @property {boolean} wait for what comes back, if it cannot be had now
 */

/** @returns {Choice} */
export const emptyChoice = () => ({ mode: "map", picked: [], places: {}, best: emptyWish(), wait: false });

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** @param {Choice} choice */
export function quantityOf(choice) {
  if (choice.mode === "best") return choice.best.quantity;
  return choice.picked.length + sum(Object.values(choice.places));
}

/** The body of a request, or null while nothing is chosen. @param {Choice} choice @param {Venue} venue */
export function wantOf(choice, venue) {
  if (quantityOf(choice) === 0) return null;
  return { ...chosenOf(choice, venue), ...(choice.wait && { waitlist: true }) };
}

function chosenOf(choice, venue) {
  if (choice.mode === "best") {
    const [first, ...fallbacks] = triesOf(choice.best, venue);
    return fallbacks.length ? { ...first, fallbacks } : first;
  }
  const want = {};
  if (choice.picked.length) want.seats = choice.picked.map((seat) => venue.guid[seat]);
  const places = Object.entries(choice.places).filter(([, quantity]) => quantity > 0);
  if (places.length) {
    want.areas = Object.fromEntries(places.map(([area, quantity]) => [venue.areas[area].guid, quantity]));
  }
  return want;
}

/** What seats and places cost together. @param {Venue} venue */
export function costOf(venue, seats, places) {
  const category = (index) => venue.categories[index].price_minor;
  const seated = sum(seats.map((seat) => category(venue.category[seat])));
  return seated + sum(Object.entries(places).map(([area, n]) => n * category(venue.areas[area].category)));
}
