// The map as a component: two layers (venue and seats) cached as drawn for one view, and on top of
// them what changes with every move of a finger. Nothing is drawn unless something changed; while a
// large house is moved its seats are the last picture, shifted, and drawn anew when it comes to rest.

import { Component, createRef, html } from "../html.js";
import { Camera, between } from "./camera.js";
import { SeatFinder } from "./find.js";
import { listen } from "./gestures.js";
import { Layer } from "./layer.js";
import { namesOf, paintNames } from "./names.js";
import { readPalette } from "./palette.js";
import { paintAreas, paintScenery, sceneryOf } from "./scenery.js";
import { paintOwn, paintRing, paintSeats, radiusOf } from "./seats.js";
import { stageOf, withStage } from "./stage.js";
import { Tip, seatSentence } from "./tip.js";

const TOUCH_RADIUS_MIN_PX = 8;
const POINTER_RADIUS_MIN_PX = 2.5;
const MOVE_MS = 180;
const REST_MS = 90;
const SHIFT_FROM_SEATS = 4_000;
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");

/** @extends {Component<{sale: import("../core/sale.js").Sale}>} */
export class SeatMap extends Component {
  canvas = createRef();
  frame = createRef();
  tip = createRef();
  state = { focused: -1, hovered: -1 };

  componentDidMount() {
    const { sale } = this.props;
    const { venue } = sale.state;
    const stage = stageOf(venue);
    this.camera = new Camera(withStage(venue.bounds, stage), venue.pitch);
    this.finder = new SeatFinder(venue);
    this.scenery = sceneryOf(venue, stage);
    this.names = namesOf(venue);
    this.layer = new Layer();
    this.palette = readPalette(venue.categories, this.frame.current);
    this.ratio = 0;
    this.drawn = 0;
    this.unlisten = listen(this.canvas.current, this.#intentions());
    this.observer = new ResizeObserver(() => this.#resized());
    this.observer.observe(this.frame.current);
    dark.onchange = () => {
      this.palette = readPalette(venue.categories, this.frame.current);
      this.#redraw(true);
    };
    this.listener = () => this.#redraw(false);
    sale.listeners.add(this.listener);
  }

  componentWillUnmount() {
    this.unlisten();
    this.observer.disconnect();
    this.props.sale.listeners.delete(this.listener);
    cancelAnimationFrame(this.wanted);
    clearTimeout(this.resting);
    dark.onchange = null;
  }

  #intentions() {
    const { camera } = this;
    return {
      pan: (dx, dy) => this.#look(camera.panned(dx, dy)),
      zoom: (factor, x, y) => this.#look(camera.zoomed(factor, x, y)),
      zoomMiddle: (factor) => this.#zoomMiddle(factor),
      fit: () => this.#glide(camera.fitted()),
      point: (x, y) => this.#hover(x, y),
      leave: () => this.setState({ hovered: -1 }, () => this.#redraw(false)),
      tap: (x, y, touch) => this.#tap(x, y, touch),
      step: (dx, dy) => this.#step(dx, dy),
      choose: () => this.state.focused >= 0 && this.props.sale.toggle(this.state.focused),
    };
  }

  #resized() {
    const { width, height } = this.frame.current.getBoundingClientRect();
    const ratio = Math.min(devicePixelRatio || 1, 3);
    if (!width || (width === this.camera.width && height === this.camera.height && ratio === this.ratio)) return;
    this.ratio = ratio;
    this.camera.resize(width, height);
    const canvas = this.canvas.current;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    this.#redraw(true);
  }

  #look(view) {
    cancelAnimationFrame(this.gliding);
    this.camera.view = view;
    this.#redraw(false);
  }

