// The waiting list: the place first, what it is for, and the way off it, which asks once.

import { titled } from "../core/money.js";
import { triesInWords } from "../core/tellings.js";
import { Component, html } from "../html.js";

/** @param {{sale: import("../core/sale.js").Sale}} props */
export function WaitingList({ sale }) {
  const { entries, of } = sale.state.waiting;
  if (!entries.length) return null;
  return html`<section class="card waiting" aria-label="Waiting list">
    ${entries.map((entry) => html`<${Waits} key=${entry.id} sale=${sale} entry=${entry} of=${Math.max(of, entry.position)} />`)}
    <p class="quiet-text">What comes back is offered in this order and kept for you for a while. Keep this page open, or come back to it.</p>
  </section>`;
}

/** @extends {Component<{sale: any, entry: import("../core/waiting.js").Entry, of: number}>} */
class Waits extends Component {
  state = { sure: false };

  render({ sale, entry, of }, { sure }) {
    const { venue } = sale.state;
    const tries = entry.want ? triesInWords(entry.want, venue) : [];
    const leaving = sale.waiting.leaving.has(entry.id);
    return html`<div class="waits">
      <h2 tabindex="-1"><small>You wait at number</small> <span class="place-figures">${entry.position.toLocaleString("en")}</span>
        ${" "}<small>of ${of.toLocaleString("en")}</small></h2>
      ${tries.length > 0 && html`<p>For ${tries[0]}${tries.length > 1 && html`<small class="or">, or ${tries.slice(1).join(", or ")}</small>`}</p>`}
      ${sure ? html`<div class="others" role="group" aria-label="Leave the waiting list?">
          <p>You would lose this place.</p>
          <button type="button" class="button quiet small" disabled=${leaving} onClick=${() => sale.waiting.leave(entry.id)}>${leaving ? "Leaving…" : "Leave for good"}</button>
          <button type="button" class="button main small" disabled=${leaving} onClick=${() => this.setState({ sure: false })}>Stay</button>
        </div>`
      : html`<button type="button" class="link" aria-label=${`Leave the waiting list${tries.length ? ` for ${titled(tries[0])}` : ""}`}
          onClick=${() => this.setState({ sure: true })}>Leave the waiting list</button>`}
    </div>`;
  }
}
