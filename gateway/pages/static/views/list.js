// The map in words: sections, rows, seats as buttons. Only the open section is in the page, so a large
// house stays light. Everything the map can do can be done here.

import { counted, price } from "../core/money.js";
import { FREE } from "../core/plan.js";
import { Component, html } from "../html.js";
import { seatSentence, seatState } from "../map/tip.js";
import { Places } from "./places.js";

/** @extends {Component<{sale: import("../core/sale.js").Sale}>} */
export class SeatList extends Component {
  state = { open: this.#firstWithSeats(), free: false };

  #firstWithSeats() {
    const { venue, seats } = this.props.sale.state;
    const best = seats.indexOf(FREE);
    return venue.count ? venue.section[Math.max(best, 0)] : -1;
  }

  render({ sale }, { open, free }) {
    const { venue, seats } = sale.state;
    const left = new Array(venue.sections.length).fill(0);
    for (let seat = 0; seat < venue.count; seat += 1) if (seats[seat] === FREE) left[venue.section[seat]] += 1;
    return html`<div class="list">
      <h2 class="unseen">Seats by section</h2>
      <label class="check"><input type="checkbox" checked=${free} onChange=${() => this.setState({ free: !free })} /> Only free seats</label>
      ${venue.sections.map((name, section) => html`<section key=${name} class="list-section">
        <h3><button type="button" aria-expanded=${open === section} onClick=${() => this.setState({ open: open === section ? -1 : section })}>
          <span>${name}</span><small>${left[section] ? `${counted(left[section], "seat")} free` : "none free"}</small></button></h3>
        ${open === section && html`<${Rows} sale=${sale} section=${section} free=${free} />`}
      </section>`)}
      ${venue.areas.length > 0 && html`<section class="list-section"><h3 class="list-areas">Standing</h3>
        <ul>${venue.areas.map((area, index) => html`<li key=${area.guid}><${Places} sale=${sale} index=${index} /></li>`)}</ul></section>`}
    </div>`;
  }
}

function Rows({ sale, section, free }) {
  const { venue, seats, choice } = sale.state;
  const shown = (seat) => !free || seats[seat] === FREE || choice.picked.includes(seat) || sale.orders.mine.has(seat);
  const rows = venue.rows.filter((row) => row.section === section && row.seats.some(shown));
  if (!rows.length) return html`<p class="quiet-text">No seat is free here right now.</p>`;
  return rows.map(({ row, seats: inRow }) => {
    const prices = [...new Set(inRow.map((seat) => venue.categories[venue.category[seat]].total_minor))];
    return html`<div key=${row} class="list-row" role="group" aria-label=${row ? `Row ${row}` : "Seats"}>
      <span class="list-row-name"><b>${row && `Row ${row}`}</b> <small>${prices.map((one) => price(one, venue.currency)).join(", ")}</small></span>
      <div class="list-seats">${inRow.filter(shown).map((seat) => html`<${SeatButton} key=${seat} sale=${sale} seat=${seat} />`)}</div>
    </div>`;
  });
}

function SeatButton({ sale, seat }) {
  const { venue, choice } = sale.state;
  const chosen = choice.picked.includes(seat);
  const can = sale.canPick(seat);
  return html`<button type="button" class="seat" data-state=${seatState(sale, seat)} aria-pressed=${chosen}
    aria-disabled=${!can} aria-label=${seatSentence(sale, seat)}
    onClick=${() => sale.toggle(seat)}>${venue.number[seat]}</button>`;
}
