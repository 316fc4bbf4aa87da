// What seats and places come to by the plan's prices, as people write it. Pure.

import { counted, price } from "../../core/money.js";

/** @param {import("../../core/plan.js").Venue} venue @param {number[]} seats @param {[number, number][]} places area, how many */
export function sumOf(venue, seats, places) {
  const each = (category) => venue.categories[category].total_minor;
  const minor = seats.reduce((sum, seat) => sum + each(venue.category[seat]), 0) + places.reduce((sum, [area, n]) => sum + n * each(venue.areas[area].category), 0);
  return price(minor, venue.currency);
}

/** @param {number} count */
export const placesWords = (count) => counted(count, "place");
