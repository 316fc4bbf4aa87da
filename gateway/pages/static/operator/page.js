// The operators' page: numbers first, plots below; each says how old it is.

import { price } from "../core/money.js";
import { Component, html } from "../html.js";
import { Bar, Minutes } from "./plots.js";

const TICK_MS = 1000;
/** Figures that are older than this are looked at twice. */
const OLD_MS = 15_000;
const count = (number) => number.toLocaleString("en");

/** @extends {Component<{desk: import("./desk.js").Desk}>} */
export class Page extends Component {
  componentDidMount() {
    this.props.desk.changed = () => this.setState({});
    this.timer = setInterval(() => this.setState({}), TICK_MS);
  }

  componentWillUnmount() {
    clearInterval(this.timer);
  }

  render({ desk }) {
    const { phase, story, figures } = desk.state;
    if (phase === "key" || phase === "refused") return html`<${Door} desk=${desk} story=${story} />`;
    if (phase === "missing") return html`<main class="stop"><h1>There is no such event</h1><p>${story}</p></main>`;
    return html`
      <header class="head">
        <div class="head-title"><h1>${desk.slug}</h1><p>Figures of the sale. They decide nothing.</p></div>
        <button type="button" class="button quiet small" onClick=${() => desk.leave()}>Leave</button>
      </header>
      <main class="figures" aria-busy=${!figures}>
        <p role="status" class="story">${story}</p>
        ${figures ? html`<${Sheets} figures=${figures} as_of_ms=${desk.state.as_of_ms} />` : html`<div class="card"><i class="bone tall"></i><i class="bone"></i></div>`}
      </main>`;
  }
}

function Door({ desk, story }) {
  const come = (submitted) => {
    submitted.preventDefault();
    desk.come(new FormData(submitted.target).get("key"));
  };
  return html`<main class="stop">
    <h1>Figures of ${desk.slug}</h1>
    <p>The operator key opens them. It is kept in this tab only.</p>
    <form class="door" onSubmit=${come}>
      <label>Operator key<input name="key" type="password" autocomplete="off" required autofocus /></label>
      <button class="button main">Show the figures</button>
    </form>
    <p role="alert" class="story">${story}</p>
  </main>`;
}

/** All figures, with their age. @param {{figures: any, as_of_ms: number}} props `as_of_ms`: all that happened before is in them */
export function Sheets({ figures, as_of_ms }) {
  const age_ms = Math.max(0, Date.now() - as_of_ms);
  const { percent_sold, sold, capacity, orders, refunds, currency, holds } = figures;
  const money = (minor) => price(minor, currency, "en");
  return html`
    <p class=${`age ${age_ms > OLD_MS ? "old" : ""}`}>As of ${ago(age_ms)}.${age_ms > OLD_MS ? " Newer orders are not in it yet." : ""}</p>
    <section class="card" aria-labelledby="sold">
      <h2 id="sold">Sold</h2>
      <p class="huge">${percent_sold.toLocaleString("en", { minimumFractionDigits: 1 })} %</p>
      <${Bar} part=${capacity ? sold / capacity : 0} />
      <p>${count(sold)} of ${count(capacity)} seats and places.</p>
    </section>
    <section class="card" aria-labelledby="orders">
      <h2 id="orders">Orders</h2>
      <${Numbers} of=${{ paid: orders.paid, free: orders.free, "by hand": orders.by_hand, "moved here": orders.moved_in, "taken back": orders.taken_back }} />
      <h3>Refunds</h3>
      <dl class="numbers"><div><dt>owed so far</dt><dd>${money(refunds.owed_minor ?? 0)}</dd></div><div><dt>of it given</dt><dd>${money(refunds.given_minor ?? 0)}</dd></div></dl>
    </section>
    <section class="card wide" aria-labelledby="pace"><h2 id="pace">Orders per minute</h2><${Minutes} minutes=${figures.orders_per_minute} now_ms=${as_of_ms} /></section>
    <section class="card wide" aria-labelledby="revenue"><h2 id="revenue">Revenue by category</h2><${Revenue} rows=${figures.revenue} money=${money} /></section>
    <section class="card" aria-labelledby="conversion"><h2 id="conversion">From hold to order</h2><${Conversion} of=${figures.conversion} /><h3>Holds</h3>
      <${Numbers} of=${{ given: holds.given, offered: holds.offered, moved: holds.moved, "given back": holds.released, "run out": holds.expired }} /></section>
    <section class="card" aria-labelledby="booked"><h2 id="booked">Just booked</h2><${JustBooked} rows=${figures.just_booked} now_ms=${Date.now()} /></section>`;
}

function Numbers({ of }) {
  return html`<dl class="numbers">${Object.entries(of).map(([name, number]) => html`<div key=${name}><dt>${name}</dt><dd>${count(number ?? 0)}</dd></div>`)}</dl>`;
}

function Revenue({ rows, money }) {
  if (!rows.length) return html`<p class="quiet-text">Nothing was paid for yet.</p>`;
  const stands = (row) => row.gross_minor - row.refunded_minor - row.moved_minor;
  const most = Math.max(1, ...rows.map(stands));
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="Table of the revenue"><table>
    <thead><tr><th scope="col">Category</th><th scope="col">Stands</th><th scope="col" class="plot-cell"><span class="unseen">Compared</span></th>
      <th scope="col">Places paid</th><th scope="col">Came in</th><th scope="col">Fees in it</th><th scope="col">Tax in it</th><th scope="col">Refunded</th><th scope="col">Moved away</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.category}>
      <th scope="row">${row.category ?? "No seats named"}</th><td><b>${money(stands(row))}</b></td><td class="plot-cell"><${Bar} part=${Math.max(0, stands(row)) / most} /></td>
      <td>${count(row.places)}</td><td>${money(row.gross_minor)}</td><td>${money(row.fee_minor)}</td><td>${money(row.tax_minor)}</td><td>${money(row.refunded_minor)}</td><td>${money(row.moved_minor)}</td>
    </tr>`)}</tbody></table></div>`;
}

function Conversion({ of: { holds, orders, buckets } }) {
  if (!holds) return html`<p class="quiet-text">Nothing was held yet.</p>`;
  const most = Math.max(1, ...buckets.map((bucket) => bucket.orders));
  const named = ({ seconds_max }, index) => (seconds_max ? `within ${spell(seconds_max)}` : `later than ${spell(buckets[index - 1].seconds_max)}`);
  return html`<p>${count(orders)} of ${count(holds)} holds became orders, ${Math.floor((orders * 100) / holds)} %.</p>
    <table class="buckets"><thead class="unseen"><tr><th scope="col">How fast</th><th scope="col">Compared</th><th scope="col">Orders</th></tr></thead>
    <tbody>${buckets.map((bucket, index) => html`<tr key=${index}><th scope="row">${named(bucket, index)}</th><td class="plot-cell"><${Bar} part=${bucket.orders / most} /></td><td>${count(bucket.orders)}</td></tr>`)}</tbody></table>`;
}

function JustBooked({ rows, now_ms }) {
  if (!rows.length) return html`<p class="quiet-text">Nothing yet.</p>`;
  return html`<ul class="booked">${rows.map((row) => html`<li key=${row.at}>
    <span>${row.places === 1 ? "1 place" : `${row.places} places`}${row.section && `, ${row.section}`}</span><small>${ago(Math.max(0, now_ms - row.at))}</small></li>`)}</ul>`;
}

/** @param {number} ms */
function ago(ms) {
  return ms < 1000 ? "just now" : `${spell(Math.floor(ms / 1000))} ago`;
}

/** @param {number} seconds */
function spell(seconds) {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h`;
}
