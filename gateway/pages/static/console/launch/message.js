// The field for a message to all who wait, in the dialog that sends it.

import { html } from "../../html.js";

const LENGTH_MAX = 500;
/** Sentences that are needed in a hurry. */
const READY = [
  "We have paused for a moment. You keep your place; nothing is lost.",
  "More people came than we had expected, so it takes longer. You keep your place.",
  "Payments are slow just now. Your seats stay yours while you pay.",
];

/** @param {string | null} message what they read now */
export function messageField(message) {
  const take = (click) => {
    const field = click.target.closest("form").querySelector("textarea");
    field.value = click.target.textContent;
    field.focus();
  };
  return html`<div class="fields">
    <label class="field"><span>Message <small>(nothing: take it off)</small></span><textarea name="text" maxlength=${LENGTH_MAX} defaultValue=${message ?? ""}></textarea></label>
    <div class="ready" role="group" aria-label="Sentences to begin with">${READY.map((words) => html`<button key=${words} type="button" onClick=${take}>${words}</button>`)}</div>
  </div>`;
}