  #zoomMiddle(factor) {
    const { width, height } = this.camera;
    this.#glide(this.camera.zoomed(factor, width / 2, height / 2));
  }

  #glide(view) {
    if (calm.matches) return this.#look(view);
    cancelAnimationFrame(this.gliding);
    const from = this.camera.view;
    const begun = performance.now();
    const step = (now) => {
      const part = Math.min(1, Math.max(0, (now - begun) / MOVE_MS));
      this.camera.view = part === 1 ? view : between(from, view, part);
      this.#redraw(false);
      if (part < 1) this.gliding = requestAnimationFrame(step);
    };
    this.gliding = requestAnimationFrame(step);
  }

  /** The seat under a point of the screen, a little around it too, or −1. */
  #seatAt(x, y, slack_px) {
    const at = this.camera.toPlan(x, y);
    const reach = Math.max(radiusOf(this.props.sale.state.venue, this.camera) * 1.25, slack_px);
    return this.finder.at(at.x, at.y, reach / this.camera.view.scale);
  }

  #hover(x, y) {
    const hovered = this.#seatAt(x, y, 5);
    if (hovered === this.state.hovered) return;
    this.canvas.current.style.cursor = hovered >= 0 ? "pointer" : "";
    this.setState({ hovered }, () => this.#redraw(false));
  }

  #tap(x, y, touch) {
    const { sale } = this.props;
    const radius = radiusOf(sale.state.venue, this.camera);
    const at = this.camera.toPlan(x, y);
    const seat = this.#seatAt(x, y, touch ? 14 : 5);
    if (seat < 0) return this.finder.area(at.x, at.y) >= 0 && sale.choose({ mode: "map" });
    if (radius < (touch ? TOUCH_RADIUS_MIN_PX : POINTER_RADIUS_MIN_PX)) {
      return this.#glide(this.camera.bounded(this.camera.centred(at.x, at.y, this.#scaleForTouch())));
    }
    this.setState({ focused: seat });
    sale.toggle(seat);
  }

  #scaleForTouch() {
    const { pitch } = this.props.sale.state.venue;
    return Math.min(this.camera.scaleMax(), (TOUCH_RADIUS_MIN_PX * 1.6) / (pitch * 0.4));
  }

  #step(dx, dy) {
    const { sale } = this.props;
    const { focused } = this.state;
    const next = focused < 0 ? this.finder.first(sale.state.seats) : this.finder.toward(focused, dx, dy);
    this.setState({ focused: next }, () => this.#showSeat(next));
  }

  /** Brings a seat into view, large enough to see. */
  #showSeat(seat) {
    const { venue } = this.props.sale.state;
    const { camera } = this;
    const at = camera.toScreen(venue.x[seat], venue.y[seat]);
    const small = radiusOf(venue, camera) < 6;
    const margin = 48;
    const outside = at.x < margin || at.y < margin || at.x > camera.width - margin || at.y > camera.height - margin;
    if (!small && !outside) return this.#redraw(false);
    const scale = small ? this.#scaleForTouch() : camera.view.scale;
    this.#glide(camera.bounded(camera.centred(venue.x[seat], venue.y[seat], scale)));
  }

  #redraw(anew) {
    if (anew) this.layer.view = null;
    this.wanted ||= requestAnimationFrame(() => {
      this.wanted = 0;
      if (this.ratio) this.#draw();
    });
  }

  #draw() {
    const { camera, layer, ratio } = this;
    this.canvas.current.style.touchAction = camera.isFitted ? "pan-y" : "none";
    const ctx = this.canvas.current.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { sale } = this.props;
    const moved = layer.view !== camera.view;
    const large = sale.state.venue.count >= SHIFT_FROM_SEATS;
    if (moved && large && layer.view && !this.rested) this.#drawAnewAtRest();
    else if (moved || this.drawn !== sale.state.changes) this.#drawLayer();
    ctx.fillStyle = this.palette["map-ground"];
    ctx.fillRect(0, 0, camera.width, camera.height);
    layer.blit(ctx, camera, ratio);
    this.#drawOwn(ctx);
    this.#placeTip();
  }

  #drawAnewAtRest() {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.rested = true;
      this.#redraw(false);
    }, REST_MS);
  }

  #drawLayer() {
    const { camera, layer, palette } = this;
    const { sale } = this.props;
    const { venue, seats, places, choice, changes } = sale.state;
    this.rested = false;
    this.drawn = changes;
    layer.begin(camera, this.ratio);
    paintScenery(layer.ctx, venue, this.scenery, camera, palette);
    paintAreas(layer.ctx, venue, places, choice.places, camera, palette);
    paintSeats(layer.ctx, venue, seats, new Set([...sale.orders.mine.keys(), ...choice.picked]), camera, palette);
    paintNames(layer.ctx, venue, this.names, this.finder, camera, palette);
  }

  #drawOwn(ctx) {
    const { camera, palette } = this;
    const { sale } = this.props;
    const { venue, choice, asked, notice } = sale.state;
    const own = { active: [], paid: [] };
    for (const [seat, state] of sale.orders.mine) own[state].push(seat);
    paintOwn(ctx, venue, own.active, "active", camera, palette);
    paintOwn(ctx, venue, own.paid, "paid", camera, palette);
    paintOwn(ctx, venue, choice.picked, asked.length ? "asked" : "chosen", camera, palette);
    for (const seat of notice?.seats ?? []) paintRing(ctx, venue, seat, camera, palette.held, true);
    const { hovered, focused } = this.state;
    if (hovered >= 0) paintRing(ctx, venue, hovered, camera, palette.text);
    if (focused >= 0 && document.activeElement === this.canvas.current) {
      paintRing(ctx, venue, focused, camera, palette.accent);
    }
  }

  /** The details stand above their seat, or below it where there is no room. */
  #placeTip() {
    const tip = this.tip.current;
    const seat = this.#told();
    if (!tip || seat < 0) return;
    const { venue } = this.props.sale.state;
    const { x, y } = this.camera.toScreen(venue.x[seat], venue.y[seat]);
    const half = tip.offsetWidth / 2 + 8;
    const left = Math.min(Math.max(x, half), this.camera.width - half);
    const gap = Math.max(radiusOf(venue, this.camera), 4) + 12;
    const above = y - gap - tip.offsetHeight > 4;
    const top = above ? y - gap - tip.offsetHeight : y + gap;
    tip.style.transform = `translate(${Math.round(left - tip.offsetWidth / 2)}px, ${Math.round(top)}px)`;
  }

  #told() {
    return this.state.hovered >= 0 ? this.state.hovered : this.state.focused;
  }

  componentDidUpdate() {
    this.#redraw(false);
  }

  render({ sale }, { hovered, focused }) {
    const { venue } = sale.state;
    const told = hovered >= 0 ? hovered : document.activeElement === this.canvas.current ? focused : -1;
    return html`<div class="map" ref=${this.frame}>
      <canvas ref=${this.canvas} tabindex="0" role="application" aria-roledescription="seat map"
        aria-label=${`Map of ${venue.name}`} aria-describedby="map-keys"
        onFocus=${() => this.setState({})} onBlur=${() => this.setState({ focused: -1 })}></canvas>
      <p id="map-keys" class="unseen">Arrow keys go from seat to seat, Enter chooses, plus and minus zoom,
        zero shows all. The list says the same.</p>
      <p class="unseen" role="status">${focused >= 0 && seatSentence(sale, focused)}</p>
      ${told >= 0 && html`<${Tip} sale=${sale} seat=${told} tip=${this.tip} />`}
      <div class="map-buttons" role="group" aria-label="Zoom">
        <button type="button" aria-label="Zoom in" onClick=${() => this.#zoomMiddle(1.8)}>+</button>
        <button type="button" aria-label="Zoom out" onClick=${() => this.#zoomMiddle(1 / 1.8)}>−</button>
        <button type="button" aria-label="Show all" onClick=${() => this.#glide(this.camera.fitted())}><i class="icon-fit"></i></button>
      </div>
    </div>`;
  }
}
