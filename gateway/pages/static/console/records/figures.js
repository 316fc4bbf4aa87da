// What an event's sale has come to: revenue, orders, refunds. The same sheets as on the figures' own page, by the console's session.

import { html } from "../../html.js";
import { Sheets } from "../../operator/page.js";
import { ofEvent } from "../api.js";
import { Reading } from "../states.js";

const EVERY_MS = 2_000;

/** @param {{event: string, api: any}} props */
export function FiguresPage({ event, api }) {
  return html`<main class="page" id="content">
    <p><a href=${`/console/e/${encodeURIComponent(event)}`}>${event}</a></p>
    <h1 tabindex="-1">Figures</h1>
    <p class="quiet-text">What the sale has come to. Figures decide nothing.</p>
    <${Reading} api=${api} path=${ofEvent(event, "/figures")} every_ms=${EVERY_MS}>${(figures) => html`<div class="figures"><${Sheets} figures=${figures} as_of_ms=${Date.now() - figures.age_ms} /></div>`}<//>
  </main>`;
}
