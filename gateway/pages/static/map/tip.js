// What a seat or a standing area is, in words: beside the pointer, and for those who listen.

import { counted, price } from "../core/money.js";
import { seatPlace } from "../core/plan.js";
import { html } from "../html.js";
import { Places } from "../views/places.js";

const STATE_NAMES = ["free", "held by someone", "sold", "not for sale"];
const ACCESS = ["", "wheelchair place", "companion’s seat"];

/** What a seat is to this buyer. @param {import("../core/sale.js").Sale} sale @param {number} seat */
export function seatState({ state, orders }, seat) {
  const mine = orders.mine.get(seat);
  if (mine) return mine === "paid" ? "yours, bought" : "yours, on hold";
  if (state.choice.picked.includes(seat)) return "chosen";
  return STATE_NAMES[state.seats[seat]];
}

/** Place, price and state in one sentence. */
export function seatSentence(sale, seat) {
  const { venue, notice } = sale.state;
  const { total_minor, name } = venue.categories[venue.category[seat]];
  const access = ACCESS[venue.accessible[seat]];
  const offer = notice?.offers?.findIndex(({ seats }) => seats.includes(seat)) ?? -1;
  const offered = offer >= 0 ? `, offered to you as ${offer + 1}` : "";
  return `${seatPlace(venue, seat)}${access && `, ${access}`}, ${name}, ${price(total_minor, venue.currency)}, ${seatState(sale, seat)}${offered}`;
}

/** The same of a standing area. */
export function areaSentence(sale, index) {
  const { venue, places, choice } = sale.state;
  const area = venue.areas[index];
  const wanted = choice.places[index] ?? 0;
  const cost = price(venue.categories[area.category].total_minor, venue.currency);
  const chosen = wanted ? `, ${counted(wanted, "place")} chosen` : "";
  return `${area.name}, standing, ${cost} each, ${places[index] ? `${counted(places[index], "place")} left` : "none left"}${chosen}`;
}

export function Tip({ sale, seat, tip }) {
  const { venue } = sale.state;
  const { total_minor, name } = venue.categories[venue.category[seat]];
  const access = ACCESS[venue.accessible[seat]];
  return html`<div class="tip" ref=${tip} aria-hidden="true">
    <b>${venue.row[seat] && `Row ${venue.row[seat]} · `}Seat ${venue.number[seat]}</b>
    <span>${venue.sections[venue.section[seat]]}</span>
    <span class="tip-price">${price(total_minor, venue.currency)} <small>${name}</small></span>
    <em data-state=${sale.state.seats[seat]}>${seatState(sale, seat)}${access && ` · ${access}`}</em>
  </div>`;
}

/** A standing area: how many places. It can be used, not only read. */
export function AreaTip({ sale, index, tip }) {
  return html`<div class="tip area-tip" ref=${tip}><${Places} sale=${sale} index=${index} /></div>`;
}
