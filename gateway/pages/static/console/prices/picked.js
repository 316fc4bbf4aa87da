// Many seats in few words: by section and row, neighbours from the first to the last. Pure.

import { counted, listed } from "../../core/money.js";

/** Of these seats those in each row, as `{section, row, seats}`. @param {import("../../core/plan.js").Venue} venue @param {Set<number>} picked */
export const byRow = (venue, picked) => venue.rows.map((row) => ({ ...row, chosen: row.seats.filter((seat) => picked.has(seat)) })).filter(({ chosen }) => chosen.length > 0);

/** `1–4, 7`: of a row, as its seats come. */
function numbersOf(venue, seats, chosen) {
  const runs = [];
  let before = -2;
  seats.forEach((seat, place) => {
    if (!chosen.includes(seat)) return;
    if (place === before + 1) runs.at(-1)[1] = venue.number[seat];
    else runs.push([venue.number[seat], venue.number[seat]]);
    before = place;
  });
  return runs.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ");
}

/** @param {ReturnType<typeof byRow>[number]} group */
export function rowInWords(venue, { section, row, seats, chosen }) {
  const where = `${venue.sections[section]}${row && `, row ${row}`}`;
  if (chosen.length > 1 && chosen.length === seats.length) return `${where}: all ${counted(seats.length, "seat")}`;
  return `${where}: ${chosen.length === 1 ? "seat" : "seats"} ${numbersOf(venue, seats, chosen)}`;
}

/** @param {import("../../core/plan.js").Venue} venue @param {number} seats how many @param {number[]} areas */
export function pickedInWords(venue, seats, areas) {
  const names = areas.map((area) => `${venue.areas[area].name} (${counted(venue.areas[area].capacity, "place")})`);
  return listed([...(seats ? [counted(seats, "seat")] : []), ...names]);
}
