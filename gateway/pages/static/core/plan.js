// A seating plan as the page uses it: columns instead of rows, so 20,000 seats stay quick to draw.
// The wire form is the canonical JSON of the plan: seats and blocks are arrays in field order.

/**
 * @typedef {{name: string, price_minor: number, currency: string, colour: string,
 *            fee_minor: number, tax_minor: number, total_minor: number}} Category what is paid is the total
 * @typedef {{guid: string, name: string, category: number, capacity: number,
 *            x: number, y: number, width: number, height: number}} Area
 * @typedef {{section: number, row: string, seats: number[]}} Row
 * @typedef {{left: number, top: number, right: number, bottom: number}} Bounds
 * @typedef {{before: string, seats: [number, number][], areas: [number, number][]}} Moved numbers, each with
 *   the category it had; holds with a lower number than `before` cost what they did then
 * @typedef {object} Venue
 * @property {string} name
 * @property {string} currency
 * @property {Category[]} categories
 * @property {boolean} tax_included prices have the tax in them
 * @property {Moved[]} moved to other categories since the sale began
 * @property {string[]} sections
 * @property {number} count how many seats
 * @property {string[]} guid
 * @property {Uint16Array} section
 * @property {string[]} row
 * @property {string[]} number
 * @property {Uint8Array} category
 * @property {Float32Array} x
 * @property {Float32Array} y
 * @property {Uint8Array} accessible 1 wheelchair place, 2 companion's seat
 * @property {{first: number, length: number, section: number}[]} blocks
 * @property {Row[]} rows by section, then as printed
 * @property {Area[]} areas
 * @property {{x: number, y: number}} focal
 * @property {number} pitch usual distance between two neighbours, in plan units
 * @property {Bounds} bounds of seats and areas, with a margin
 * @property {Map<string, number>} seatByGuid
 * @property {Map<string, number>} areaByGuid
 */

/** Seat states as small numbers; letters as on the wire. */
export const FREE = 0;
export const HELD = 1;
export const SOLD = 2;
export const BLOCKED = 3;
const STATE_OF_LETTER = { a: FREE, h: HELD, s: SOLD, b: BLOCKED };

/** @param {string} letter */
export const stateOf = (letter) => STATE_OF_LETTER[letter] ?? BLOCKED;

/**
 * Categories with what a seat of each costs in all.
 * @param {any[]} categories of the plan @param {any} prices as `GET …/prices` says; null: nothing is added
 * @returns {Category[]}
 */
export const withCosts = (categories, prices) =>
  categories.map((category, index) => {
    const { fee_minor = 0, tax_minor = 0, total_minor = category.price_minor } = prices?.categories[index] ?? {};
    return { ...category, fee_minor, tax_minor, total_minor };
  });

/** @param {any} raw the plan's JSON @param {any} prices what is added to its prices @returns {Venue} */
export function readPlan(raw, prices = null) {
  const count = raw.seats.length;
  const venue = {
    name: raw.name,
    currency: raw.currency,
    categories: withCosts(raw.categories, prices),
    tax_included: prices?.terms.tax_included ?? true,
    moved: prices?.moved ?? [],
    sections: raw.sections.map((section) => section.name),
    count,
    guid: new Array(count),
    section: new Uint16Array(count),
    row: new Array(count),
    number: new Array(count),
    category: new Uint8Array(count),
    x: new Float32Array(count),
    y: new Float32Array(count),
    accessible: new Uint8Array(count),
    blocks: raw.blocks.map(([first, length, section]) => ({ first, length, section })),
    areas: raw.areas,
    focal: { x: raw.focal_x, y: raw.focal_y },
    seatByGuid: new Map(),
    areaByGuid: new Map(raw.areas.map((area, index) => [area.guid, index])),
  };
  raw.seats.forEach(([guid, section, row, number, category, x, y, accessible, companion], seat) => {
    venue.guid[seat] = guid;
    venue.section[seat] = section;
    venue.row[seat] = row;
    venue.number[seat] = number;
    venue.category[seat] = category;
    venue.x[seat] = x;
    venue.y[seat] = y;
    venue.accessible[seat] = accessible ? 1 : companion ? 2 : 0;
    venue.seatByGuid.set(guid, seat);
  });
  venue.pitch = usualPitch(venue);
  venue.rows = rowsAsPrinted(venue);
  venue.bounds = boundsOf(venue);
  return venue;
}

/** The venue with the categories by which a hold or order was given, as nothing that is had changes its price. @param {Venue} venue @param {string} hold */
export function asGiven(venue, hold) {
  const later = venue.moved.filter(({ before }) => BigInt(hold) < BigInt(before));
  if (!later.length) return venue;
  const category = venue.category.slice();
  const areas = venue.areas.map((area) => ({ ...area }));
  for (const move of later.reverse()) {
    for (const [seat, had] of move.seats) category[seat] = had;
    for (const [area, had] of move.areas) areas[area].category = had;
  }
  return { ...venue, category, areas };
}

function usualPitch(venue) {
  const steps = [];
  for (const { first, length } of venue.blocks) {
    for (let seat = first + 1; seat < first + length; seat += 1) {
      steps.push(Math.hypot(venue.x[seat] - venue.x[seat - 1], venue.y[seat] - venue.y[seat - 1]));
    }
  }
  steps.sort((a, b) => a - b);
  return steps[steps.length >> 1] || 10;
}

const natural = new Intl.Collator("en", { numeric: true }).compare;

function rowsAsPrinted(venue) {
  const rows = new Map();
  for (let seat = 0; seat < venue.count; seat += 1) {
    const key = `${venue.section[seat]} ${venue.row[seat]}`;
    if (!rows.has(key)) rows.set(key, { section: venue.section[seat], row: venue.row[seat], seats: [] });
    rows.get(key).seats.push(seat);
  }
  for (const row of rows.values()) row.seats.sort((a, b) => natural(venue.number[a], venue.number[b]));
  return [...rows.values()].sort((a, b) => a.section - b.section || natural(a.row, b.row));
}

function boundsOf(venue) {
  const bounds = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  const include = (x, y) => {
    bounds.left = Math.min(bounds.left, x);
    bounds.right = Math.max(bounds.right, x);
    bounds.top = Math.min(bounds.top, y);
    bounds.bottom = Math.max(bounds.bottom, y);
  };
  for (let seat = 0; seat < venue.count; seat += 1) include(venue.x[seat], venue.y[seat]);
  for (const area of venue.areas) {
    include(area.x, area.y);
    include(area.x + area.width, area.y + area.height);
  }
  const edge = venue.pitch * 2;
  return {
    left: bounds.left - edge, top: bounds.top - edge, right: bounds.right + edge, bottom: bounds.bottom + edge,
  };
}

/** `B-12`, as printed on the ticket. @param {Venue} venue @param {number} seat */
export function seatLabel(venue, seat) {
  return venue.row[seat] ? `${venue.row[seat]}-${venue.number[seat]}` : venue.number[seat];
}

/** Everything a person would say about a seat's place. @param {Venue} venue @param {number} seat */
export function seatPlace(venue, seat) {
  const row = venue.row[seat] ? `, row ${venue.row[seat]}` : "";
  return `${venue.sections[venue.section[seat]]}${row}, seat ${venue.number[seat]}`;
}
