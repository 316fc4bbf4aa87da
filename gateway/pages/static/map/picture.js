// What is on the canvas: the venue and its seats, kept as drawn for one view, and on top of them what
// changes with every move of a finger. While very many seats are in view and move they are the last
// picture, shifted, and drawn anew at rest; a frame is drawn at most once, and only when asked for.

import { Layer } from "./layer.js";
import { namesOf, paintNames } from "./names.js";
import { readPalette } from "./palette.js";
import { paintAreas, paintScenery, sceneryOf } from "./scenery.js";
import { paintOffer, paintOwn, paintRing, paintSeats } from "./seats.js";

const REST_MS = 90;
/** So many seats in view are not drawn anew in every frame. */
const SHIFT_FROM_SEATS = 4_000;

export class Picture {
  /**
   * @param {HTMLCanvasElement} canvas @param {import("../core/sale.js").Sale} sale
   * @param {{camera: import("./camera.js").Camera, finder: import("./find.js").SeatFinder, stage: any}} house
   * @param {() => {hovered: number, focused: number}} marked seats with a ring
   * @param {() => void} drawn told after each drawing
   */
  constructor(canvas, sale, { camera, finder, stage }, marked, drawn) {
    Object.assign(this, { canvas, sale, camera, finder, marked, drawn });
    const { venue } = sale.state;
    this.scenery = sceneryOf(venue, stage);
    this.names = namesOf(venue);
    this.layer = new Layer();
    this.ratio = 0;
    this.changes = -1;
    this.in_view = 0;
    this.recolour();
  }

  /** Colours are read anew, as after a change between light and dark. */
  recolour() {
    this.palette = readPalette(this.sale.state.venue.categories, this.canvas.parentNode);
    this.redraw(true);
  }

  /** @returns {boolean} whether the size is another one now */
  resize(width, height) {
    const ratio = Math.min(devicePixelRatio || 1, 3);
    if (!width || (width === this.camera.width && height === this.camera.height && ratio === this.ratio)) return;
    this.ratio = ratio;
    this.camera.resize(width, height);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.redraw(true);
  }

  /** Asks for the next frame; `anew` if nothing of the last one can be used. */
  redraw(anew = false) {
    if (anew) this.layer.view = null;
    this.wanted ||= requestAnimationFrame(() => {
      this.wanted = 0;
      if (this.ratio) this.#draw();
    });
  }

  stop() {
    cancelAnimationFrame(this.wanted);
    clearTimeout(this.resting);
  }

  #draw() {
    const { camera, layer, ratio, sale } = this;
    this.canvas.style.touchAction = camera.isFitted ? "pan-y" : "none";
    const ctx = this.canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const moved = layer.view !== camera.view;
    const many = this.in_view >= SHIFT_FROM_SEATS;
    if (moved && many && layer.view && !this.rested) this.#drawAnewAtRest();
    else if (moved || this.changes !== sale.state.changes) this.#drawLayer();
    ctx.fillStyle = this.palette["map-ground"];
    ctx.fillRect(0, 0, camera.width, camera.height);
    layer.blit(ctx, camera, ratio);
    this.#drawOwn(ctx);
    this.drawn();
  }

  #drawAnewAtRest() {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.rested = true;
      this.redraw();
    }, REST_MS);
  }

  #drawLayer() {
    const { camera, layer, palette, sale } = this;
    const { venue, seats, places, choice, changes } = sale.state;
    this.rested = false;
    this.changes = changes;
    layer.begin(camera, this.ratio);
    paintScenery(layer.ctx, venue, this.scenery, camera, palette);
    paintAreas(layer.ctx, venue, places, choice.places, camera, palette);
    this.in_view = paintSeats(layer.ctx, venue, seats, new Set([...sale.orders.mine.keys(), ...choice.picked]), camera, palette);
    paintNames(layer.ctx, venue, this.names, this.finder, camera, palette);
  }

  #drawOwn(ctx) {
    const { camera, palette, finder, sale } = this;
    const { venue, choice, asked, notice } = sale.state;
    const own = { active: [], paid: [] };
    for (const [seat, state] of sale.orders.mine) own[state].push(seat);
    paintOwn(ctx, venue, own.active, "active", camera, palette);
    paintOwn(ctx, venue, own.paid, "paid", camera, palette);
    paintOwn(ctx, venue, choice.picked, asked.length ? "asked" : "chosen", camera, palette);
    for (const seat of notice?.seats ?? []) paintRing(ctx, finder.boxOf(seat), venue, camera, palette.held, true);
    (notice?.offers ?? []).forEach(({ seats }, index) => paintOffer(ctx, venue, seats, index + 1, camera, palette));
    const { hovered, focused } = this.marked();
    if (hovered >= 0) paintRing(ctx, finder.boxOf(hovered), venue, camera, palette.text);
    if (focused >= 0) paintRing(ctx, finder.boxOf(focused), venue, camera, palette.accent);
  }
}
