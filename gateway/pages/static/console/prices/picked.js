// Many seats in few words: whole sections, whole rows together, and of other rows which seats. Pure.

import { counted, listed } from "../../core/money.js";

/** `1–4, 7`: of names in their order those that are meant, neighbours from the first to the last. @param {string[]} names @param {boolean[]} meant */
export function runs(names, meant) {
  const found = [];
  names.forEach((name, place) => {
    if (!meant[place]) return;
    if (place > 0 && meant[place - 1]) found.at(-1)[1] = name;
    else found.push([name, name]);
  });
  return found.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ");
}

/**
 * What was picked as few groups, each with its seats and its words.
 * @param {import("../../core/plan.js").Venue} venue @param {Iterable<number>} picked @returns {{seats: number[], words: string}[]}
 */
export function groupsOf(venue, picked) {
  const meant = new Set(picked);
  return venue.sections.flatMap((name, section) => {
    const rows = venue.rows.filter((row) => row.section === section).map((row) => ({ ...row, chosen: row.seats.filter((seat) => meant.has(seat)) }));
    const whole = rows.map(({ seats, chosen }) => chosen.length === seats.length);
    const together = rows.filter((_, place) => whole[place]);
    if (together.length < 2) return rows.filter(({ chosen }) => chosen.length).map((row) => ({ seats: row.chosen, words: rowInWords(venue, name, row) }));
    const seats = together.flatMap(({ chosen }) => chosen);
    const all = together.length === rows.length;
    const parts = rows.filter(({ chosen }, place) => chosen.length && !whole[place]);
    const words = all ? `${name}: all ${counted(seats.length, "seat")}` : `${name}, rows ${runs(rows.map(({ row }) => row), whole)}: ${counted(seats.length, "seat")}`;
    return [{ seats, words }, ...parts.map((row) => ({ seats: row.chosen, words: rowInWords(venue, name, row) }))];
  });
}

function rowInWords(venue, name, { row, seats, chosen }) {
  const where = `${name}${row && `, row ${row}`}`;
  if (chosen.length > 1 && chosen.length === seats.length) return `${where}: all ${counted(seats.length, "seat")}`;
  return `${where}: ${chosen.length === 1 ? "seat" : "seats"} ${runs(seats.map((seat) => venue.number[seat]), seats.map((seat) => chosen.includes(seat)))}`;
}

/** @param {import("../../core/plan.js").Venue} venue @param {number} seats how many @param {number[]} areas */
export function pickedInWords(venue, seats, areas) {
  const names = areas.map((area) => `${venue.areas[area].name} (${counted(venue.areas[area].capacity, "place")})`);
  return listed([...(seats ? [counted(seats, "seat")] : []), ...names]);
}
