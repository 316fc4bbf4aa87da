// On hold: what is yours, until when, and one button. An offer from the waiting list is a hold too, and
// comes first. What can be done besides buying (more time, other seats, fewer) is quieter.

import { spoken } from "../core/clock.js";
import { sizeOf } from "../core/holds.js";
import { counted, price } from "../core/money.js";
import { asGiven, seatPlace } from "../core/plan.js";
import { choiceInWords } from "../core/tellings.js";
import { Component, html } from "../html.js";
import { Added } from "./added.js";
import { PayButton, PayState } from "./paying.js";
import { Stepper } from "./stepper.js";
import { Countdown, WhenOver, WhenSoon } from "./timeleft.js";

/** @typedef {import("../core/holds.js").Hold} Hold */

/** @param {{sale: import("../core/sale.js").Sale}} props */
export function Holding({ sale }) {
  const holds = [...sale.orders.active].sort((a, b) => Number(!a.offered) - Number(!b.offered) || a.expires_at - b.expires_at);
  return html`<div class=${`card holding ${holds[0]?.offered ? "offered" : ""}`}>
    ${holds.map((hold, index) => html`<${OneHold} key=${hold.id} sale=${sale} hold=${hold} first=${index === 0} />`)}
  </div>`;
}

/** @extends {Component<{sale: import("../core/sale.js").Sale, hold: Hold, first: boolean}>} */
class OneHold extends Component {
  state = { some: false };

