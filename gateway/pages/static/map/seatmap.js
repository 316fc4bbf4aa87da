// The map as a component: fingers, wheel and keys move the camera or choose; what is seen is the
// picture's. Spots are seats and standing areas alike (see find.js).

import { Component, createRef, html } from "../html.js";
import { Camera, between } from "./camera.js";
import { SeatFinder } from "./find.js";
import { listen } from "./gestures.js";
import { Picture } from "./picture.js";
import { radiusOf } from "./seats.js";
import { stageOf, withStage } from "./stage.js";
import { AreaTip, Tip, areaSentence, seatSentence } from "./tip.js";

const TOUCH_RADIUS_MIN_PX = 8;
const POINTER_RADIUS_MIN_PX = 2.5;
const MOVE_MS = 180;
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");

/** @extends {Component<{sale: import("../core/sale.js").Sale}>} */
export class SeatMap extends Component {
  canvas = createRef();
  frame = createRef();
  tip = createRef();
  state = { focused: -1, hovered: -1, area: -1 };

  componentDidMount() {
    const { sale } = this.props;
    const { venue } = sale.state;
    const stage = stageOf(venue);
    this.camera = new Camera(withStage(venue.bounds, stage), venue.pitch);
    this.finder = new SeatFinder(venue);
    const { camera, finder } = this;
    this.picture = new Picture(this.canvas.current, sale, { camera, finder, stage }, () => this.#marked(), () => this.#placeTip());
    this.unlisten = listen(this.canvas.current, this.#intentions());
    this.observer = new ResizeObserver(() => this.#resized());
    this.observer.observe(this.frame.current);
    dark.onchange = () => this.picture.recolour();
    this.listener = () => this.#changed();
    sale.listeners.add(this.listener);
  }

  componentWillUnmount() {
    this.unlisten();
    this.observer.disconnect();
    this.props.sale.listeners.delete(this.listener);
    this.picture.stop();
    cancelAnimationFrame(this.gliding);
    dark.onchange = null;
  }

  #resized() {
    const { width, height } = this.frame.current.getBoundingClientRect();
    this.picture.resize(width, height);
    if (width) this.#changed();
  }

  #intentions() {
    const { camera } = this;
    return {
      pan: (dx, dy) => this.#look(camera.panned(dx, dy)),
      zoom: (factor, x, y) => this.#look(camera.zoomed(factor, x, y)),
      zoomMiddle: (factor) => this.#zoomMiddle(factor),
      fit: () => this.#glide(camera.fitted()),
      point: (x, y) => this.#hover(x, y),
      leave: () => this.state.hovered >= 0 && this.setState({ hovered: -1 }),
      tap: (x, y, touch) => this.#tap(x, y, touch),
      step: (dx, dy) => this.#step(dx, dy),
      choose: () => this.#choose(1),
      unchoose: () => this.#choose(-1),
      close: () => this.setState({ area: -1, focused: -1 }),
    };
  }

  /** Something of the sale is different: groups that are offered now are brought into view. */
  #changed() {
    this.picture.redraw();
    const { notice } = this.props.sale.state;
    if (notice === this.told) return;
    this.told = notice;
    const offered = (notice?.offers ?? []).flatMap(({ seats }) => seats);
    if (offered.length) this.#showAll([...offered, ...(notice.seats ?? [])]);
  }

