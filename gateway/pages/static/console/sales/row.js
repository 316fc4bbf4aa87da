// The seats of one row, each a button: free, off sale, on hold or sold, by a sign and in words.

import { price } from "../../core/money.js";
import { BLOCKED, FREE, HELD, seatPlace, SOLD, stateOf } from "../../core/plan.js";
import { html } from "../../html.js";

const STATES = { [FREE]: ["free", "free"], [HELD]: ["held", "on hold"], [SOLD]: ["sold", "sold"], [BLOCKED]: ["blocked", "off sale"] };

/** @param {{venue: import("../../core/plan.js").Venue, row: import("../../core/plan.js").Row, states: string, picked: number[], toggle: (seat: number) => void}} props */
export function Row({ venue, row, states, picked, toggle }) {
  return html`<div class="row-seats" role="group" aria-label=${`Row ${row.row}`}>${row.seats.map((seat) => {
    const [sign, words] = STATES[stateOf(states[seat])];
    const { name, total_minor } = venue.categories[venue.category[seat]];
    const pressed = picked.includes(seat);
    const can = sign === "free" || sign === "blocked" || pressed;
    return html`<button key=${seat} type="button" class="row-seat" data-sign=${sign} aria-pressed=${pressed} disabled=${!can} title=${`${words}; ${name}, ${price(total_minor, venue.currency)}`}
      aria-label=${`${seatPlace(venue, seat)}: ${words}, ${name}, ${price(total_minor, venue.currency)}`} onClick=${() => toggle(seat)}>${venue.number[seat]}</button>`;
  })}</div>
  <p class="quiet-text row-legend"><span data-sign="free">free</span> <span data-sign="blocked">off sale, can be sold by hand</span> <span data-sign="held">on hold</span> <span data-sign="sold">sold</span></p>`;
}
