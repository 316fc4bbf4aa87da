// Which seat is under a point, and which one lies in a direction. A grid over the plan answers the
// first without looking at every seat.

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

  /** The nearest seat from `from` toward (dx, dy): straight ahead counts most. Stays where there is none. */
  toward(from, dx, dy) {
    const { x, y, count } = this.venue;
    let best = from;
    let best_cost = Infinity;
    for (let seat = 0; seat < count; seat += 1) {
      const ahead = (x[seat] - x[from]) * dx + (y[seat] - y[from]) * dy;
      if (ahead <= this.venue.pitch * 0.2) continue;
      const aside = Math.abs((x[seat] - x[from]) * dy - (y[seat] - y[from]) * dx);
      const cost = ahead + aside * 2.5;
      if (cost < best_cost) [best, best_cost] = [seat, cost];
    }
    return best;
  }

  /** Where keyboard people start: the best free seat, as seats are numbered best first. */
  first(states) {
    const free = states.indexOf(FREE);
    return free < 0 ? 0 : free;
  }
}