  #look(view) {
    cancelAnimationFrame(this.gliding);
    this.camera.view = view;
    this.picture.redraw();
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
      this.picture.redraw();
      if (part < 1) this.gliding = requestAnimationFrame(step);
    };
    this.gliding = requestAnimationFrame(step);
  }

  /** The spot under a point of the screen, a little around a seat too, or −1. */
  #spotAt(x, y, slack_px) {
    const at = this.camera.toPlan(x, y);
    const reach = Math.max(radiusOf(this.props.sale.state.venue, this.camera) * 1.25, slack_px);
    const seat = this.finder.at(at.x, at.y, reach / this.camera.view.scale);
    if (seat >= 0) return seat;
    const area = this.finder.area(at.x, at.y);
    return area < 0 ? -1 : this.finder.spotOfArea(area);
  }

  #hover(x, y) {
    const hovered = this.#spotAt(x, y, 5);
    if (hovered === this.state.hovered) return;
    this.canvas.current.style.cursor = hovered >= 0 ? "pointer" : "";
    this.setState({ hovered });
  }

  #tap(x, y, touch) {
    const { sale } = this.props;
    const { camera, finder } = this;
    const spot = this.#spotAt(x, y, touch ? 14 : 5);
    const area = spot < 0 ? -1 : finder.areaOf(spot);
    if (spot < 0 || area >= 0) {
      this.setState({ area, focused: spot });
      if (area >= 0 && !sale.state.choice.places[area]) sale.want(area, 1);
      return;
    }
    if (radiusOf(sale.state.venue, camera) < (touch ? TOUCH_RADIUS_MIN_PX : POINTER_RADIUS_MIN_PX)) {
      const at = camera.toPlan(x, y);
      return this.#glide(camera.bounded(camera.centred(at.x, at.y, this.#scaleForTouch())));
    }
    this.setState({ focused: spot, area: -1 });
    sale.toggle(spot);
  }

  /** Enter on a spot: a seat is chosen or taken back, of an area one place more; or one fewer. */
  #choose(by) {
    const { sale } = this.props;
    const { focused } = this.state;
    if (focused < 0) return;
    const area = this.finder.areaOf(focused);
    if (area >= 0) sale.want(area, (sale.state.choice.places[area] ?? 0) + by);
    else if (by > 0 || sale.state.choice.picked.includes(focused)) sale.toggle(focused);
  }

  #scaleForTouch() {
    const { pitch } = this.props.sale.state.venue;
    return Math.min(this.camera.scaleMax(), (TOUCH_RADIUS_MIN_PX * 1.6) / (pitch * 0.4));
  }

  #step(dx, dy) {
    const { focused } = this.state;
    const next = focused < 0 ? this.finder.first(this.props.sale.state.seats) : this.finder.toward(focused, dx, dy);
    this.setState({ focused: next, area: this.finder.areaOf(next), hovered: -1 }, () => this.#show(next));
  }

  /** Brings a spot into view, large enough to see. */
  #show(spot) {
    const { camera } = this;
    const small = this.finder.areaOf(spot) < 0 && radiusOf(this.props.sale.state.venue, camera) < 6;
    const middle = this.finder.middleOf(spot);
    if (!small && this.#isSeen(middle)) return;
    this.#glide(camera.bounded(camera.centred(middle.x, middle.y, small ? this.#scaleForTouch() : camera.view.scale)));
  }

  #isSeen({ x, y }) {
    const margin = 48;
    const at = this.camera.toScreen(x, y);
    return at.x >= margin && at.y >= margin && at.x <= this.camera.width - margin && at.y <= this.camera.height - margin;
  }

  /** Moves so that all these seats are seen, as large as there is room for. @param {number[]} seats */
  #showAll(seats) {
    const { camera, finder } = this;
    const places = seats.map((seat) => finder.middleOf(seat));
    const [left, top, right, bottom] = [
      Math.min(...places.map(({ x }) => x)), Math.min(...places.map(({ y }) => y)),
      Math.max(...places.map(({ x }) => x)), Math.max(...places.map(({ y }) => y)),
    ];
    const room = Math.min((camera.width - 112) / (right - left || 1), (camera.height - 112) / (bottom - top || 1));
    const scale = Math.min(room, this.#scaleForTouch());
    if (scale <= camera.view.scale && places.every((place) => this.#isSeen(place))) return;
    this.#glide(camera.bounded(camera.centred((left + right) / 2, (top + bottom) / 2, scale)));
  }

  /** The spots that have a ring. */
  #marked() {
    const { hovered, focused } = this.state;
    return { hovered, focused: document.activeElement === this.canvas.current ? focused : -1 };
  }

  /** The details stand above their spot, or below it where there is no room. */
  #placeTip() {
    const tip = this.tip.current;
    const spot = this.#told();
    if (!tip || spot < 0) return;
    const { camera, finder } = this;
    const middle = finder.middleOf(spot);
    const { x, y } = camera.toScreen(middle.x, middle.y);
    const half = tip.offsetWidth / 2 + 8;
    const left = Math.min(Math.max(x, half), Math.max(camera.width - half, half));
    const gap = finder.areaOf(spot) >= 0 ? 24 : Math.max(radiusOf(this.props.sale.state.venue, camera), 4) + 12;
    const above = y - gap - tip.offsetHeight;
    const top = Math.min(above > 4 ? above : Math.max(y + gap, 8), camera.height - tip.offsetHeight - 8);
    tip.style.transform = `translate(${Math.round(left - tip.offsetWidth / 2)}px, ${Math.round(top)}px)`;
  }

  /** The spot whose details are shown: an open area, what the pointer is on, what the keys are on. */
  #told() {
    const { hovered, focused, area } = this.state;
    if (area >= 0) return this.finder.spotOfArea(area);
    if (hovered >= 0 && this.finder.areaOf(hovered) < 0) return hovered;
    return document.activeElement === this.canvas.current ? focused : -1;
  }

  componentDidUpdate() {
    this.picture.redraw();
  }

  #details() {
    const { sale } = this.props;
    const spot = this.finder ? this.#told() : -1;
    if (spot < 0) return null;
    const area = this.finder.areaOf(spot);
    return area < 0 ? html`<${Tip} sale=${sale} seat=${spot} tip=${this.tip} />` : html`<${AreaTip} sale=${sale} index=${area} tip=${this.tip} />`;
  }

  #said(spot) {
    if (spot < 0) return "";
    const area = this.finder.areaOf(spot);
    return area < 0 ? seatSentence(this.props.sale, spot) : areaSentence(this.props.sale, area);
  }

  render({ sale }, { focused }) {
    const { venue } = sale.state;
    return html`<div class="map" ref=${this.frame}>
      <canvas ref=${this.canvas} tabindex="0" role="application" aria-roledescription="seat map"
        aria-label=${`Map of ${venue.name}`} aria-describedby="map-keys"
        onFocus=${() => this.setState({})} onBlur=${() => this.setState({ focused: -1 })}></canvas>
      <p id="map-keys" class="unseen">Arrow keys go from seat to seat, Enter chooses, of a standing area one place more,
        Backspace takes back, plus and minus zoom, zero shows all. The list says the same.</p>
      <p class="unseen" role="status">${this.#said(focused)}</p>
      ${this.#details()}
      <div class="map-buttons" role="group" aria-label="Zoom">
        <button type="button" aria-label="Zoom in" onClick=${() => this.#zoomMiddle(1.8)}>+</button>
        <button type="button" aria-label="Zoom out" onClick=${() => this.#zoomMiddle(1 / 1.8)}>−</button>
        <button type="button" aria-label="Show all" onClick=${() => this.#glide(this.camera.fitted())}><i class="icon-fit"></i></button>
      </div>
    </div>`;
  }
}
