// Which seats can be sold by hand, and the best that are free together. Pure.

import { BLOCKED, FREE, stateOf } from "../../core/plan.js";

/** What is free, and what is off sale: seats that were kept for this. @param {string} letter */
export const canBeSold = (letter) => [FREE, BLOCKED].includes(stateOf(letter));

/**
 * The first so many neighbours that are free, blocks with the best first, as the plan has them; seats that are
 * off sale are kept for somebody and only picked by hand.
 * @param {import("../../core/plan.js").Venue} venue @param {string} states @param {number} wanted @param {number} section @param {Set<number>} taken @returns {number[] | null}
 */
export function freeTogether(venue, states, wanted, section, taken) {
  for (const block of venue.blocks) {
    if (block.section !== section) continue;
    let run = 0;
    for (let seat = block.first; seat < block.first + block.length; seat += 1) {
      run = stateOf(states[seat]) === FREE && !taken.has(seat) ? run + 1 : 0;
      if (run === wanted) return Array.from({ length: wanted }, (_, index) => seat - wanted + 1 + index);
    }
  }
  return null;
}
