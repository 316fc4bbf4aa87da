// Where the map is looked at from: a scale (CSS pixels per plan unit) and the plan point at the left
// upper corner. Pure arithmetic; every move keeps some of the venue in view.

const ZOOM_IN_MAX_PX_PER_PITCH = 46;

/** @typedef {{scale: number, x: number, y: number}} View */

export class Camera {
  /** @param {import("../core/plan.js").Bounds} bounds @param {number} pitch */
  constructor(bounds, pitch) {
    this.bounds = bounds;
    this.pitch = pitch;
    this.width = 1;
    this.height = 1;
    /** @type {View} */
    this.view = { scale: 1, x: 0, y: 0 };
  }

  /** The view that shows everything. @returns {View} */
  fitted() {
    const margin = Math.min(28, this.width * 0.05);
    const wide = this.bounds.right - this.bounds.left || 1;
    const high = this.bounds.bottom - this.bounds.top || 1;
    const room = Math.min((this.width - 2 * margin) / wide, (this.height - 2 * margin) / high);
    const scale = Math.min(room, this.scaleMax());
    return {
      scale,
      x: (this.bounds.left + this.bounds.right) / 2 - this.width / scale / 2,
      y: (this.bounds.top + this.bounds.bottom) / 2 - this.height / scale / 2,
    };
  }

  scaleMax() {
    return ZOOM_IN_MAX_PX_PER_PITCH / this.pitch;
  }

  get isFitted() {
    return this.view.scale <= this.fitted().scale * 1.02;
  }

  /** Keeps what was in the middle there; the whole stays whole. */
  resize(width, height) {
    const whole = this.width <= 1 || this.isFitted;
    const middle = this.toPlan(this.width / 2, this.height / 2);
    this.width = width;
    this.height = height;
    this.view = whole ? this.fitted() : this.bounded(this.centred(middle.x, middle.y, this.view.scale));
  }

  toPlan(px, py) {
    return { x: this.view.x + px / this.view.scale, y: this.view.y + py / this.view.scale };
  }

  toScreen(x, y) {
    return { x: (x - this.view.x) * this.view.scale, y: (y - this.view.y) * this.view.scale };
  }

  /** @returns {View} */
  centred(x, y, scale) {
    return { scale, x: x - this.width / scale / 2, y: y - this.height / scale / 2 };
  }

  /** The view after zooming by `factor` with the point under (px, py) staying there. @returns {View} */
  zoomed(factor, px, py) {
    const at = this.toPlan(px, py);
    const scale = Math.min(this.scaleMax(), Math.max(this.fitted().scale, this.view.scale * factor));
    return this.bounded({ scale, x: at.x - px / scale, y: at.y - py / scale });
  }

  /** @returns {View} */
  panned(dx, dy) {
    const { scale, x, y } = this.view;
    return this.bounded({ scale, x: x - dx / scale, y: y - dy / scale });
  }

  /** @param {View} view @returns {View} */
  bounded(view) {
    if (view.scale <= this.fitted().scale * 1.001) return this.fitted();
    const clamp = (value, low, high) => Math.min(Math.max(value, Math.min(low, high)), Math.max(low, high));
    const spare = 40 / view.scale;
    const { left, top, right, bottom } = this.bounds;
    return {
      scale: view.scale,
      x: clamp(view.x, left - spare, right + spare - this.width / view.scale),
      y: clamp(view.y, top - spare, bottom + spare - this.height / view.scale),
    };
  }
}

/** Between two views, by how far (0 to 1): scale moves by ratio, so it looks even. */
export function between(from, to, part) {
  const eased = 1 - (1 - part) ** 3;
  const scale = from.scale * (to.scale / from.scale) ** eased;
  const mix = to.scale === from.scale ? eased : (1 / from.scale - 1 / scale) / (1 / from.scale - 1 / to.scale);
  return { scale, x: from.x + (to.x - from.x) * mix, y: from.y + (to.y - from.y) * mix };
}
