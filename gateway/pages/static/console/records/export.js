// What can be taken out of an event, as files. Those that name people are for owners.

import { html } from "../../html.js";
import { ofEvent } from "../api.js";

const FILES = [
  ["orders", "Orders", "What was sold, to whom, for how much; refunds in it.", true],
  ["buyers", "Buyers", "Each buyer with what they asked for and have.", true],
  ["decisions", "Decisions", "Each request with its arrival, its decision and its place in the ledger.", false],
  ["seats", "Seats", "Each seat and how it stands.", false],
  ["history", "History", "How the sale stood over time: what the charts show.", false],
];

/** @param {{event: string, session: any}} props */
export function ExportPage({ event, session }) {
  return html`<main class="page" id="content">
    <p><a href=${`/console/e/${encodeURIComponent(event)}`}>${event}</a></p>
    <h1 tabindex="-1">Export</h1>
    <p class="quiet-text">Files are written while you load them, as things stand then. CSV opens in any spreadsheet; JSON is for programs.</p>
    <div class="card"><table class="table">
      <thead><tr><th scope="col">What</th><th scope="col">What is in it</th><th scope="col">File</th></tr></thead>
      <tbody>${FILES.map(([what, name, says, people]) => html`<tr key=${what}><th scope="row">${name}</th><td>${says}</td>
        <td><div class="cell-buttons">${people && !session.may("owner") ? html`<span class="quiet-text">It names people: for owners.</span>`
          : ["csv", "json"].map((format) => html`<a key=${format} class="button quiet small" download href=${ofEvent(event, `/export/${what}.${format}`)}>${format.toUpperCase()}<span class="unseen"> of ${name}</span></a>`)}</div></td></tr>`)}
        <tr><th scope="row">Settlement</th><td>What was taken, refunded and is owed, by category.</td><td><div class="cell-buttons"><a class="button quiet small" download href=${ofEvent(event, "/settlement.csv")}>CSV<span class="unseen"> of the settlement</span></a></div></td></tr>
      </tbody></table></div>
  </main>`;
}
