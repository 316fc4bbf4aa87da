// Selling and giving seats by hand, at the door or before, and taking orders back.

import { Component, html } from "../../html.js";
import { readPlan } from "../../core/plan.js";
import { Acting, EventHead, NeedsRole, together, whyOf } from "../acting.js";
import { newKey, ofEvent } from "../api.js";
import { Reading } from "../states.js";
import { backBody, backField, had } from "./back.js";
import { Lately } from "./lately.js";
import { SaleForm } from "./form.js";
import { AnyOrder } from "./order.js";

/** @extends {Component<{event: string, api: any, ask: any, tell: any, session: any}>} */
export class SalesPage extends Component {
  constructor(props) {
    super(props);
    this.state = { sold: null };
    this.acting = new Acting(this);
  }

  /**
   * Asks, sells; the same sale sent again is the one order. Gives whether it was done.
   * @param {{to: string, kind: string, seats: string[], areas: Record<string, number>, reference: string, why: string}} sale @param {string} words what it is @param {string} taken what is to be taken for it, or nothing
   */
  #sell = async (sale, words, taken) => {
    const { event, api, ask } = this.props;
    const given = sale.kind === "complimentary";
    const says = [
      `${words}.`,
      given ? "Nothing is paid for it." : `To be taken by you: ${taken}. No payment provider is asked.`,
      "It is an order at once. If one of them is not free any more, nothing is sold. You can take the order back.",
    ];
    const said = await ask({ title: given ? `Give this to ${sale.to}?` : `Sell this to ${sale.to}?`, says, act: given ? "Give it" : "Sell it" });
    if (!said) return false;
    const body = { ...sale, why: whyOf(sale) };
    const undo = { words: "Take it back", act: () => this.state.sold && this.#back(this.state.sold.order) };
    const order = await this.acting.do(() => api.post(ofEvent(event, "/sales"), body, { key: newKey() }), ({ hold }) => `${given ? "Given" : "Sold"}: order ${hold}.`, { undo });
    if (order) this.setState({ sold: { order, taken: given ? "" : taken } });
    return Boolean(order);
  };

  /** Takes an order back, whole or in part. @param {{hold: string, buyer: string, seats: string[], areas: Record<string, number>}} order as it stands */
  #back = async (order) => {
    const { event, api, ask } = this.props;
    const says = [`${had(order)} of ${order.buyer}. What is ticked comes back and can be sold again; tickets for it are worthless.`, "What was paid by a payment provider goes back by itself; what you took, you give back."];
    const said = await ask({ title: `Take order ${order.hold} back?`, says, act: "Take it back", danger: true, more: backField(order), reason: true });
    if (!said) return;
    const body = backBody(order, said);
    if (!body) return this.props.tell("Nothing was ticked, so nothing was taken back.", { wrong: true });
    const done = await this.acting.do(() => api.post(ofEvent(event, `/orders/${order.hold}/return`), { ...body, why: whyOf(said) }), (now) => (now.state === "refunded" ? `Order ${order.hold} was taken back.` : `Order ${order.hold} has ${had(now)} left.`));
    if (done && this.state.sold?.order.hold === order.hold) this.setState({ sold: null });
  };

  render({ event, api, session }, { busy, turn, sold }) {
    const may = session.may("operator");
    const open = `/v1/events/${encodeURIComponent(event)}`;
    return html`<main class="page" id="content">
      <${EventHead} event=${event} title="Sell by hand">At the door, for guests and the house. It makes an order at once, counts for no limit, and never takes what somebody has.<//>
      ${sold && html`<${Sold} event=${event} ...${sold} />`}
      ${may ? html`<${Reading} api=${together(api, { plan: `${open}/plan`, prices: `${open}/prices` })} path=${event}>${({ plan, prices }) => html`
        <${SaleForm} venue=${readPlan(plan, prices)} api=${api} event=${event} busy=${busy} turn=${turn} sell=${this.#sell} />`}<//>` : html`<${NeedsRole} role="operator" what="Selling by hand" />`}
      <${Lately} key=${turn} event=${event} api=${api} busy=${busy} back=${may ? this.#back : null} />
      ${may && html`<${AnyOrder} event=${event} api=${api} busy=${busy} back=${this.#back} />`}
    </main>`;
  }
}

/** What was sold last, to be read out or written down. */
function Sold({ event, order, taken }) {
  return html`<section class="notice good" role="status" aria-label="Sold last"><b>Order ${order.hold}: ${had(order)}</b>
    <span>for <a href=${`/console/e/${encodeURIComponent(event)}/buyers/${encodeURIComponent(order.buyer)}`}>${order.buyer}</a>${taken ? `; to be taken: ${taken}` : "; nothing to be taken"}.</span></section>`;
}
