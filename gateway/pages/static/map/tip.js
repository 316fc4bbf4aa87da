// What a seat is, in words: beside the pointer, and for those who listen.

import { price } from "../core/money.js";
import { seatPlace } from "../core/plan.js";
import { html } from "../html.js";

const STATE_NAMES = ["free", "held by someone", "sold", "not for sale"];

/** What a seat is to this buyer. @param {import("../core/sale.js").Sale} sale @param {number} seat */
export function seatState({ state, orders }, seat) {
  const mine = orders.mine.get(seat);
  if (mine) return mine === "paid" ? "yours, bought" : "yours, on hold";
  if (state.choice.picked.includes(seat)) return "chosen";
  return STATE_NAMES[state.seats[seat]];
}

/** Place, price and state in one sentence. */
export function seatSentence(sale, seat) {
  const { venue } = sale.state;
  const { price_minor, name } = venue.categories[venue.category[seat]];
  return `${seatPlace(venue, seat)}, ${name}, ${price(price_minor, venue.currency)}, ${seatState(sale, seat)}`;
}

export function Tip({ sale, seat, tip }) {
  const { venue } = sale.state;
  const { price_minor, name } = venue.categories[venue.category[seat]];
  const access = ["", "Wheelchair place", "Companion’s seat"][venue.accessible[seat]];
  return html`<div class="tip" ref=${tip} aria-hidden="true">
    <b>${venue.row[seat] && `Row ${venue.row[seat]} · `}Seat ${venue.number[seat]}</b>
    <span>${venue.sections[venue.section[seat]]}</span>
    <span class="tip-price">${price(price_minor, venue.currency)} <small>${name}</small></span>
    <em data-state=${sale.state.seats[seat]}>${seatState(sale, seat)}${access && ` · ${access}`}</em>
  </div>`;
}
