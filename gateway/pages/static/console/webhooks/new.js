// The form that subscribes an address.

import { Component, html } from "../../html.js";
import { KINDS } from "./kinds.js";

/** @extends {Component<{event: string, add: (wanted: any) => Promise<boolean>, busy: boolean}>} */
export class NewWebhook extends Component {
  #send = async (submitted) => {
    submitted.preventDefault();
    const form = submitted.target;
    const said = new FormData(form);
    const event = said.get("event").trim();
    const wanted = { url: said.get("url").trim(), event: event || null, kinds: said.getAll("kinds"), from_start: said.has("from_start"), why: said.get("why") };
    if (await this.props.add(wanted)) form.reset();
  };

  render({ event, busy }) {
    return html`<section class="card" aria-labelledby="new-webhook"><h2 id="new-webhook">Subscribe an address</h2>
      <form class="fields" onSubmit=${this.#send} autocomplete="off">
        <div class="field-row"><label class="field wide-field">Address<input name="url" type="url" required maxlength="2000" placeholder="https://example.org/hook" autocapitalize="off" spellcheck=${false} /></label>
          <label class="field"><span>Only of this event <small>(nothing: of all)</small></span><input name="event" defaultValue=${event} autocapitalize="off" spellcheck=${false} /></label></div>
        <fieldset class="create-group"><legend>Told when (none ticked: always)</legend><div class="kinds">
          ${Object.entries(KINDS).map(([kind, words]) => html`<label class="check" key=${kind}><input type="checkbox" name="kinds" value=${kind} /> <span>${words} <small>${kind}</small></span></label>`)}</div></fieldset>
        <label class="check"><input type="checkbox" name="from_start" /> Also what became true before now</label>
        <label class="field"><span>Reason for the log <small>(may be left out)</small></span><input name="why" maxlength="200" /></label>
        <p class="card-end"><button class="button main" disabled=${busy}>${busy ? "Sending…" : "Subscribe it"}</button></p></form></section>`;
  }
}
