// How many places of a standing area: the same in the panel, in the list and on the map.

import { price } from "../core/money.js";
import { html } from "../html.js";
import { Stepper } from "./stepper.js";

/** @param {{sale: import("../core/sale.js").Sale, index: number}} props */
export function Places({ sale, index }) {
  const { venue, places, choice } = sale.state;
  const area = venue.areas[index];
  const free = places[index] ?? 0;
  return html`<div class="place">
    <span><b>${area.name}</b> <small>${free ? `${free.toLocaleString("en")} left` : "none left: you would wait"} ·
      ${" "}${price(venue.categories[area.category].total_minor, venue.currency)}</small></span>
    <${Stepper} label=${`${area.name}, places`} value=${choice.places[index] ?? 0} least=${0} most=${sale.placesMost(index)}
      set=${(quantity) => sale.want(index, quantity)} />
  </div>`;
}
