// Who changed what, when and why: every action by an operator, newest first, of all events or one.

import { html } from "../../html.js";
import { changeInWords } from "../changes.js";
import { to } from "../api.js";
import { Paged } from "../paged.js";
import { Empty } from "../states.js";
import { ago, moment } from "../words.js";

/** @param {{api: any, go: (path: string) => void, search: URLSearchParams}} props */
export function AuditPage({ api, go, search }) {
  const asked = { event: search.get("event") ?? "", who: search.get("who") ?? "" };
  const filter = (submitted) => {
    submitted.preventDefault();
    const wanted = Object.fromEntries(new FormData(submitted.target));
    go(to("/console/audit", { event: wanted.event.trim(), who: wanted.who.trim() }));
  };
  const none = html`<${Empty} title="Nothing was changed"><p>${asked.event || asked.who ? "Nobody changed anything that fits. Names must be whole." : "Every change by an operator is kept here for good."}</p><//>`;
  return html`<main class="page" id="content">
    <h1 tabindex="-1">Audit</h1>
    <p class="quiet-text">Who did what, when and why. It is kept for good.</p>
    <form class="field-row card filter" onSubmit=${filter}>
      <label class="field">Event<input name="event" defaultValue=${asked.event} autocapitalize="off" spellcheck=${false} placeholder="all" /></label>
      <label class="field">Who<input name="who" defaultValue=${asked.who} autocapitalize="off" spellcheck=${false} placeholder="everybody" /></label>
      <button class="button quiet">Show</button>
      ${(asked.event || asked.who) && html`<a class="button quiet" href="/console/audit">Show all</a>`}
    </form>
    <${Paged} api=${api} path="/v1/operator/audit" search=${asked} named="audit" none=${none}>${(rows) => html`<div class="card"><table class="table">
      <thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col">What</th><th scope="col">Why</th><th scope="col">Event</th></tr></thead>
      <tbody>${rows.map((row) => html`<tr key=${row.id}>
        <td data-label="When"><time datetime=${row.at} title=${ago(row.at)}>${moment(row.at)}</time></td><th scope="row">${row.who}</th>
        <td>${changeInWords(row.what)}</td><td data-label="Why">${row.why}</td>
        <td data-label="Event">${row.event ? html`<a href=${`/console/e/${encodeURIComponent(row.event)}`}>${row.event}</a>` : "none"}</td></tr>`)}</tbody></table></div>`}<//>
  </main>`;
}
