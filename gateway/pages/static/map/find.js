// Which spot is under a point, and which one lies in a direction. A spot is a seat's number, or for a
// standing area the number after the last seat's on. A grid over the plan answers the first without
// looking at every seat.

import { FREE } from "../core/plan.js";

export class SeatFinder {
  /** @param {import("../core/plan.js").Venue} venue */
  constructor(venue) {
    this.venue = venue;
    this.cell = venue.pitch * 2;
    /** @type {Map<string, number[]>} */
    this.cells = new Map();
    for (let seat = 0; seat < venue.count; seat += 1) {
      const key = this.#key(venue.x[seat], venue.y[seat]);
      if (!this.cells.has(key)) this.cells.set(key, []);
      this.cells.get(key).push(seat);
    }
    this.rowOf = new Int32Array(venue.count);
    venue.rows.forEach(({ seats }, row) => seats.forEach((seat) => (this.rowOf[seat] = row)));
  }

  #key(x, y) {
    return `${Math.floor(x / this.cell)} ${Math.floor(y / this.cell)}`;
  }

  /** The nearest seat within `reach` plan units, or −1. */
  at(x, y, reach) {
    const around = Math.ceil(reach / this.cell);
    let best = -1;
    let best_distance = reach;
    for (let column = -around; column <= around; column += 1) {
      for (let line = -around; line <= around; line += 1) {
        for (const seat of this.cells.get(this.#key(x + column * this.cell, y + line * this.cell)) ?? []) {
          const distance = Math.hypot(this.venue.x[seat] - x, this.venue.y[seat] - y);
          if (distance < best_distance) [best, best_distance] = [seat, distance];
        }
      }
    }
    return best;
  }

  /** The area whose rectangle has the point, or −1. */
  area(x, y) {
    return this.venue.areas.findIndex(
      (area) => x >= area.x && y >= area.y && x <= area.x + area.width && y <= area.y + area.height,
    );
  }

  /** The number of a spot's area, or −1 for a seat. */
  areaOf(spot) {
    return spot < this.venue.count ? -1 : spot - this.venue.count;
  }

  spotOfArea(area) {
    return this.venue.count + area;
  }

  /** What a spot covers, in plan units; a seat is a point. */
  boxOf(spot) {
    const { venue } = this;
    const area = venue.areas[this.areaOf(spot)];
    if (area) return area;
    return { x: venue.x[spot], y: venue.y[spot], width: 0, height: 0 };
  }

  middleOf(spot) {
    const { x, y, width, height } = this.boxOf(spot);
    return { x: x + width / 2, y: y + height / 2 };
  }

  /**
   * The next spot from `from` toward (dx, dy): the neighbour in its row where the row runs that way,
   * else the nearest, straight ahead counting most. Stays where there is none.
   */
  toward(from, dx, dy) {
    const { venue } = this;
    const start = this.middleOf(from);
    const inRow = from < venue.count ? venue.rows[this.rowOf[from]].seats : [];
    const along = this.#nearest(inRow, start, dx, dy, from, (ahead, aside) => (aside < ahead ? ahead : Infinity));
    if (along >= 0) return along;
    const all = venue.count + venue.areas.length;
    const next = this.#nearest({ length: all }, start, dx, dy, from, (ahead, aside) => ahead + aside * 2.5);
    return next < 0 ? from : next;
  }

  /** Of these spots (or of all up to `length`) the one ahead that costs least, or −1. */
  #nearest(spots, { x, y }, dx, dy, but, costOf) {
    const { venue } = this;
    let best = -1;
    let best_cost = Infinity;
    for (let index = 0; index < spots.length; index += 1) {
      const spot = spots[index] ?? index;
      if (spot === but) continue;
      const box = spot < venue.count ? null : venue.areas[spot - venue.count];
      const to_x = box ? Math.min(Math.max(x, box.x), box.x + box.width) : venue.x[spot];
      const to_y = box ? Math.min(Math.max(y, box.y), box.y + box.height) : venue.y[spot];
      const ahead = (to_x - x) * dx + (to_y - y) * dy;
      if (ahead <= venue.pitch * 0.2) continue;
      const cost = costOf(ahead, Math.abs((to_x - x) * dy - (to_y - y) * dx));
      if (cost < best_cost) [best, best_cost] = [spot, cost];
    }
    return best;
  }

  /** Where keyboard people start: the best free seat, as seats are numbered best first. */
  first(states) {
    const free = states.indexOf(FREE);
    return free < 0 ? 0 : free;
  }
}
