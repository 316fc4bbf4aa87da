// On hold: what is yours, until when, and one button.

import { clockFace } from "../core/clock.js";
import { counted, price } from "../core/money.js";
import { seatPlace } from "../core/plan.js";
import { Component, html } from "../html.js";
import { Added } from "./added.js";

const RADIUS = 42;
const ROUND = 2 * Math.PI * RADIUS;

/** @param {{sale: import("../core/sale.js").Sale}} props */
export function Holding({ sale }) {
  const holds = [...sale.orders.active].sort((a, b) => a.expires_at - b.expires_at);
  return html`<div class="card holding">
    ${holds.map((hold, index) => html`<${OneHold} key=${hold.id} sale=${sale} hold=${hold} first=${index === 0} />`)}
  </div>`;
}

function OneHold({ sale, hold, first }) {
  const { venue } = sale.state;
  const quantity = hold.seats.length + Object.values(hold.places).reduce((total, n) => total + n, 0);
  const cost = price(sale.orders.cost(hold), venue.currency);
  const paused = sale.orders.paused_at !== null;
  return html`<div class="hold">
    <h2 tabindex="-1">${first ? "Held for you" : "Also held for you"}</h2>
    ${hold.story && html`<p class="story">${hold.story}</p>`}
    <${Countdown} sale=${sale} hold=${hold} />
    ${paused && html`<p class="quiet-text">The sale is paused. Your time stands still.</p>`}
    <ul class="mine">
      ${hold.seats.map((seat) => html`<li key=${seat}><b>${sale.orders.names({ ...hold, seats: [seat], places: {} })[0]}</b>
        <small>${seatPlace(venue, seat)}</small>
        <span class="money">${price(venue.categories[venue.category[seat]].total_minor, venue.currency)}</span></li>`)}
      ${Object.entries(hold.places).map(([area, n]) => html`<li key=${`area ${area}`}><b>${n} × ${venue.areas[area].name}</b>
        <small>Standing</small>
        <span class="money">${price(n * venue.categories[venue.areas[area].category].total_minor, venue.currency)}</span></li>`)}
    </ul>
    <div class="act">
      <p class="total"><span>${counted(quantity, hold.seats.length ? "seat" : "place")}</span><b class="money">${cost}</b></p>
      <${Added} venue=${venue} choice=${{ picked: hold.seats, places: hold.places }} />
      <div class=${`thumb ${first ? "ready" : ""}`}><button type="button" class="button main" disabled=${hold.wish !== ""}
        onClick=${() => sale.orders.act(hold, "confirm")}>${hold.wish === "confirm" ? "Buying…" : `Buy · ${cost}`}</button></div>
      <button type="button" class="button quiet" disabled=${hold.wish !== ""} onClick=${() => sale.orders.act(hold, "release")}>
        ${hold.wish === "release" ? "Giving back…" : "Give back"}</button>
    </div>
  </div>`;
}

/** The time left by the server's clock: a ring and figures, drawn four times a second. */
class Countdown extends Component {
  componentDidMount() {
    this.timer = setInterval(() => this.setState({}), 250);
  }

  componentWillUnmount() {
    clearInterval(this.timer);
  }

  render({ sale, hold }) {
    const left_ms = Math.max(0, sale.orders.left_ms(hold));
    const part = Math.min(1, left_ms / hold.ttl_ms);
    const soon = left_ms < 60_000;
    return html`<div class=${`countdown ${soon ? "soon" : ""}`} role="timer" aria-label="Time left to buy">
      <svg viewBox="0 0 100 100" aria-hidden="true">
        <circle class="ring-track" cx="50" cy="50" r=${RADIUS} />
        <circle class="ring-left" cx="50" cy="50" r=${RADIUS} transform="rotate(-90 50 50)"
          stroke-dasharray=${`${ROUND * part} ${ROUND}`} />
      </svg>
      <span class="countdown-figures">${clockFace(left_ms)}</span>
      <small>left to buy</small>
    </div>`;
  }
}
