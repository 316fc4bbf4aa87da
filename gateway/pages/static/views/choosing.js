// Choosing: seats on the map, standing places, or the best available; the price; one button.

import { costOf, quantityOf, wantOf } from "../core/choice.js";
import { spoken } from "../core/clock.js";
import { counted, listed, price } from "../core/money.js";
import { seatLabel } from "../core/plan.js";
import { outlookOf, triesOf } from "../core/wishes.js";
import { onHold } from "../core/words.js";
import { html } from "../html.js";
import { Added } from "./added.js";
import { Places } from "./places.js";
import { TimeLeft } from "./timeleft.js";
import { BestWish } from "./wish.js";

/** @typedef {import("../core/sale.js").Sale} Sale */

/** @param {{sale: Sale}} props */
export function Choosing({ sale }) {
  const { choice, event, venue } = sale.state;
  const { moving } = sale.orders;
  const mode = venue.count ? choice.mode : "map";
  const ask = (submit) => {
    submit.preventDefault();
    sale.ask();
  };
  return html`<form class="card choosing" onSubmit=${ask}>
    <h2 tabindex="-1">${titleOf(sale)}</h2>
    ${moving && html`<${Instead} sale=${sale} hold=${moving} />`}
    ${event.state === "paused" && html`<p>You can ask already: requests keep their order and are answered when it goes on.</p>`}
    ${venue.count > 0 && html`<${Modes} sale=${sale} mode=${mode} />`}
    ${mode === "best" ? html`<${BestWish} sale=${sale} />` : html`<${Picked} sale=${sale} />`}
    <${TheButton} sale=${sale} />
  </form>`;
}

function titleOf({ state, orders }) {
  if (orders.moving) return "Choose other seats";
  if (state.event.state === "paused") return "The sale is paused";
  return orders.paid.length ? "Choose more seats" : "Choose your seats";
}

/** What is held meanwhile, and the way back to it. */
function Instead({ sale, hold }) {
  return html`<div class="instead">
    <p>Yours until others are had: <b>${listed(sale.orders.names(hold))}</b></p>
    <p class="total"><${TimeLeft} sale=${sale} hold=${hold} />
      <button type="button" class="button quiet small" onClick=${() => sale.touch({ moving: "", notice: null })}>Keep these</button></p>
  </div>`;
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
    <span class="money">${price(category.total_minor, venue.currency)}</span>
    <button type="button" class="remove" aria-label=${`Remove ${label}`} onClick=${() => sale.toggle(seat)}>×</button>
  </li>`;
}

/** What the button would ask for, and what it costs. @param {Sale} sale */
function offerOf({ state }) {
  const { choice, venue, seats } = state;
  const quantity = quantityOf(choice);
  if (choice.mode !== "best") return { quantity, possible: quantity > 0, cost: costOf(venue, choice.picked, choice.places), from: false };
  const { possible, low, high } = outlookOf(triesOf(choice.best, venue), venue, seats);
  return { quantity, possible, cost: low, from: low !== high };
}

function TheButton({ sale }) {
  const { venue, choice, notice } = sale.state;
  const { quantity, possible, cost, from } = offerOf(sale);
  const full = sale.allowance === 0;
  const over = quantity > sale.allowance;
  const standing = choice.mode === "map" && !choice.picked.length && quantity > 0;
  const what = counted(quantity, standing ? "place" : "seat");
  const offered = notice?.offers?.length > 0;
  const hopeless = choice.mode === "best" && !possible && !over && !full;
  const verb = sale.orders.moving ? "Hold instead:" : "Hold";
  return html`<div class="act">
    <p class="total"><span>${quantity && possible ? what : choice.mode === "best" && !full ? "Not enough free with these wishes" : "Nothing chosen yet"}</span>
      ${quantity > 0 && possible && html`<b class="money">${from ? "from " : ""}${price(cost, venue.currency)}</b>`}</p>
    ${hopeless && html`<${WaitForThem} sale=${sale} want=${wantOf(choice, venue)} label=${`Wait for ${what}`} />`}
    ${!hopeless && !sale.orders.moving && !sale.onlyToWait && html`<label class="check wait-check"><input type="checkbox" checked=${choice.wait}
      onChange=${() => sale.choose({ wait: !choice.wait }, notice)} /> <span>If that cannot be had, wait for it</span></label>`}
    ${quantity > 0 && possible && html`<${Added} venue=${venue} choice=${choice} />`}
    <div class=${`thumb ${possible && !over && !offered ? "ready" : ""}`}><button type="submit" class="button main" disabled=${!possible || over}>
      ${!quantity || !possible ? "Hold seats" : sale.onlyToWait ? `Wait for ${what}` : `${verb} ${what} · ${from ? "from " : ""}${price(cost, venue.currency)}`}
    </button></div>
    <p class="quiet-text">${termsOf(sale, over)}</p>
  </div>`;
}

function termsOf({ state, orders, allowance, onlyToWait }, over) {
  const { seats_per_buyer_max: most, hold_ttl_seconds } = state.event;
  if (allowance === 0) return `You have all ${most} you can have here.`;
  if (over) return `You can have ${allowance} more here.`;
  if (onlyToWait) return "Nothing is left there now. What comes back is offered in the order of the list.";
  if (orders.moving) return "The time you have left stays the same.";
  return `Yours for ${spoken(hold_ttl_seconds)} while you buy. Up to ${most} each.`;
}

/** The way to the waiting list, with what is known of its chances. @param {{sale: Sale, want: any, label: string}} props */
export function WaitForThem({ sale, want, label }) {
  const { seats, held_until } = sale.state;
  const held = seats.filter((state) => state === 1).length;
  const hope = onHold(held, held_until === null ? null : held_until - sale.clock.now());
  if (sale.orders.moving) return null;
  return html`<div class="wait-for">
    <p class="quiet-text">${hope || "Seats come back now and then."} What comes back goes to the waiting list, in order.</p>
    <button type="button" class="button quiet" disabled=${sale.waiting.isFull || !want} onClick=${() => sale.wait(want)}>${label}</button>
    ${sale.waiting.isFull && html`<p class="quiet-text">You wait for as many things as you can.</p>`}
  </div>`;
}
