// The seats of one row, each a button: free, off sale, on hold or sold, by a sign and in words.

import { price } from "../../core/money.js";
import { BLOCKED, FREE, HELD, seatPlace, SOLD, stateOf } from "../../core/plan.js";
import { html } from "../../html.js";
import { canBeSold } from "./free.js";

const STATES = { [FREE]: ["free", "free"], [HELD]: ["held", "on hold"], [SOLD]: ["sold", "sold"], [BLOCKED]: ["blocked", "off sale"] };

/**
 * `off`: the words for seats off sale; `can`: whether a seat can be picked, where that is not whether it can be
 * sold; `coloured`: by their categories. What cannot be picked is off.
 * @param {{venue: import("../../core/plan.js").Venue, row: import("../../core/plan.js").Row, states: string, picked: number[] | Set<number>, toggle: (seat: number, shift: boolean) => void, off?: string, can?: (seat: number) => boolean, coloured?: boolean}} props
 */
export function Row({ venue, row, states, picked, toggle, off = "off sale, can be sold by hand", can = (seat) => canBeSold(states[seat]), coloured = false }) {
  const chosen = new Set(picked);
  return html`<div class="row-seats" role="group" aria-label=${`Row ${row.row}`}>${row.seats.map((seat) => {
    const [sign, words] = STATES[stateOf(states[seat])];
    const { name, total_minor, colour } = venue.categories[venue.category[seat]];
    const pressed = chosen.has(seat);
    return html`<button key=${seat} type="button" class=${`row-seat ${coloured ? "coloured" : ""}`} data-sign=${sign} aria-pressed=${pressed} disabled=${!pressed && !can(seat)} title=${`${words}; ${name}, ${price(total_minor, venue.currency)}`} style=${coloured && { "--category": colour }}
      aria-label=${`${seatPlace(venue, seat)}: ${words}, ${name}, ${price(total_minor, venue.currency)}`} onClick=${(event) => toggle(seat, event.shiftKey)}>${venue.number[seat]}</button>`;
  })}</div>
  <p class="quiet-text row-legend"><span data-sign="free">free</span> <span data-sign="blocked">${off}</span> <span data-sign="held">on hold</span> <span data-sign="sold">sold</span></p>`;
}
