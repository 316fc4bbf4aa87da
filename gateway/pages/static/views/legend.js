// What the colours and shapes of the map mean.

import { price } from "../core/money.js";
import { channels, seenOn } from "../map/palette.js";
import { Component, createRef, html } from "../html.js";

/** @extends {Component<{sale: import("../core/sale.js").Sale}>} */
export class Legend extends Component {
  box = createRef();
  state = { floor: "" };

  componentDidMount() {
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.read = () => this.setState({ floor: getComputedStyle(this.box.current.querySelector(".floor-probe")).color });
    this.dark.addEventListener("change", this.read);
    this.read();
  }

  componentWillUnmount() {
    this.dark.removeEventListener("change", this.read);
  }

  render({ sale }, { floor }) {
    const { venue } = sale.state;
    const colour = (category) =>
      floor ? `rgb(${seenOn(channels(category.colour), channels(floor)).join(" ")})` : category.colour;
    return html`<div class="legend" ref=${this.box}>
      <i class="floor-probe"></i>
      <ul aria-label="Prices">
        ${venue.categories.map((category) => html`<li key=${category.name}>
          <i class="disc" style=${{ background: colour(category) }}></i>${category.name}
          ${" "}<b class="money">${price(category.total_minor, venue.currency)}</b></li>`)}
      </ul>
      <ul aria-label="Signs">
        <li><i class="sign held"></i>on hold</li>
        <li><i class="sign sold"></i>sold</li>
        <li><i class="sign chosen"></i>chosen</li>
        <li><i class="sign yours"></i>yours</li>
      </ul>
    </div>`;
  }
}
