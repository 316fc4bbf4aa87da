// Categories with what a buyer pays, and how their seats and places stand.

import { html } from "../../html.js";
import { count, money } from "../words.js";
import { termsInWords } from "./reckon.js";
import { inAll } from "./standing.js";

const COLUMNS = [["all", "Places"], ["free", "Free"], ["held", "On hold"], ["sold", "Sold"], ["blocked", "Off sale"]];

/** A category by its colour on the map and its name. */
export const Named = ({ category }) => html`<span class="price-name"><i class="disc" style=${{ background: category.colour }} aria-hidden="true"></i>${category.name}</span>`;

/** @param {{venue: import("../../core/plan.js").Venue, offered: any, standing: ReturnType<typeof import("./standing.js").standingOf>}} props */
export function Prices({ venue, offered, standing }) {
  const { currency, terms } = offered;
  const all = inAll(standing);
  const cells = (one) => COLUMNS.map(([name, words]) => html`<td key=${name} class="number" data-label=${words}>${count(one[name])}</td>`);
  return html`<section class="card" aria-labelledby="prices-title"><h2 id="prices-title">What buyers pay</h2>
    <p class="quiet-text">${termsInWords(terms, currency)}</p>
    <table class="table prices"><thead><tr><th scope="col">Category</th><th scope="col" class="number">Price</th><th scope="col" class="number">Fee</th><th scope="col" class="number">${terms.tax_included ? "Tax in it" : "Tax on top"}</th><th scope="col" class="number">A buyer pays</th>
        ${COLUMNS.map(([name, words]) => html`<th scope="col" class="number" key=${name}>${words}</th>`)}</tr></thead>
      <tbody>${venue.categories.map((one, index) => html`<tr key=${one.name}><th scope="row"><${Named} category=${one} /></th><td class="number" data-label="Price">${money(one.price_minor, currency)}</td><td class="number" data-label="Fee">${money(one.fee_minor, currency)}</td>
        <td class="number" data-label=${terms.tax_included ? "Tax in it" : "Tax on top"}>${money(one.tax_minor, currency)}</td><td class="number price-total" data-label="A buyer pays">${money(one.total_minor, currency)}</td>${cells(standing[index])}</tr>`)}</tbody>
      ${standing.length > 1 && html`<tfoot><tr><th scope="row" colspan="5">All together</th>${cells(all)}</tr></tfoot>`}</table></section>`;
}
