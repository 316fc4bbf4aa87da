// What the draw is committed to before anybody joins, and where to check it: the place's name goes along.

import { html } from "../html.js";

/** @param {{sale: import("../core/sale.js").Sale}} props */
export function Commitment({ sale }) {
  const { words, status, place } = sale.room;
  const mine = place ? `?place=${place.place}` : "";
  return html`<details class="card commitment">
    <summary>${words("lobby.proof_title")}</summary>
    <p>${words("lobby.proof_text")}</p>
    <code>${status.seed_sha256}</code>
    ${place && html`<p>${words("lobby.proof_place")}</p><code>${place.place}</code>`}
    <a class="link" href=${`/e/${sale.slug}/draw${mine}`}>${words("lobby.proof_link")}</a>
  </details>`;
}
