// The state of a sale, and what needs a hand: shown the same wherever a launch is.

import { html } from "../../html.js";
import { STATES } from "../words.js";

/** With a sign of its own for each, so that colour is not needed. @param {{state: string}} props */
export function State({ state }) {
  const [words, means] = STATES[state] ?? [state, ""];
  return html`<span class="state" data-state=${state} title=${means}><i aria-hidden="true"></i>${words}</span>`;
}

/** What needs a hand now, each with what to do. @param {{needs: {code: string, text: string}[]}} props */
export function Hands({ needs }) {
  if (!needs?.length) return null;
  return html`<ul class="hands" aria-label="Needs a hand now">${needs.map(({ code, text }) => html`<li key=${code} class="hand">${text}</li>`)}</ul>`;
}
