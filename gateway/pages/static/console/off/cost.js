// What calling an event off would cost as it stands now: orders taken back, money that goes back, who is sent away.

import { counted, price } from "../../core/money.js";
import { html } from "../../html.js";
import { count, moment } from "../words.js";

const KINDS = { free: "for nothing", complimentary: "given by hand", box_office: "sold at the box office" };

/** Orders that stand: those paid for, and those without a payment. */
export const ordersOf = ({ orders, apart }) => orders + apart.reduce((sum, one) => sum + one.orders, 0);

/** @param {{money: any, waiting: any, launch: any, again: () => void}} props */
export function Cost({ money, waiting, launch, again }) {
  const { currency, open, apart } = money;
  const orders = ordersOf(money);
  const without = apart.map((one) => `${count(one.orders)} ${KINDS[one.kind] ?? one.kind}`);
  const late = open.late.count + open.unresolved.count;
  return html`<section class="card" aria-labelledby="cost-title">
    <div class="page-head"><h2 id="cost-title">What it would cost</h2><small>counted ${moment(money.at)}</small><button type="button" class="button quiet small" onClick=${again}>Count again</button></div>
    <div class="cost-huge"><p><b class="huge">${counted(orders, "order")}</b> <span>taken back</span></p><p><b class="huge">${price(money.standing_minor, currency)}</b> <span>back to buyers</span></p></div>
    <dl class="lines">
      <div><dt>paid for<small>each gets back what was paid, fees and tax in it</small></dt><dd>${counted(money.orders, "refund")}</dd></div>
      ${without.length > 0 && html`<div><dt>without a payment here<small>what was paid at a box office, you give back there</small></dt><dd>${without.join(", ")}</dd></div>`}
      <div><dt>fees of yours in it</dt><dd>${price(money.fee_minor, currency)}</dd></div>
      ${money.provider_fee_minor > 0 && html`<div><dt>your payment provider took<small>most keep it when money goes back</small></dt><dd>${price(money.provider_fee_minor, currency)}</dd></div>`}
      <div><dt>on hold now<small>ended at once; who is paying gets the money back</small></dt><dd>${launch.on_hold === null ? "–" : counted(launch.on_hold, "place")}</dd></div>
      <div><dt>on the waiting list</dt><dd>${counted(waiting.requests, "request")}</dd></div>
      ${late > 0 && html`<div><dt>payments under way or late<small>what still comes goes back by itself</small></dt><dd>${count(late)}</dd></div>`}
      ${money.refund_due_minor > 0 && html`<div><dt>owed already, from before</dt><dd>${price(money.refund_due_minor, currency)}</dd></div>`}
    </dl>
    ${!money.balances && html`<p class="notice warn"><b>The settlement does not balance.</b>Look at it first: <code>./run event settlement ${money.event}</code> names the payments.</p>`}
  </section>`;
}
