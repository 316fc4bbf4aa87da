// What a buyer wishes of the best available, and what will do instead, turned into the choices of one
// request: the first that can be had is held. Pure.
//
// A fallback either gives up a bound (where, at what price) or takes another shape (two and two, apart,
// fewer). What stands first in the buyer's order is given up first: with "anywhere else" before "two and
// two" it is four in the stalls, four anywhere, two and two in the stalls, two and two anywhere.

import { FREE } from "./plan.js";

/**
 * @typedef {"elsewhere" | "any_price" | "parted" | "apart" | "fewer"} Fallback
 * @typedef {object} Wish
 * @property {number} quantity
 * @property {string} section empty for anywhere
 * @property {string} price empty for any, `range`, or `=` and a category's name
 * @property {number} low of the range, in the currency's smallest unit
 * @property {number} high
 * @property {number} accessible how many need an accessible place
 * @property {Fallback[]} order every fallback, in the buyer's order
 * @property {Fallback[]} ticked those that will do
 *
 * @typedef {import("./plan.js").Venue} Venue
 */

/** The server seats larger parties together only. */
const APART_MAX = 12;
const WIDENING = new Set(["elsewhere", "any_price"]);

/** @returns {Wish} */
export const emptyWish = () => ({
  quantity: 2, section: "", price: "", low: 0, high: 0, accessible: 0,
  order: ["elsewhere", "any_price", "parted", "apart", "fewer"],
  ticked: [],
});

/** A party in two, as even as can be. @param {number} quantity */
export const halves = (quantity) => [Math.ceil(quantity / 2), Math.floor(quantity / 2)];

/** Prices of seats, lowest first. @param {Venue} venue */
export function pricesOf(venue) {
  const seated = venue.categories.filter((_category, index) => venue.category.includes(index));
  return [...new Set(seated.map(({ price_minor }) => price_minor))].sort((a, b) => a - b);
}

/** The fallbacks that would change anything, in the buyer's order. @param {Wish} wish @param {Venue} venue */
export function fallbacksFor(wish, venue) {
  const { quantity } = wish;
  const useful = {
    elsewhere: wish.section !== "" && venue.sections.length > 1,
    any_price: wish.price !== "",
    parted: quantity >= 3,
    apart: quantity >= 2 && quantity <= APART_MAX,
    fewer: quantity >= 2,
  };
  return wish.order.filter((one) => useful[one]);
}

/** Those of them that will do. @param {Wish} wish @param {Venue} venue */
export const givenFor = (wish, venue) => fallbacksFor(wish, venue).filter((one) => wish.ticked.includes(one));

/** One place earlier or later among those that will do. @param {Wish} wish @param {Fallback} which @param {number} by @param {Venue} venue */
export function moved(wish, which, by, venue) {
  const given = givenFor(wish, venue);
  const other = given[given.indexOf(which) + by];
  if (!other) return wish;
  const swapped = { [which]: other, [other]: which };
  return { ...wish, order: wish.order.map((one) => swapped[one] ?? one) };
}

/** The first choice and what is tried after it, as a request says it; at most nine. @param {Wish} wish @param {Venue} venue */
export function triesOf(wish, venue) {
  const given = givenFor(wish, venue);
  const widening = given.filter((one) => WIDENING.has(one));
  const ways = [[], ...widening.map((_one, index) => widening.slice(0, index + 1))];
  for (const shape of given.filter((one) => !WIDENING.has(one))) {
    ways.push([shape]);
    if (widening.length) ways.push([...widening, shape]);
  }
  const weight = (way) => way.reduce((total, one) => total + 2 ** given.indexOf(one), 0);
  return ways.sort((a, b) => weight(a) - weight(b)).map((way) => tryOf(wish, new Set(way)));
}

/** @param {Wish} wish @param {Set<string>} given up for this try */
function tryOf(wish, given) {
  const party = (quantity, accessible) => ({
    quantity,
    ...(wish.section && !given.has("elsewhere") && { section: wish.section }),
    ...(!given.has("any_price") && priceOf(wish)),
    ...(accessible > 0 && { accessible }),
  });
  const { quantity } = wish;
  const accessible = Math.min(wish.accessible, quantity);
  if (given.has("parted")) {
    const [first, second] = halves(quantity);
    const with_first = Math.min(accessible, first);
    return { best: [party(first, with_first), party(second, accessible - with_first)] };
  }
  if (given.has("apart")) return { best: { ...party(quantity, accessible), apart: true } };
  return { best: party(quantity, accessible), ...(given.has("fewer") && { up_to: true }) };
}

function priceOf({ price, low, high }) {
  if (price === "range") return { price_min: Math.min(low, high), price_max: Math.max(low, high) };
  return price ? { category: price.slice(1) } : {};
}

/** @param {any} choice of a request @returns {any[]} its parties */
export const partiesOf = ({ best }) => (Array.isArray(best) ? best : best ? [best] : []);

/** How many seats its parties have together. @param {any} choice */
export const seatedBy = (choice) => partiesOf(choice).reduce((total, { quantity }) => total + quantity, 0);

/**
 * Whether any of the choices might be had by what is free now, and what the seats would cost.
 * @param {any[]} tries @param {Venue} venue @param {Uint8Array} states
 */
export function outlookOf(tries, venue, states) {
  let [low, high, possible] = [Infinity, 0, false];
  for (const one of tries) {
    const found = freeFor(partiesOf(one)[0], venue, states);
    const quantity = one.up_to ? Math.min(seatedBy(one), found.free) : seatedBy(one);
    if (!quantity || found.free < quantity) continue;
    possible = true;
    low = Math.min(low, found.low * quantity);
    high = Math.max(high, found.high * quantity);
  }
  return { possible, low: possible ? low : 0, high };
}

/** How many free seats a party describes, and the least and most one costs. @param {any} party @param {Venue} venue @param {Uint8Array} states */
function freeFor({ section, category, price_min = 0, price_max = Infinity, accessible = 0 }, venue, states) {
  const in_section = section ? venue.sections.indexOf(section) : -1;
  const fitting = venue.categories.map(
    ({ name, price_minor }) => (!category || name === category) && price_minor >= price_min && price_minor <= price_max,
  );
  const found = { free: 0, low: Infinity, high: 0 };
  for (let seat = 0; seat < venue.count; seat += 1) {
    if (states[seat] !== FREE || (venue.accessible[seat] && !accessible)) continue;
    if (!fitting[venue.category[seat]] || (in_section >= 0 && venue.section[seat] !== in_section)) continue;
    const { total_minor } = venue.categories[venue.category[seat]];
    found.free += 1;
    found.low = Math.min(found.low, total_minor);
    found.high = Math.max(found.high, total_minor);
  }
  return found;
}
