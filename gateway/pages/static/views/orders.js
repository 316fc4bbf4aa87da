// "Yours": what was bought.

import { price } from "../core/money.js";
import { partBack } from "../core/paywords.js";
import { seatPlace } from "../core/plan.js";
import { html } from "../html.js";

/** @param {{sale: import("../core/sale.js").Sale}} props */
export function Orders({ sale }) {
  const { paid } = sale.orders;
  if (!paid.length) return null;
  const { venue } = sale.state;
  return html`<section class="orders" aria-labelledby="orders-title">
    <h2 id="orders-title" tabindex="-1">Yours</h2>
    ${paid.map((order) => html`<article key=${order.id} class="order">
      <p class="order-head"><span>Bought <small>order ${order.id}</small></span><b class="money">${paidFor(sale, order)}</b></p>
      <ul>
        ${order.seats.map((seat) => html`<li key=${seat}>${seatPlace(venue, seat)}</li>`)}
        ${Object.entries(order.places).map(([area, n]) => html`<li key=${`area ${area}`}>${n} × ${venue.areas[area].name}, standing</li>`)}
      </ul>
      <${Back} payment=${sale.paying.ofOrder(order.id)} />
      <a class="link order-tickets" href=${`/e/${sale.slug}/tickets/${order.id}`}>Show your tickets <span aria-hidden="true">→</span><span class="unseen"> of order ${order.id}</span></a>
    </article>`)}
  </section>`;
}

/** What was paid; of an order that was not paid for, what it costs. */
function paidFor({ paying, orders, state }, order) {
  const payment = paying.ofOrder(order.id);
  return payment?.currency ? price(payment.amount_minor, payment.currency) : price(orders.cost(order), state.venue.currency);
}

/** Of an order of which a part was taken back. */
function Back({ payment }) {
  const words = payment && partBack(payment);
  return words && html`<p class="quiet-text">${words}</p>`;
}
