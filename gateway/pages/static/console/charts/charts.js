// The charts of a launch below each other on one axis of time, and the same as a table.

import { Component, html } from "../../html.js";
import { clockOf, count, latency, perSecond } from "../words.js";
import { Chart } from "./chart.js";

const WINDOWS = [["15 min", 15 * 60_000], ["1 hour", 60 * 60_000], ["All", null]];
const TABLE_ROWS = 15;

/** @param {(minor: number) => string} money @returns {import("./chart.js").Plot[]} */
const plots = (money) => [
  { id: "speed", title: "Requests a second", format: perSecond, lines: [
    { column: "arrived_per_second", label: "arrive", token: "held", dash: "dashed" }, { column: "decided_per_second", label: "decided", token: "accent", dash: "solid" }] },
  { id: "lag", title: "Undecided requests", format: count, lines: [{ column: "undecided", label: "wait for their decision", token: "accent", dash: "solid" }] },
  { id: "latency", title: "Time until decided", format: latency, least: 50, lines: [
    { column: "latency_ms_p50", label: "half within", token: "yours", dash: "dashed" }, { column: "latency_ms_p99", label: "99 in 100 within", token: "accent", dash: "solid" }] },
  { id: "seats", title: "Seats and places", format: short, lines: [
    { column: "sold", label: "sold", token: "accent", dash: "solid" }, { column: "on_hold", label: "on hold", token: "held", dash: "dashed" }] },
  { id: "revenue", title: "Revenue", format: money, least: 10_000, lines: [{ column: "revenue_minor", label: "so far", token: "accent", dash: "solid" }] },
  { id: "people", title: "People", format: short, lines: [
    { column: "waiting", label: "wait in line", token: "held", dash: "dashed" }, { column: "admitted", label: "let in so far", token: "muted", dash: "dotted" },
    { column: "inside", label: "inside now", token: "accent", dash: "solid" }] },
  { id: "workers", title: "Workers", format: count, steps: true, lines: [{ column: "workers", label: "alive", token: "accent", dash: "solid" }] },
];

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const short = (number) => (number === null || number === undefined || number < 10_000 ? count(number) : compact.format(number));

/** Money where there is little room. @param {string} currency */
function shortMoney(currency) {
  const format = new Intl.NumberFormat("en", { style: "currency", currency, notation: "compact", maximumFractionDigits: 1 });
  const unit = 10 ** (new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 2);
  return (minor) => (minor === null || minor === undefined ? "–" : format.format(minor / unit));
}

/** @extends {Component<{series: import("./series.js").Series, currency: string, drawn: number}>} */
export class Charts extends Component {
  constructor(props) {
    super(props);
    this.state = { window_ms: WINDOWS[0][1] };
  }

  render({ series, currency, drawn }, { window_ms }) {
    const range = series.range(window_ms);
    const known = (plot) => plot.lines.some(({ column }) => series.rows.some((row) => row[series.columns.indexOf(column)] !== null));
    const shown = plots(shortMoney(currency)).filter((plot) => series.columns.includes(plot.lines[0].column) && known(plot));
    return html`<section class="card charts" aria-labelledby="charts-title">
      <div class="page-head"><h2 id="charts-title">Over time</h2>
        <div class="switch" role="group" aria-label="How far back">${WINDOWS.map(([words, ms]) => html`<button key=${words} type="button" aria-pressed=${window_ms === ms} onClick=${() => this.setState({ window_ms: ms })}>${words}</button>`)}</div></div>
      ${shown.length ? shown.map((plot) => html`<${Chart} key=${plot.id} plot=${plot} series=${series} range=${range} drawn=${`${drawn} ${window_ms}`} />`) : html`<p class="quiet-text">Nothing was measured yet. Samples begin when an allocator works on this event.</p>`}
      ${shown.length > 0 && html`<${Table} series=${series} plots=${shown} range=${range} />`}
    </section>`;
  }
}

/** @param {{series: import("./series.js").Series, plots: import("./chart.js").Plot[], range: [number, number]}} props */
function Table({ series, plots, range }) {
  const rows = series.within(range);
  const every = Math.max(1, Math.ceil(rows.length / TABLE_ROWS));
  const picked = rows.filter((_, index) => (rows.length - 1 - index) % every === 0).reverse();
  const columns = plots.flatMap((plot) => plot.lines.map((line) => ({ ...line, plot, index: series.columns.indexOf(line.column) })));
  return html`<details class="chart-table"><summary>The same as a table</summary>
    <div class="scrolls" tabindex="0" role="region" aria-label="Table of what is charted"><table>
      <thead><tr><th scope="col">at</th>${columns.map(({ column, label, plot }) => html`<th key=${column} scope="col">${plot.title}: ${label}</th>`)}</tr></thead>
      <tbody>${picked.map((row) => html`<tr key=${row[0]}><th scope="row">${clockOf(row[0])}</th>${columns.map(({ column, plot, index }) => html`<td key=${column}>${plot.format(row[index])}</td>`)}</tr>`)}</tbody>
    </table></div></details>`;
}
