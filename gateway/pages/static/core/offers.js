// What to offer to who was refused: each offer is a request that can be made with one press. Pure.

import { costOf } from "./choice.js";
import { inWords, price, titled } from "./money.js";
import { FREE } from "./plan.js";
import { groupInWords, placesInWords, whereOf } from "./tellings.js";
import { partiesOf } from "./wishes.js";

/**
 * @typedef {object} Offer
 * @property {any} want asked for when it is taken
 * @property {number[]} seats shown on the map; empty where none are named yet
 * @property {string} name
 * @property {string} detail
 * @property {string} label for who listens
 *
 * @typedef {import("./plan.js").Venue} Venue
 */

const GROUPS_MAX = 3;

/** One offer for each group of seats, with the standing places of the first request. @param {Venue} venue @param {number[][]} groups @param {any} want @returns {Offer[]} */
export function offersOfGroups(venue, groups, want) {
  const places = want.areas ? { areas: want.areas } : {};
  return groups.slice(0, GROUPS_MAX).map((seats) => ({
    want: { seats: seats.map((seat) => venue.guid[seat]), ...places },
    seats,
    ...groupInWords(venue, seats, costOf(venue, seats, {})),
  }));
}

/** Fewer together, as many as are left; or the same party anywhere. @param {Venue} venue @param {Uint8Array} states @param {any} want @param {any} result @returns {Offer[]} */
export function offersWhenSoldOut(venue, states, want, { reason, largest, free }) {
  if (reason === "area_full") return fewerPlaces(venue, want, free);
  const [party, ...others] = partiesOf(want);
  if (!party || others.length || want.seats || want.areas) return [];
  const offers = [];
  if (largest && largest < party.quantity && !party.accessible) {
    const fewer = { best: { ...party, quantity: largest } };
    offers.push(worded(fewer, largest === 1 ? "One seat" : `${titled(inWords(largest))} together`, whereOf(party, venue)));
  }
  const anywhere = { best: { quantity: party.quantity, ...(party.accessible && { accessible: party.accessible }) } };
  const tried = (want.fallbacks ?? []).some((one) => partiesOf(one).some(({ section }) => !section));
  if (party.section && !tried && sitsTogether(venue, states, party)) {
    const all = party.quantity === 1 ? "One seat" : `${titled(inWords(party.quantity))} together`;
    offers.push(worded(anywhere, all, " anywhere in the house"));
  }
  return offers;
}

/** Whether so many neighbours are free anywhere. */
function sitsTogether(venue, states, { quantity, accessible }) {
  const open = (seat) => states[seat] === FREE && (accessible || !venue.accessible[seat]);
  return venue.blocks.some(({ first, length }) => {
    let run = 0;
    for (let seat = first; seat < first + length && run < quantity; seat += 1) run = open(seat) ? run + 1 : 0;
    return run >= quantity;
  });
}

const worded = (want, name, where) => ({ want, seats: [], name, detail: where.trim(), label: name + where });

function fewerPlaces(venue, want, free) {
  const [[guid, quantity], ...others] = Object.entries(want.areas ?? {});
  if (others.length || want.seats || want.best || !free || free >= quantity) return [];
  const index = venue.areaByGuid.get(guid);
  const name = titled(placesInWords(venue.areas[index].name, free));
  const detail = price(costOf(venue, [], { [index]: free }), venue.currency);
  return [{ want: { areas: { [guid]: free } }, seats: [], name, detail, label: `${name}, ${detail}` }];
}

/**
 * Up to three groups of as many free neighbours near these seats, as the map shows them now: for who
 * was refused at the gate and got no answer that names any.
 * @param {Venue} venue @param {Uint8Array} states @param {number[]} seats @returns {number[][]}
 */
export function groupsNear(venue, states, seats) {
  const [seat] = seats;
  if (seat === undefined) return [];
  const like = (one, other) => venue.category[one] === venue.category[other];
  const own = new Set(seats);
  const open = (one) => states[one] === FREE && !venue.accessible[one] && !own.has(one);
  const found = [];
  for (const { first, length, section } of venue.blocks) {
    if (!like(first, seat)) continue;
    const run = nearestRun(venue, open, first, length, seats);
    if (run) found.push({ ...run, far: run.far + (section === venue.section[seat] ? 0 : 1e9) });
  }
  found.sort((a, b) => a.far - b.far);
  return found.slice(0, GROUPS_MAX).map(({ from }) => seats.map((_seat, index) => from + index));
}

function nearestRun(venue, open, first, length, seats) {
  const [seat] = seats;
  let best = null;
  let run = 0;
  for (let at = first; at < first + length; at += 1) {
    run = open(at) ? run + 1 : 0;
    if (run < seats.length) continue;
    const from = at - seats.length + 1;
    const far = Math.hypot(venue.x[from] - venue.x[seat], venue.y[from] - venue.y[seat]);
    if (!best || far < best.far) best = { from, far };
  }
  return best;
}
