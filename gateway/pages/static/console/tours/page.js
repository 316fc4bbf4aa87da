// Tours: dates of one show that share a limit per buyer; making one.

import { counted } from "../../core/money.js";
import { Component, html } from "../../html.js";
import { Acting, NeedsRole } from "../acting.js";
import { Empty, Reading } from "../states.js";
import { moment } from "../words.js";

export const PATH = "/v1/operator/tours";

/** @extends {Component<{api: any, tell: any, session: any, go: any}>} */
export class ToursPage extends Component {
  constructor(props) {
    super(props);
    this.acting = new Acting(this);
  }

  #make = async (submitted) => {
    submitted.preventDefault();
    const { slug, name, most } = Object.fromEntries(new FormData(submitted.target));
    const wanted = { slug: slug.trim(), seats_per_buyer_max: Number(most), ...(name.trim() && { name: name.trim() }) };
    const made = await this.acting.do(() => this.props.api.post(PATH, wanted), (tour) => `The tour ${tour.name} was made. Add its dates.`);
    if (made) this.props.go(`/console/tours/${encodeURIComponent(made.slug)}`);
  };

  render({ api, session }, { busy, turn }) {
    return html`<main class="page" id="content">
      <h1 tabindex="-1">Tours</h1>
      <p class="quiet-text">Dates of one show, each an event of its own, with a limit on what one buyer may have on all of them together.</p>
      <${Reading} key=${turn} api=${api} path=${PATH} rows=${2}>${({ tours }) => (tours.length ? html`<div class="card"><table class="table">
        <thead><tr><th scope="col">Tour</th><th scope="col">Most a buyer, on all dates</th><th scope="col">Made</th></tr></thead>
        <tbody>${tours.map((one) => html`<tr key=${one.slug}><th scope="row"><a href=${`/console/tours/${encodeURIComponent(one.slug)}`}>${one.name}</a><small class="below">${one.slug}</small></th>
          <td data-label="Most a buyer">${counted(one.seats_per_buyer_max, "ticket")}</td><td data-label="Made">${moment(one.created_at)}</td></tr>`)}</tbody></table></div>`
        : html`<${Empty} title="There is no tour"><p>Events are sold one by one, each with its own limit.</p><//>`)}<//>
      ${session.may("operator") ? html`<section class="card" aria-labelledby="new-tour"><h2 id="new-tour">A new tour</h2>
        <form class="fields" onSubmit=${this.#make} autocomplete="off"><div class="field-row">
          <label class="field">Name<input name="name" maxlength="200" /></label>
          <label class="field"><span>In addresses <small>(a–z, 0–9 and -)</small></span><input name="slug" required maxlength="64" pattern="[a-z0-9]([a-z0-9\\-]*[a-z0-9])?" autocapitalize="off" spellcheck=${false} /></label>
          <label class="field">Most a buyer, on all dates<input name="most" type="number" required min="1" max="1000" defaultValue="4" /></label></div>
          <p class="quiet-text">The limit is for good: it cannot be changed once the tour is made.</p>
          <p class="card-end"><button class="button main" disabled=${busy}>${busy ? "Sending…" : "Make the tour"}</button></p></form></section>` : html`<${NeedsRole} role="operator" what="Making a tour" />`}
    </main>`;
  }
}
