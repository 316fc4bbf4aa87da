// One quiet line: how much is sold, and that somebody booked. Nothing at all where the organiser does not want it.

import { inSentences } from "../core/figures.js";
import { Component, html } from "../html.js";

const EVERY_MS = 5000;

/** @extends {Component<{sale: import("../core/sale.js").Sale}>} */
export class SoldLine extends Component {
  componentDidMount() {
    this.timer = setInterval(() => this.setState({}), EVERY_MS);
  }

  componentWillUnmount() {
    clearInterval(this.timer);
  }

  render({ sale }) {
    const words = inSentences(sale.state, Date.now(), sale.clock.offset_ms);
    return words ? html`<p class="quiet-text sold-line">${words}</p>` : null;
  }
}
