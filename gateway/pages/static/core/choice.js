// What a buyer is about to ask for: named seats and standing places, or the best available. Pure.

import { FREE } from "./plan.js";

/**
 * @typedef {import("./plan.js").Venue} Venue
 * @typedef {{quantity: number, section: string, category: string}} Best
 * @typedef {object} Choice
 * @property {"map" | "best"} mode
 * @property {number[]} picked seat numbers, in the order they were chosen
 * @property {Record<number, number>} places wanted places by area number
 * @property {Best} best
 */

/** @returns {Choice} */
export const emptyChoice = () => ({
  mode: "map",
  picked: [],
  places: {},
  best: { quantity: 2, section: "", category: "" },
});

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** @param {Choice} choice */
export function quantityOf(choice) {
  if (choice.mode === "best") return choice.best.quantity;
  return choice.picked.length + sum(Object.values(choice.places));
}

/** The body of a request, or null while nothing is chosen. @param {Choice} choice @param {Venue} venue */
export function wantOf(choice, venue) {
  if (quantityOf(choice) === 0) return null;
  if (choice.mode === "best") {
    const { quantity, section, category } = choice.best;
    return { best: { quantity, ...(section && { section }), ...(category && { category }) } };
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

/**
 * How many free seats answer "best available" with these wishes, and what the cheapest of them costs.
 * @param {Venue} venue @param {Uint8Array} states @param {Best} best
 */
export function bestOutlook(venue, states, best) {
  const section = best.section ? venue.sections.indexOf(best.section) : -1;
  const category = best.category ? venue.categories.findIndex(({ name }) => name === best.category) : -1;
  let free = 0;
  let low = Infinity;
  let high = 0;
  for (let seat = 0; seat < venue.count; seat += 1) {
    if (states[seat] !== FREE) continue;
    if (section >= 0 && venue.section[seat] !== section) continue;
    if (category >= 0 && venue.category[seat] !== category) continue;
    const { price_minor } = venue.categories[venue.category[seat]];
    free += 1;
    low = Math.min(low, price_minor);
    high = Math.max(high, price_minor);
  }
  return { free, low: free ? low : 0, high };
}

/** Names of what was asked for, for sentences. @param {any} want @param {Venue} venue @param {(seat: number) => string} label */
export function namesOf(want, venue, label) {
  const seats = (want.seats ?? []).map((guid) => label(venue.seatByGuid.get(guid)));
  const places = Object.entries(want.areas ?? {}).map(([guid, quantity]) => {
    const area = venue.areas[venue.areaByGuid.get(guid)];
    return `${quantity} × ${area.name}`;
  });
  const best = want.best ? [`the best ${want.best.quantity === 1 ? "seat" : `${want.best.quantity} seats`}`] : [];
  return [...seats, ...best, ...places];
}
