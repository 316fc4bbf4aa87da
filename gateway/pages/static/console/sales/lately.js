// What was sold by hand and taken back lately, as the audit has it, and taking one of these orders back.

import { html } from "../../html.js";
import { ofEvent } from "../api.js";
import { Reading } from "../states.js";
import { moment } from "../words.js";
import { had, quantityOf } from "./back.js";

const ROWS_MAX = 200;
const AS = { box_office: "sold", complimentary: "given" };

/** @param {{event: string, api: any, busy: boolean, back: ((order: any) => void) | null}} props */
export function Lately({ event, api, busy, back }) {
  return html`<section class="card" aria-labelledby="lately-title"><h2 id="lately-title">By hand, lately</h2>
    <${Reading} api=${api} path=${ofEvent(event, `/audit?limit=${ROWS_MAX}`)} rows=${1}>${({ audit }) => {
      const rows = audit.filter(({ what }) => what.change === "sell" || what.change === "return");
      if (!rows.length) return html`<p class="quiet-text">Among the last ${ROWS_MAX} changes of this event none was a sale by hand or an order taken back. <a href=${`/console/audit?event=${encodeURIComponent(event)}`}>The audit</a> has all of them.</p>`;
      return html`<table class="table"><thead><tr><th scope="col">Order</th><th scope="col">What</th><th scope="col">For</th><th scope="col">When, by whom</th><th scope="col"><span class="unseen">Change</span></th></tr></thead>
        <tbody>${rows.map(({ id, at, who, why, what }) => {
          const left = what.change === "sell" ? leftOf(what, rows) : null;
          return html`<tr key=${id}><th scope="row">${what.hold}</th><td data-label="What">${what.change === "sell" ? AS[what.as] : "taken back"}: ${had(what)}</td><td data-label="For">${what.buyer}</td>
            <td data-label="When"><time datetime=${at}>${moment(at)}</time> by ${who}<small class="below">${why}</small></td>
            <td>${left && (quantityOf(left) ? back && html`<div class="cell-buttons"><button type="button" class="button quiet small" disabled=${busy} onClick=${() => back(left)}>Take back…<span class="unseen"> order ${what.hold}</span></button></div>` : html`<span class="quiet-text">taken back</span>`)}</td></tr>`;
        })}</tbody></table>`;
    }}<//></section>`;
}

/** What is left of an order that was sold by hand, by what was taken back of it since. */
export function leftOf({ hold, buyer, seats, areas }, rows) {
  const back = rows.filter(({ what }) => what.change === "return" && what.hold === hold).map(({ what }) => what);
  const gone = new Set(back.flatMap((one) => one.seats));
  const left = Object.entries(areas).map(([area, n]) => [area, n - back.reduce((sum, one) => sum + (one.areas[area] ?? 0), 0)]);
  return { hold, buyer, seats: seats.filter((seat) => !gone.has(seat)), areas: Object.fromEntries(left.filter(([, n]) => n > 0)) };
}
