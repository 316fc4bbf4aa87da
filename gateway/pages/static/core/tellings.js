// Choices and seats in words: what was asked for, what came of it, which group is offered.

import { counted, inWords, listed, price, titled } from "./money.js";
import { seatLabel } from "./plan.js";
import { partiesOf, seatedBy } from "./wishes.js";

/** @typedef {import("./plan.js").Venue} Venue */

const ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"];

/** ` in Stalls, at the A price`, for the end of a sentence. @param {any} party @param {Venue} venue @param {string} anywhere */
export function whereOf({ section, category, price_min, price_max }, venue, anywhere = "") {
  const bounds = [section ? ` in ${section}` : anywhere];
  if (category) bounds.push(` at the ${category} price`);
  if (price_max !== undefined) {
    const [low, high] = [price_min, price_max].map((minor) => price(minor, venue.currency));
    bounds.push(low === high ? ` at ${low}` : ` for ${low} to ${high} each`);
  }
  return bounds.join("");
}

/** One choice in words: `four together in Stalls`. @param {any} choice @param {Venue} venue @param {string} anywhere */
export function choiceInWords(choice, venue, anywhere = "") {
  const parties = partiesOf(choice);
  const names = [...(choice.seats ?? []).map((guid) => seatLabel(venue, venue.seatByGuid.get(guid)))];
  if (parties.length) names.push(partiesInWords(choice, parties) + whereOf(parties[0], venue, anywhere));
  for (const [guid, quantity] of Object.entries(choice.areas ?? {})) {
    names.push(`${quantity} × ${venue.areas[venue.areaByGuid.get(guid)].name}`);
  }
  return listed(names);
}

function partiesInWords(choice, parties) {
  const [{ quantity, apart }] = parties;
  const total = seatedBy(choice);
  const accessible = parties.reduce((sum, party) => sum + (party.accessible ?? 0), 0);
  const more = accessible ? `, ${inWords(accessible)} with ${accessible === 1 ? "an accessible place" : "accessible places"},` : "";
  if (parties.length > 1) return parties.map((party) => inWords(party.quantity)).join(" and ") + more;
  if (choice.up_to) return `up to ${inWords(total)} together${more}`;
  if (quantity === 1) return accessible ? "an accessible place" : "one seat";
  return `${inWords(quantity)} ${apart ? "apart, as near as possible" : "together"}${more}`;
}

/** All choices of a request, first to last. @param {any} want @param {Venue} venue */
export function triesInWords(want, venue) {
  const [first] = partiesOf(want);
  const bound = first && (first.section || first.category || first.price_max !== undefined);
  return [want, ...(want.fallbacks ?? [])].map((one) => choiceInWords(one, venue, bound ? " anywhere" : ""));
}

/** Neighbours among these seats, as lists. @param {Venue} venue @param {number[]} seats */
function groupsOf(venue, seats) {
  const groups = [];
  for (const seat of [...seats].sort((a, b) => a - b)) {
    const before = groups.at(-1)?.at(-1);
    if (seat - 1 === before && sameBlock(venue, seat, before)) groups.at(-1).push(seat);
    else groups.push([seat]);
  }
  return groups;
}

const blockOf = (venue, seat) => venue.blocks.find(({ first, length }) => seat >= first && seat < first + length);
const sameBlock = (venue, one, other) => blockOf(venue, one) === blockOf(venue, other);

/** `row A`, and of which section where that would not be clear. */
function rowOf(venue, [seat], with_section) {
  const section = venue.sections[venue.section[seat]];
  if (!venue.row[seat]) return section;
  return with_section ? `row ${venue.row[seat]} of ${section}` : `row ${venue.row[seat]}`;
}

/**
 * What a held request got, as sentences; empty where the seats say it all.
 * @param {any} want @param {any} result @param {Venue} venue @param {number[]} seats
 */
export function gotInWords(want, result, venue, seats) {
  const choice = result.choice ? want.fallbacks[result.choice - 1] : want;
  const sentences = [seatedInWords(result.step, venue, seats)];
  if (result.choice) sentences.push(`Your ${ORDINALS[result.choice]} choice: ${triesInWords(want, venue)[result.choice]}.`);
  const wanted = seatedBy(choice) + (choice.seats ?? []).length;
  if (wanted > seats.length) sentences.push(`${titled(inWords(seats.length))} of the ${inWords(wanted)} you asked for: more were not left.`);
  return sentences.filter(Boolean).join(" ");
}

function seatedInWords(step, venue, seats) {
  if (!step || seats.length < 2) return "";
  const groups = groupsOf(venue, seats);
  if (groups.length === 1) return `Together in ${rowOf(venue, seats)}.`;
  const sections = new Set(seats.map((seat) => venue.section[seat]));
  const byRow = new Map();
  for (const group of groups) {
    const row = rowOf(venue, group, sections.size > 1);
    byRow.set(row, [...(byRow.get(row) ?? []), inWords(group.length)]);
  }
  const parts = listed([...byRow].map(([row, sizes]) => `${listed(sizes)} in ${row}`));
  return step === "apart" ? `Apart, as near as possible: ${parts}.` : `${titled(parts)}.`;
}

const natural = new Intl.Collator("en", { numeric: true }).compare;

/** A group of neighbours as a button says it, short and in full. @param {Venue} venue @param {number[]} seats @param {number} cost_minor */
export function groupInWords(venue, seats, cost_minor) {
  const [seat] = seats;
  const numbers = seats.map((one) => venue.number[one]).sort(natural);
  const few = numbers.length <= 4 ? numbers.join(", ") : `${numbers[0]} to ${numbers.at(-1)}`;
  const section = venue.sections[venue.section[seat]];
  const cost = price(cost_minor, venue.currency);
  const row = venue.row[seat];
  return {
    name: row ? `${row} ${few}` : few,
    detail: `${section} · ${cost}`,
    label: `${section}${row && `, row ${row}`}, ${seats.length === 1 ? "seat" : "seats"} ${listed(numbers, 12)}, ${cost}`,
  };
}

/** `two places in Front standing`. @param {string} area @param {number} quantity */
export const placesInWords = (area, quantity) => `${counted(quantity, "place")} in ${area}`;
