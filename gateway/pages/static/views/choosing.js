// Choosing: seats on the map, standing places, or the best available; the price; one button.

import { bestOutlook, costOf, quantityOf } from "../core/choice.js";
import { spoken } from "../core/clock.js";
import { counted, price } from "../core/money.js";
import { seatLabel } from "../core/plan.js";
import { html } from "../html.js";

/** @typedef {import("../core/sale.js").Sale} Sale */

/** @param {{sale: Sale}} props */
export function Choosing({ sale }) {
  const { choice, event, venue } = sale.state;
  const mode = venue.count ? choice.mode : "map";
  const ask = (submit) => {
    submit.preventDefault();
    sale.ask();
  };
  return html`<form class="card choosing" onSubmit=${ask}>
    <h2 tabindex="-1">${event.state === "paused" ? "The sale is paused" : sale.orders.paid.length ? "Choose more seats" : "Choose your seats"}</h2>
    ${event.state === "paused" && html`<p>You can ask already: requests keep their order and are answered when it goes on.</p>`}
    ${venue.count > 0 && html`<${Modes} sale=${sale} mode=${mode} />`}
    ${mode === "best" ? html`<${BestWish} sale=${sale} />` : html`<${Picked} sale=${sale} />`}
    <${TheButton} sale=${sale} />
  </form>`;
}

function Modes({ sale, mode }) {
  const tab = (name, label) =>
    html`<button type="button" aria-pressed=${mode === name} onClick=${() => sale.choose({ mode: name })}>${label}</button>`;
  return html`<div class="switch wide" role="group" aria-label="How to choose">
    ${tab("map", "On the map")}${tab("best", "Best available")}
  </div>`;
}

function Picked({ sale }) {
  const { choice, venue } = sale.state;
  const nothing = !choice.picked.length && venue.count > 0;
  return html`
    ${nothing && html`<p class="quiet-text hint">Choose free seats on the map. Zoom in to see rows and numbers.</p>`}
    ${choice.picked.length > 0 && html`<ul class="picked" aria-label="Chosen seats">
      ${choice.picked.map((seat) => html`<${PickedSeat} key=${seat} sale=${sale} seat=${seat} />`)}
    </ul>`}
    ${venue.areas.length > 0 && html`<fieldset class="places">
      <legend>Standing</legend>
      ${venue.areas.map((_area, index) => html`<${Places} key=${index} sale=${sale} index=${index} />`)}
    </fieldset>`}`;
}

function PickedSeat({ sale, seat }) {
  const { venue } = sale.state;
  const category = venue.categories[venue.category[seat]];
  const label = seatLabel(venue, seat);
  return html`<li>
    <span class="picked-name"><b>${label}</b> <small>${venue.sections[venue.section[seat]]}</small></span>
    <span class="money">${price(category.price_minor, venue.currency)}</span>
    <button type="button" class="remove" aria-label=${`Remove ${label}`} onClick=${() => sale.toggle(seat)}>×</button>
  </li>`;
}

function Places({ sale, index }) {
  const { venue, places, choice } = sale.state;
  const area = venue.areas[index];
  const free = places[index] ?? 0;
  const wanted = choice.places[index] ?? 0;
  const room = sale.allowance - quantityOf({ ...choice, mode: "map" });
  const set = (quantity) => sale.choose({ places: { ...choice.places, [index]: quantity } });
  return html`<div class="place">
    <span><b>${area.name}</b> <small>${free ? `${free.toLocaleString("en")} left` : "none left"} ·
      ${" "}${price(venue.categories[area.category].price_minor, venue.currency)}</small></span>
    <${Stepper} label=${`${area.name}, places`} value=${wanted} least=${0} most=${Math.min(free, wanted + room)} set=${set} />
  </div>`;
}

function Stepper({ label, value, least, most, set }) {
  const change = (by) => set(Math.min(Math.max(value + by, least), Math.max(most, least)));
  return html`<span class="stepper" role="group" aria-label=${label}>
    <button type="button" aria-label=${`Fewer: ${label}`} disabled=${value <= least} onClick=${() => change(-1)}>−</button>
    <output aria-live="polite">${value}</output>
    <button type="button" aria-label=${`More: ${label}`} disabled=${value >= most} onClick=${() => change(1)}>+</button>
  </span>`;
}

function BestWish({ sale }) {
  const { choice, venue } = sale.state;
  const { best } = choice;
  const wish = (patch) => sale.choose({ best: { ...best, ...patch } });
  const option = (value, label) => html`<option value=${value} selected=${value === ""}>${label}</option>`;
  const named = ({ name, price_minor }) => option(name, `${name} · ${price(price_minor, venue.currency)}`);
  const seated = venue.categories.filter((_category, index) => venue.category.includes(index));
  return html`<div class="wish">
    <div class="place"><span><b>Seats side by side</b></span>
      <${Stepper} label="seats" value=${best.quantity} least=${1} most=${Math.max(1, sale.allowance)} set=${(quantity) => wish({ quantity })} /></div>
    <label>Price <select value=${best.category} onChange=${(change) => wish({ category: change.target.value })}>
      ${option("", "Any price")}${seated.map(named)}</select></label>
    <label>Where <select value=${best.section} onChange=${(change) => wish({ section: change.target.value })}>
      ${option("", "Anywhere")}${venue.sections.map((name) => option(name, name))}</select></label>
  </div>`;
}

/** What the button would ask for, and what it costs. @param {Sale} sale */
function offerOf({ state }) {
  const { choice, venue, seats } = state;
  const quantity = quantityOf(choice);
  if (choice.mode !== "best") return { quantity, possible: quantity > 0, cost: costOf(venue, choice.picked, choice.places), from: false };
  const { free, low, high } = bestOutlook(venue, seats, choice.best);
  return { quantity, possible: free >= quantity, cost: low * quantity, from: low !== high };
}

function TheButton({ sale }) {
  const { event, venue, choice } = sale.state;
  const { quantity, possible, cost, from } = offerOf(sale);
  const full = sale.allowance === 0;
  const standing = choice.mode === "map" && !choice.picked.length && quantity > 0;
  const what = counted(quantity, standing ? "place" : "seat");
  const most = event.seats_per_buyer_max;
  return html`<div class="act">
    <p class="total"><span>${quantity && possible ? what : choice.mode === "best" && !full ? "Not enough free with these wishes" : "Nothing chosen yet"}</span>
      ${quantity > 0 && possible && html`<b class="money">${from ? "from " : ""}${price(cost, venue.currency)}</b>`}</p>
    <div class=${`thumb ${possible && !full ? "ready" : ""}`}><button type="submit" class="button main" disabled=${!possible || full}>
      ${!quantity || !possible ? "Hold seats" : `Hold ${what} · ${from ? "from " : ""}${price(cost, venue.currency)}`}
    </button></div>
    <p class="quiet-text">${full ? `You have all ${most} you can have here.` : `Yours for ${spoken(event.hold_ttl_seconds)} while you buy. Up to ${most} each.`}</p>
  </div>`;
}
