// One tour: its dates, and making a draft one of them.

import { counted } from "../../core/money.js";
import { Component, html } from "../../html.js";
import { Acting, NeedsRole, together, whyOf } from "../acting.js";
import { State } from "../launches/state.js";
import { Empty, Reading } from "../states.js";
import { PATH } from "./page.js";

/** @extends {Component<{tour: string, api: any, ask: any, tell: any, session: any}>} */
export class TourPage extends Component {
  constructor(props) {
    super(props);
    this.acting = new Acting(this);
  }

  #add = async (submitted, tour) => {
    submitted.preventDefault();
    const event = new FormData(submitted.target).get("event");
    const says = [`What a buyer may have on all dates of ${tour.name} together is ${counted(tour.seats_per_buyer_max, "ticket")}, from this event's first sale on.`, "This cannot be taken back: a date stays in its tour."];
    const said = await this.props.ask({ title: `Make ${event} a date of ${tour.name}?`, says, act: "Make it a date", reason: true });
    if (said) await this.acting.do(() => this.props.api.post(`${this.#path()}/events`, { event, why: whyOf(said) }), `${event} is a date of ${tour.name}.`);
  };

  #path = () => `${PATH}/${encodeURIComponent(this.props.tour)}`;

  render({ tour: slug, api, session }, { busy, turn }) {
    const may = session.may("operator");
    return html`<main class="page" id="content">
      <p><a href="/console/tours">Tours</a></p>
      <h1 tabindex="-1">${slug}</h1>
      <${Reading} key=${turn} api=${together(api, { told: this.#path(), all: "/v1/operator/events" })} path=${slug} rows=${2}>${({ told: { tour, events }, all }) => html`
        <p>${tour.name}: one buyer may have ${counted(tour.seats_per_buyer_max, "ticket")} on all dates together.</p>
        ${events.length ? html`<div class="card"><table class="table"><thead><tr><th scope="col">Date</th><th scope="col">State</th></tr></thead>
          <tbody>${events.map((one) => html`<tr key=${one.slug}><th scope="row"><a href=${`/console/e/${encodeURIComponent(one.slug)}`}>${one.name}</a><small class="below">${one.slug}</small></th><td data-label="State"><${State} state=${one.state} /></td></tr>`)}</tbody></table></div>`
          : html`<${Empty} title="It has no dates yet"><p>Make drafts its dates before they sell.</p><//>`}
        ${may ? this.#form(tour, all.events.filter((one) => one.state === "draft" && !one.tour), busy) : html`<${NeedsRole} role="operator" what="Adding a date" />`}`}<//>
    </main>`;
  }

  #form(tour, drafts, busy) {
    return html`<section class="card" aria-labelledby="new-date"><h2 id="new-date">Add a date</h2>
      ${drafts.length ? html`<form class="field-row" onSubmit=${(submitted) => this.#add(submitted, tour)}>
        <label class="field">A draft<select name="event">${drafts.map((one) => html`<option key=${one.slug} value=${one.slug}>${one.name} (${one.slug})</option>`)}</select></label>
        <button class="button main" disabled=${busy}>Make it a date…</button></form>`
        : html`<p class="quiet-text">Only drafts that are of no tour can join, and there is none. <a href="/console/new">Make one</a>.</p>`}</section>`;
  }
}
