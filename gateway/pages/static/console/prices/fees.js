// Fees and tax: changed until the sale begins, with what buyers would pay beside it; afterwards why they stay.

import { listed } from "../../core/money.js";
import { Component, html } from "../../html.js";
import { whyOf } from "../acting.js";
import { meantBy, NO_TERMS, writtenOf } from "../create/body.js";
import { Terms } from "../create/terms.js";
import { money } from "../words.js";
import { priceOf, termsInWords } from "./reckon.js";

/** Of more categories than this a question names the first. */
const NAMED_MAX = 6;

/** As written in the fields. */
const written = ({ fee_minor, fee_basis_points, tax_basis_points, tax_included }, currency) => ({
  fee: fee_minor ? writtenOf(fee_minor, currency) : "", fee_percent: fee_basis_points ? String(fee_basis_points / 100) : "", tax_percent: tax_basis_points ? String(tax_basis_points / 100) : "", tax_included,
});

const same = (one, other) => Object.keys(NO_TERMS).every((name) => one[name] === other[name]);

/** @param {{event: string, offered: any}} props */
export function Settled({ event, offered }) {
  return html`<section class="card" aria-labelledby="fees-title"><h2 id="fees-title">Fees and tax</h2>
    ${offered.state === "closed" ? html`<p>The sale is over, so prices, fees, tax and categories stay as they are. What can still be done is <a href=${`/console/e/${encodeURIComponent(event)}/sales`}>taking orders back</a>, with what was paid for them.</p>`
      : html`<p>The sale has begun, so fees and tax stay as they are: nobody pays another price than the one they were shown before they asked.</p>
        <p class="quiet-text">What can still be changed is which seats and areas have which category; who asks afterwards pays that one's price.</p>`}</section>`;
}

/** @extends {Component<{offered: any, busy: boolean, ask: any, send: (terms: any, seen: any, why: string) => Promise<boolean>}>} */
export class Fees extends Component {
  constructor(props) {
    super(props);
    this.state = { fields: null };
  }

  #send = async (submitted) => {
    submitted.preventDefault();
    const { offered, ask, send } = this.props;
    const { terms, errors } = this.#meant();
    if (Object.keys(errors).length || same(terms, offered.terms)) return;
    const says = [termsInWords(terms, offered.currency), changesOf(offered, terms), "No buyer could ask yet, so everybody pays this. It can be changed until the sale begins."];
    const said = await ask({ title: "Set these fees and tax?", says, act: "Set them", reason: true });
    if (said && (await send(terms, offered.terms, whyOf(said)))) this.setState({ fields: null });
  };

  #fields = () => this.state.fields ?? written(this.props.offered.terms, this.props.offered.currency);
  #meant = () => meantBy(this.#fields(), this.props.offered.currency);

  render({ offered, busy }, { fields }) {
    const { terms, errors } = this.#meant();
    const wrong = Object.keys(errors).length > 0;
    const other = fields !== null && !same(terms, offered.terms);
    const { currency } = offered;
    return html`<section class="card create" aria-labelledby="fees-title"><h2 id="fees-title">Fees and tax</h2>
      <p class="quiet-text">They can be changed until the sale begins. Prices of categories are the plan's, and stay.</p>
      <form class="fields" onSubmit=${this.#send} autocomplete="off">
        <${Terms} terms=${this.#fields()} currency=${currency} errors=${errors} put=${(more) => this.setState({ fields: { ...this.#fields(), ...more } })} />
        ${other && !wrong && html`<div class="create-sum fees-then" role="status"><p>A buyer would pay</p><dl class="numbers">${offered.categories.map((one) => html`<div key=${one.category}><dt>${one.category}</dt><dd>${money(priceOf(one.price_minor, terms).total_minor, currency)} <small>${money(one.total_minor, currency)} now</small></dd></div>`)}</dl></div>`}
        <p class="card-end"><button class="button main" disabled=${busy || !other || wrong}>${busy ? "Sending…" : "Set fees and tax…"}</button>
          ${fields && html`<button type="button" class="button quiet" onClick=${() => this.setState({ fields: null })}>As it is now</button>`}</p></form></section>`;
  }
}

/** What a buyer pays then instead of now. */
export function changesOf({ categories, currency }, terms) {
  const told = categories.map(({ category, price_minor, total_minor }) => `${category} ${money(priceOf(price_minor, terms).total_minor, currency)} instead of ${money(total_minor, currency)}`);
  return `A buyer pays: ${listed(told, NAMED_MAX)}.`;
}
