// The form for a new operator key.

import { Component, html } from "../../html.js";

const DAYS = [["7", "7 days"], ["30", "30 days"], ["90", "90 days"], ["365", "a year"], ["", "until it is revoked"]];
const ROLES = ["viewer", "operator", "owner"];

/** @extends {Component<{create: (wanted: any) => Promise<boolean>, busy: boolean}>} */
export class NewKey extends Component {
  async #send(submitted) {
    submitted.preventDefault();
    const form = submitted.target;
    const { name, role, days, events } = Object.fromEntries(new FormData(form));
    const slugs = events.split(/[\s,]+/).filter(Boolean);
    const wanted = { name: name.trim(), role, ...(days && { expires_in_days: Number(days) }), ...(slugs.length && { events: slugs }) };
    if (await this.props.create(wanted)) form.reset();
  }

  render({ busy }) {
    return html`<section class="card" aria-labelledby="new-key"><h2 id="new-key">A new key</h2>
      <p class="quiet-text">One for each person or program, so that the audit says who did what. A viewer looks at everything and changes nothing; an operator changes sales and the fleet; an owner also keys and people's data.</p>
      <form class="fields" onSubmit=${(event) => this.#send(event)} autocomplete="off">
        <div class="field-row">
          <label class="field">Name<input name="name" required maxlength="40" autocapitalize="off" spellcheck=${false} /></label>
          <label class="field">Role<select name="role">${ROLES.map((role) => html`<option key=${role}>${role}</option>`)}</select></label>
          <label class="field">Counts for<select name="days">${DAYS.map(([days, words]) => html`<option key=${words} value=${days} selected=${days === "90"}>${words}</option>`)}</select></label>
        </div>
        <label class="field"><span>Only for these events <small>(names as in addresses, with commas; nothing: for all)</small></span><input name="events" autocapitalize="off" spellcheck=${false} /></label>
        <p><button class="button main" disabled=${busy}>Make the key</button></p>
      </form></section>`;
  }
}
