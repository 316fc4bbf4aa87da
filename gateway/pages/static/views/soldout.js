// Nothing is free: what is on hold, and the way to the waiting list.

import { quantityOf } from "../core/choice.js";
import { counted } from "../core/money.js";
import { triesOf } from "../core/wishes.js";
import { onHold } from "../core/words.js";
import { Component, html } from "../html.js";
import { Stepper } from "./stepper.js";
import { BestWish } from "./wish.js";

/** @extends {Component<{sale: import("../core/sale.js").Sale}>} */
export class SoldOut extends Component {
  state = { open: false, places: {} };

  /** What would be waited for: places where some are chosen, else a party of the best. */
  get want() {
    const { venue, choice } = this.props.sale.state;
    const areas = Object.entries(this.state.places).filter(([, n]) => n > 0).map(([area, n]) => [venue.areas[area].guid, n]);
    if (areas.length) return { areas: Object.fromEntries(areas) };
    if (!venue.count) return null;
    const [first, ...fallbacks] = triesOf(choice.best, venue);
    return fallbacks.length ? { ...first, fallbacks } : first;
  }

  get standing() {
    return Object.values(this.state.places).reduce((total, n) => total + n, 0);
  }

  render({ sale }, { open, places }) {
    const { venue, choice, seats, held_until, waiting } = sale.state;
    const held = seats.filter((state) => state === 1).length;
    const hope = onHold(held, held_until === null ? null : held_until - sale.clock.now());
    const form = open || !waiting.entries.length;
    const { standing } = this;
    const quantity = standing || (venue.count ? quantityOf({ ...choice, mode: "best" }) : 0);
    const over = quantity > sale.allowance;
    const wait = (submit) => {
      submit.preventDefault();
      sale.wait(this.want);
    };
    return html`<form class="card standing sold-out" onSubmit=${wait}>
      <h2 tabindex="-1">Sold out</h2>
      <p>${hope || "Every seat has found someone. Now and then one comes back."}</p>
      ${sale.waiting.isFull ? html`<p class="quiet-text">You wait for as many things as you can.</p>`
      : form ? html`
        ${venue.count > 0 && !standing && html`<${BestWish} sale=${sale} />`}
        ${venue.areas.length > 0 && html`<fieldset class="places">
          <legend>${venue.count ? "Or standing" : "Standing"}</legend>
          ${venue.areas.map((area, index) => html`<div class="place" key=${area.guid}><span><b>${area.name}</b></span>
            <${Stepper} label=${`${area.name}, places`} value=${places[index] ?? 0} least=${0} most=${sale.allowance}
              set=${(n) => this.setState({ places: { ...places, [index]: n } })} /></div>`)}
        </fieldset>`}
        <div class="thumb ready"><button type="submit" class="button main" disabled=${!quantity || over}>
          ${quantity ? `Wait for ${counted(quantity, standing ? "place" : "seat")}` : "Wait for them"}</button></div>
        <p class="quiet-text">${over ? `You can have ${sale.allowance} more here.` : "What comes back is offered in the order of the list. You pay nothing for waiting."}</p>`
      : html`<button type="button" class="button quiet" onClick=${() => this.setState({ open: true })}>Wait for something else too</button>`}
    </form>`;
  }
}
