// One plot of a few lines over the shared axis of time. Colours are the page's tokens; each line also has a dash of its own.

import { Component, createRef, html } from "../../html.js";
import UPlot from "../../vendor/uPlot.mjs";
import { clockOf, hourMinute } from "../words.js";

const HEIGHT = 128;
const GUTTER = 64;
/** What the axis reaches at least, so that little is not drawn as much. */
const LEAST = 4;
const SYNC = "launch";
export const DASHES = { solid: [], dashed: [8, 4], dotted: [2, 4] };
const MINUTE_SECONDS = 60;

/** @typedef {{column: string, label: string, token: string, dash: "solid" | "dashed" | "dotted"}} Line */
/** @typedef {{id: string, title: string, lines: Line[], format: (value: number | null) => string, steps?: boolean, least?: number}} Plot `least`: what its axis reaches at least */

/** What a token's colour is just now, as a canvas takes it. @param {string} token @param {number} [alpha] */
function colour(token, alpha = 1) {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(--${token})`;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return alpha === 1 ? found : found.replace(/^rgb\((.*)\)$/, `rgba($1, ${alpha})`);
}

/** @extends {Component<{plot: Plot, series: import("./series.js").Series, range: [number, number], money: (minor: number) => string}>} */
export class Chart extends Component {
  #place = createRef();
  #chart = null;

  constructor(props) {
    super(props);
    this.state = { at: null };
  }

  componentDidMount() {
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.redraw = () => this.#make();
    this.scheme.addEventListener("change", this.redraw);
    this.sized = new ResizeObserver(() => this.#chart?.setSize(this.#size()));
    this.sized.observe(this.#place.current);
    this.#make();
  }

  componentDidUpdate(before) {
    if (before.drawn !== this.props.drawn) this.#chart.setData(this.#data());
  }

  componentWillUnmount() {
    this.scheme.removeEventListener("change", this.redraw);
    this.sized.disconnect();
    this.#chart?.destroy();
  }

  #size() {
    return { width: Math.max(160, this.#place.current.clientWidth), height: HEIGHT };
  }

  #data() {
    const { plot, series, range } = this.props;
    return series.lists(plot.lines.map(({ column }) => column), series.within(range));
  }

  #make() {
    this.#chart?.destroy();
    const { plot } = this.props;
    const axis = { stroke: colour("muted"), font: "12px system-ui, sans-serif", grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
    const options = {
      ...this.#size(),
      legend: { show: false },
      cursor: { sync: { key: SYNC }, y: false, drag: { x: false, y: false }, points: { size: 7 } },
      scales: { x: { time: true, range: () => this.props.range }, y: { range: (_, __, most) => [0, Math.max(this.props.plot.least ?? LEAST, (most ?? 0) * 1.12)] } },
      axes: [
        { ...axis, size: 28, space: 80, values: (_, seconds, __, ___, step) => seconds.map((second) => (step < MINUTE_SECONDS ? clockOf : hourMinute)(second * 1000)) },
        { ...axis, size: GUTTER, space: 32, values: (_, values) => values.map((value) => plot.format(value)) },
      ],
      series: [{}, ...plot.lines.map((line) => this.#line(line))],
      hooks: { setCursor: [(chart) => this.#pointed(chart)] },
    };
    this.#chart = new UPlot(options, this.#data(), this.#place.current);
    this.#chart.ctx.canvas.setAttribute("aria-label", plot.title);
  }

  #line({ token, dash }) {
    const { steps, lines } = this.props.plot;
    return {
      stroke: colour(token), width: 2, dash: DASHES[dash], spanGaps: false, points: { show: false },
      fill: lines.length === 1 ? colour(token, 0.1) : undefined, paths: steps ? UPlot.paths.stepped({ align: 1 }) : undefined,
    };
  }

  #pointed({ cursor, data }) {
    const at = cursor.idx === null || cursor.idx === undefined ? null : { seconds: data[0][cursor.idx], values: data.slice(1).map((list) => list[cursor.idx]) };
    if (at?.seconds !== this.state.at?.seconds) this.setState({ at });
  }

  render({ plot, series }, { at }) {
    const now = series.now();
    const shown = (index) => plot.format(at ? at.values[index] : now[plot.lines[index].column]);
    const told = plot.lines.map(({ label }, index) => `${label} ${plot.format(now[plot.lines[index].column])}`).join(", ");
    return html`<section class="chart" aria-labelledby=${`chart-${plot.id}`}>
      <div class="chart-head">
        <h3 id=${`chart-${plot.id}`}>${plot.title}</h3>
        <p class="chart-at">${at ? `at ${clockOf(at.seconds * 1000)}` : "now"}</p>
        <ul class="chart-lines">${plot.lines.map((line, index) => html`<li key=${line.column}><svg viewBox="0 0 24 4" width="24" height="4" aria-hidden="true"><line class=${`ink-${line.token}`} x1="0" x2="24" y1="2" y2="2" stroke-width="3" stroke-dasharray=${DASHES[line.dash].join(" ") || undefined} /></svg>
          <span>${line.label}</span> <b>${shown(index)}</b></li>`)}</ul>
      </div>
      <div class="chart-place" ref=${this.#place} role="img" aria-label=${`${plot.title} over time. Now: ${told}. The same is in the table below.`}></div>
    </section>`;
  }
}
