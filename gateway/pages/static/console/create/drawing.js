// The plan as buyers will see it, drawn by the buyers' map; here nothing is chosen, only looked at.

import { Component, createRef, html } from "../../html.js";
import { readPlan } from "../../core/plan.js";
import { Camera } from "../../map/camera.js";
import { SeatFinder } from "../../map/find.js";
import { listen } from "../../map/gestures.js";
import { Picture } from "../../map/picture.js";
import { stageOf, withStage } from "../../map/stage.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const nothing = () => {};

/** A sale of that plan on which nobody does anything: what the picture reads of one. */
function stillSale(venue) {
  const state = {
    venue, seats: new Uint8Array(venue.count), places: venue.areas.map(({ capacity }) => capacity),
    choice: { picked: [], places: {} }, asked: [], notice: null, changes: 0,
  };
  return { state, orders: { mine: new Map() } };
}

/** @extends {Component<{plan: any}>} */
export class Drawing extends Component {
  canvas = createRef();
  frame = createRef();

  componentDidMount() {
    this.#draw();
    this.observer = new ResizeObserver(() => this.#resized());
    this.observer.observe(this.frame.current);
    this.recolour = () => this.picture.recolour();
    dark.addEventListener("change", this.recolour);
  }

  componentDidUpdate(before) {
    if (before.plan === this.props.plan) return;
    this.#stop();
    this.#draw();
    this.#resized();
  }

  componentWillUnmount() {
    this.observer.disconnect();
    dark.removeEventListener("change", this.recolour);
    this.#stop();
  }

  #draw() {
    const venue = readPlan(this.props.plan);
    const stage = stageOf(venue);
    const camera = (this.camera = new Camera(withStage(venue.bounds, stage), venue.pitch));
    const finder = new SeatFinder(venue);
    this.picture = new Picture(this.canvas.current, stillSale(venue), { camera, finder, stage }, () => ({ hovered: -1, focused: -1 }), nothing);
    this.unlisten = listen(this.canvas.current, {
      pan: (dx, dy) => this.#look(camera.panned(dx, dy)),
      zoom: (factor, x, y) => this.#look(camera.zoomed(factor, x, y)),
      zoomMiddle: (factor) => this.#zoom(factor),
      fit: () => this.#look(camera.fitted()),
      point: nothing, leave: nothing, tap: nothing, step: nothing, choose: nothing, unchoose: nothing, close: nothing,
    });
  }

  #stop() {
    this.unlisten();
    this.picture.stop();
  }

  #look(view) {
    this.camera.view = view;
    this.picture.redraw();
  }

  #zoom(factor) {
    this.#look(this.camera.zoomed(factor, this.camera.width / 2, this.camera.height / 2));
  }

  #resized() {
    const { width, height } = this.frame.current.getBoundingClientRect();
    this.picture.resize(width, height);
  }

  render({ plan }) {
    const places = plan.areas.reduce((all, { capacity }) => all + capacity, 0);
    const holds = `${plan.seats.length.toLocaleString("en")} seats${places ? ` and ${places.toLocaleString("en")} standing places` : ""}`;
    return html`<div class="map create-map" ref=${this.frame}>
      <canvas ref=${this.canvas} role="img" aria-label=${`Drawing of ${plan.name}: ${holds}. The table says the same.`}></canvas>
      <div class="map-buttons" role="group" aria-label="Zoom">
        <button type="button" aria-label="Zoom in" onClick=${() => this.#zoom(1.8)}>+</button>
        <button type="button" aria-label="Zoom out" onClick=${() => this.#zoom(1 / 1.8)}>−</button>
        <button type="button" aria-label="Show all" onClick=${() => this.#look(this.camera.fitted())}><i class="icon-fit"></i></button>
      </div>
    </div>`;
  }
}
