// How many seats and places each category has, and how they stand; what would come of moving some. Pure.

import { BLOCKED, FREE, HELD, SOLD, stateOf } from "../../core/plan.js";

const NAMES = { [FREE]: "free", [HELD]: "held", [SOLD]: "sold", [BLOCKED]: "blocked" };
const nothing = () => ({ all: 0, free: 0, held: 0, sold: 0, blocked: 0 });

/** The plan with the categories of the last move, which buyers may not be shown yet. @param {import("../../core/plan.js").Venue} venue @param {any} offered */
export function asOffered(venue, offered) {
  const areas = venue.areas.map((area, index) => ({ ...area, category: offered.area_categories[index] }));
  const categories = venue.categories.map((category, index) => ({ ...category, ...offered.categories[index] }));
  return { ...venue, category: Uint8Array.from(offered.seat_categories), areas, categories };
}

/** By number of the category, seats and places together. @param {import("../../core/plan.js").Venue} venue as offered @param {string} states @param {any[]} areas as they stand */
export function standingOf(venue, states, areas) {
  const found = venue.categories.map(nothing);
  for (let seat = 0; seat < venue.count; seat += 1) {
    const one = found[venue.category[seat]];
    one.all += 1;
    one[NAMES[stateOf(states[seat])]] += 1;
  }
  venue.areas.forEach(({ category }, index) => {
    const { capacity, free, held, sold, blocked } = areas[index];
    for (const [name, n] of Object.entries({ all: capacity, free, held, sold, blocked })) found[category][name] += n;
  });
  return found;
}

/** @param {ReturnType<typeof standingOf>} found */
export const inAll = (found) => found.reduce((sum, one) => Object.fromEntries(Object.keys(sum).map((name) => [name, sum[name] + one[name]])), nothing());

const has = (letter) => [HELD, SOLD].includes(stateOf(letter));

/** Why a seat cannot be given another category, or nothing. */
export function seatStays(venue, offered, states, seat) {
  if (offered.limited.includes(venue.categories[venue.category[seat]].name)) return "of a category with a limit";
  return offered.may_move === "free" && has(states[seat]) ? "somebody has it" : "";
}

/** The same of an area. */
export function areaStays(venue, offered, area) {
  const { held, sold } = offered.areas[area];
  if (offered.limited.includes(venue.categories[venue.areas[area].category].name)) return "of a category with a limit";
  return offered.may_move === "free" && held + sold > 0 ? "somebody has places in it" : "";
}

/**
 * Of what is to be moved: which categories it has now (number, how many places), how many places have the category
 * already, how many of the others somebody has, and what else the rest of them would bring.
 * @param {import("../../core/plan.js").Venue} venue as offered @param {any} offered @param {string} states @param {number[]} seats @param {number[]} areas @param {number} to
 */
export function moveOf(venue, offered, states, seats, areas, to) {
  const from = new Map();
  let [already, had, more_minor] = [0, 0, 0];
  const total = (category) => venue.categories[category].total_minor;
  const add = (category, places, of_them) => {
    if (category === to) return (already += places);
    from.set(category, (from.get(category) ?? 0) + places);
    had += of_them;
    more_minor += (places - of_them) * (total(to) - total(category));
  };
  seats.forEach((seat) => add(venue.category[seat], 1, has(states[seat]) ? 1 : 0));
  areas.forEach((area) => add(venue.areas[area].category, venue.areas[area].capacity, offered.areas[area].held + offered.areas[area].sold));
  return { groups: [...from].sort(([one], [other]) => one - other), already, had, more_minor };
}
