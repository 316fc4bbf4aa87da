// Taking back an order of any buyer, by its number: whose it is and what it has is read first.

import { Component, html } from "../../html.js";
import { ofEvent, to } from "../api.js";

/** @extends {Component<{event: string, api: any, busy: boolean, back: (order: any) => void}>} */
export class AnyOrder extends Component {
  constructor(props) {
    super(props);
    this.state = { wrong: "", looking: false };
  }

  #look = async (submitted) => {
    submitted.preventDefault();
    const number = new FormData(submitted.target).get("order").trim();
    this.setState({ looking: true, wrong: "" });
    try {
      const order = await this.#order(number);
      this.setState({ looking: false, wrong: order ? "" : `Nobody has an order with the number ${number} that stands.` });
      if (order) this.props.back(order);
    } catch (problem) {
      this.setState({ looking: false, wrong: problem.detail });
    }
  };

  async #order(number) {
    const { event, api } = this.props;
    const { found } = await api.get(to(ofEvent(event, "/buyers"), { find: number, limit: 10 }));
    for (const { buyer } of found) {
      const { holds } = await api.get(ofEvent(event, `/buyers/${encodeURIComponent(buyer)}`));
      const order = holds.find(({ hold, state }) => hold === number && state === "paid");
      if (order) return { hold: number, buyer, seats: order.seats, areas: order.areas };
    }
    return null;
  }

  render({ busy }, { wrong, looking }) {
    return html`<section class="card" aria-labelledby="any-title"><h2 id="any-title">Take back another order</h2>
      <form class="field-row" onSubmit=${this.#look}>
        <label class="field">The order's number<input name="order" required inputmode="numeric" pattern="[0-9]+" maxlength="20" autocomplete="off" /></label>
        <button class="button quiet" disabled=${busy || looking}>${looking ? "Looking…" : "Look at it…"}</button></form>
      <p role="alert" class="wrong-text">${wrong}</p></section>`;
  }
}
