// "Yours": what was bought.

import { price } from "../core/money.js";
import { seatPlace } from "../core/plan.js";
import { html } from "../html.js";

/** @param {{sale: import("../core/sale.js").Sale}} props */
export function Orders({ sale }) {
  const { paid } = sale.orders;
  if (!paid.length) return null;
  const { venue } = sale.state;
  return html`<section class="orders" aria-labelledby="orders-title">
    <h2 id="orders-title">Yours</h2>
    ${paid.map((order) => html`<article key=${order.id} class="order">
      <p class="order-head"><span>Bought <small>order ${order.id}</small></span><b class="money">${price(sale.orders.cost(order), venue.currency)}</b></p>
      <ul>
        ${order.seats.map((seat) => html`<li key=${seat}>${seatPlace(venue, seat)}</li>`)}
        ${Object.entries(order.places).map(([area, n]) => html`<li key=${`area ${area}`}>${n} × ${venue.areas[area].name}, standing</li>`)}
      </ul>
      <a class="link" href=${`/e/${sale.state.event.slug}/tickets/${order.id}`}>Show your tickets</a>
    </article>`)}
  </section>`;
}
