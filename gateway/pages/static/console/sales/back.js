// Taking an order back: what of it, said in the dialog, and what is sent for that. Pure but for the fields.

import { counted } from "../../core/money.js";
import { html } from "../../html.js";

/** Of an order with more seats than this all or nothing is taken back here. */
const TICKED_MAX = 60;

/** @param {{seats: string[], areas: Record<string, number>}} order */
export const had = ({ seats, areas }) => [...seats, ...Object.entries(areas).map(([area, n]) => `${n} × ${area}`)].join(", ") || counted(0, "place");

export const quantityOf = ({ seats, areas }) => seats.length + Object.values(areas).reduce((sum, n) => sum + n, 0);

/** Fields of the dialog: each seat, how many of each area, and whether it stays off sale. */
export function backField(order) {
  const ticked = quantityOf(order) > 1 && order.seats.length <= TICKED_MAX;
  return html`<div class="fields">
    ${ticked && html`<fieldset class="create-group"><legend>What comes back</legend>
      ${order.seats.map((seat) => html`<label class="check" key=${seat}><input type="checkbox" name=${`seat ${seat}`} defaultChecked=${true} /> ${seat}</label>`)}
      ${Object.entries(order.areas).map(([area, n]) => html`<label class="field" key=${area}>${area}, of ${n}<input name=${`area ${area}`} type="number" min="0" max=${n} defaultValue=${n} /></label>`)}</fieldset>`}
    <label class="check"><input type="checkbox" name="block" /> Keep it off sale</label></div>`;
}

/** What is sent; null where nothing is to come back. `quantity`: what the order has as it was seen, so a repeat takes nothing twice. */
export function backBody(order, said) {
  const block = said.block === "on";
  const whole = { block, quantity: quantityOf(order) };
  const asked = Object.keys(said).some((name) => name.startsWith("area ")) || order.seats.some((seat) => `seat ${seat}` in said);
  const ticked = quantityOf(order) > 1 && order.seats.length <= TICKED_MAX;
  if (!ticked) return whole;
  if (!asked) return null;
  const seats = order.seats.filter((seat) => said[`seat ${seat}`] === "on");
  const areas = Object.fromEntries(Object.keys(order.areas).map((area) => [area, Number(said[`area ${area}`])]).filter(([, n]) => n > 0));
  const quantity = quantityOf({ seats, areas });
  if (quantity === 0) return null;
  return quantity === whole.quantity ? whole : { ...whole, seats, areas };
}
