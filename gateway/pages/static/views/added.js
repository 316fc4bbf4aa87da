// What of a price is fee and tax, in one quiet line; nothing where there is neither.

import { costOf } from "../core/choice.js";
import { price } from "../core/money.js";
import { html } from "../html.js";

/**
 * @param {{venue: import("../core/plan.js").Venue, choice: {mode?: string, picked: number[], places: Record<number, number>}}} props
 */
export function Added({ venue, choice }) {
  if (!venue.categories.some(({ fee_minor, tax_minor }) => fee_minor || tax_minor)) return null;
  if (choice.mode === "best") return html`<p class="quiet-text added">Fees and tax are in the price.</p>`;
  const part = (name) => costOf(venue, choice.picked, choice.places, name);
  const [fee, tax] = [part("fee_minor"), part("tax_minor")];
  const parts = [fee && `${price(fee, venue.currency)} fees`, tax && `${price(tax, venue.currency)} tax`].filter(Boolean);
  return parts.length > 0 && html`<p class="quiet-text added">In this: ${parts.join(" and ")}.</p>`;
}