  render({ sale, hold, first }, { some }) {
    const { venue } = sale.state;
    const cost = price(sale.orders.cost(hold), venue.currency);
    const paused = sale.orders.paused_at !== null;
    const asked = hold.offered?.want;
    return html`<div class="hold">
      <h2 tabindex="-1">${hold.offered ? "Your turn: this is kept for you" : first ? "Held for you" : "Also held for you"}</h2>
      ${asked && html`<p class="story">You waited for ${choiceInWords(asked, venue)}.</p>`}
      ${hold.story && html`<p class="story">${hold.story}</p>`}
      ${sale.paying.required && html`<${PayState} sale=${sale} hold=${hold} />`}
      <${Countdown} sale=${sale} hold=${hold} label=${labelOf(sale, hold)} />
      ${paused && html`<p class="quiet-text">The sale is paused. Your time stands still.</p>`}
      ${!paused && html`<${WhenSoon} sale=${sale} hold=${hold}><p class="soon-text" role="status">Less than a minute left.</p><//>`}
      ${!paused && html`<${WhenOver} sale=${sale} hold=${hold}><p class="quiet-text">Your time seems to be over. We ask whether this is still yours.</p><//>`}
      ${some ? html`<${Some} sale=${sale} hold=${hold} done=${() => this.setState({ some: false })} />` : html`
        <${Mine} sale=${sale} hold=${hold} />
        <div class="act">
          <p class="total"><span>${counted(sizeOf(hold), hold.seats.length ? "seat" : "place")}</span><b class="money">${cost}</b></p>
          <${Added} venue=${asGiven(venue, hold.id)} choice=${{ picked: hold.seats, places: hold.places }} />
          ${sale.paying.required ? html`<${PayButton} sale=${sale} hold=${hold} first=${first} />` : html`<${BuyButton} sale=${sale} hold=${hold} first=${first} cost=${cost} />`}
          <${MoreTime} sale=${sale} hold=${hold} />
          ${!sale.paying.isUnderWay(hold) && html`<${Others} sale=${sale} hold=${hold} some=${() => this.setState({ some: true })} />`}
        </div>`}
    </div>`;
  }
}

/** What the time is left for. */
function labelOf({ paying }, hold) {
  if (!paying.required) return hold.offered ? "to take it" : "left to buy";
  if (paying.stageOf(hold) === "waiting") return "still held";
  return hold.offered ? "to take it" : "left to pay";
}

function BuyButton({ sale, hold, first, cost }) {
  const busy = hold.wish === "confirm" && (hold.unsure ? "Asking again…" : "Buying…");
  return html`<div class=${`thumb ${first ? "ready" : ""}`}><button type="button" class="button main" disabled=${hold.wish !== ""}
    onClick=${() => sale.orders.act(hold, "confirm")}>${busy || `${hold.offered ? "Take it" : "Buy"} · ${cost}`}</button></div>`;
}

function Mine({ sale, hold }) {
  const venue = asGiven(sale.state.venue, hold.id);
  return html`<ul class="mine">
    ${hold.seats.map((seat) => html`<li key=${seat}><b>${sale.orders.names({ seats: [seat], places: {} })[0]}</b>
      <small>${seatPlace(venue, seat)}</small>
      <span class="money">${price(venue.categories[venue.category[seat]].total_minor, venue.currency)}</span></li>`)}
    ${Object.entries(hold.places).map(([area, n]) => html`<li key=${`area ${area}`}><b>${n} × ${venue.areas[area].name}</b>
      <small>Standing</small>
      <span class="money">${price(n * venue.categories[venue.areas[area].category].total_minor, venue.currency)}</span></li>`)}
  </ul>`;
}

/** The organiser says how often and how long; who needs longer gets twice that. */
function MoreTime({ sale, hold }) {
  const { extension_seconds = 0 } = sale.state.event;
  const left = hold.extensions_left;
  if (!left || !extension_seconds || sale.orders.paused_at !== null) return null;
  const busy = hold.wish !== "";
  return html`<div class="more-time">
    <button type="button" class="button quiet" disabled=${busy} onClick=${() => sale.orders.extend(hold)}>
      ${hold.wish === "extend" ? "Asking for time…" : `Take ${spoken(extension_seconds)} more`} <small>${left === 1 ? "once" : `${left} times`}</small></button>
    <button type="button" class="link" disabled=${busy} onClick=${() => sale.orders.extend(hold, true)}>
      I need longer, for accessibility: ${spoken(2 * extension_seconds)}</button>
  </div>`;
}

function Others({ sale, hold, some }) {
  const busy = hold.wish !== "";
  const several = sizeOf(hold) > 1;
  const sells = sale.state.event.state === "open" || sale.state.event.state === "paused";
  return html`<div class="others">
    ${sells && html`<button type="button" class="button quiet small" disabled=${busy} onClick=${() => sale.move(hold)}>Change seats</button>`}
    ${several && html`<button type="button" class="button quiet small" disabled=${busy} onClick=${some}>Give some back</button>`}
    <button type="button" class="button quiet small" disabled=${busy} onClick=${() => sale.orders.act(hold, "release")}>
      ${hold.wish === "release" ? "Giving back…" : hold.offered ? "No, thank you" : several ? "Give all back" : "Give back"}</button>
  </div>`;
}

/** Which of them go back. @extends {Component<{sale: any, hold: Hold, done: () => void}>} */
class Some extends Component {
  state = { seats: [], places: {} };

  tick(seat) {
    const { seats } = this.state;
    this.setState({ seats: seats.includes(seat) ? seats.filter((one) => one !== seat) : [...seats, seat] });
  }

  render({ sale, hold, done }, { seats, places }) {
    const { venue } = sale.state;
    const count = sizeOf({ seats, places });
    const all = count === sizeOf(hold);
    const giveBack = () => {
      sale.orders.giveBack(hold, { seats, places });
      done();
    };
    return html`<fieldset class="some">
      <legend>Which ones go back?</legend>
      <ul>
        ${hold.seats.map((seat) => html`<li key=${seat}><label class="check"><input type="checkbox" checked=${seats.includes(seat)} onChange=${() => this.tick(seat)} />
          <span><b>${sale.orders.names({ seats: [seat], places: {} })[0]}</b> <small>${seatPlace(venue, seat)}</small></span></label></li>`)}
        ${Object.entries(hold.places).map(([area, n]) => html`<li key=${`area ${area}`} class="place"><span><b>${venue.areas[area].name}</b></span>
          <${Stepper} label=${`${venue.areas[area].name}, back`} value=${places[area] ?? 0} least=${0} most=${n}
            set=${(quantity) => this.setState({ places: { ...places, [area]: quantity } })} /></li>`)}
      </ul>
      <div class="others">
        <button type="button" class="button quiet small" onClick=${done}>Keep all</button>
        <button type="button" class="button main small" disabled=${!count} onClick=${giveBack}>${all ? "Give all back" : `Give ${count || ""} back`}</button>
      </div>
    </fieldset>`;
  }
}
