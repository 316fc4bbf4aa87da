// Fields with their sentence and, where there is one, their problem: read out with the field, seen beside it.

import { html } from "../../html.js";

const idOf = (name) => `field-${name.replace(/[^A-Za-z0-9]+/g, "-")}`;

/** @param {{name: string, label: string, says?: string, error?: string, children: any}} props */
function Framed({ name, label, says, error, children }) {
  const id = idOf(name);
  return html`<div class=${`field create-field ${error ? "has-error" : ""}`}>
    <label for=${id}>${label}</label>
    ${children(id, says || error ? `${id}-says` : undefined)}
    <p id=${`${id}-says`} class="field-says">${error && html`<b class="field-error">${label} ${error}.</b> `}${says}</p>
  </div>`;
}

/** A line of text, a number or a time. @param {{name: string, label: string, value: string, change: (value: string) => void, says?: string, error?: string, type?: string, unit?: string}} props */
export function Line({ name, label, value, change, says, error, type = "text", mode, unit, ...more }) {
  return html`<${Framed} name=${name} label=${label} says=${says} error=${error}>${(id, described) => html`<span class="with-unit">
    <input id=${id} type=${type} inputmode=${mode} value=${value} aria-invalid=${error ? "true" : undefined} aria-describedby=${described}
      onInput=${(event) => change(event.target.value)} ...${more} />${unit && html`<span class="unit">${unit}</span>`}</span>`}</${Framed}>`;
}

export function Text({ name, label, value, change, says, error, ...more }) {
  return html`<${Framed} name=${name} label=${label} says=${says} error=${error}>${(id, described) => html`<textarea id=${id} value=${value}
    aria-invalid=${error ? "true" : undefined} aria-describedby=${described} onInput=${(event) => change(event.target.value)} ...${more}></textarea>`}</${Framed}>`;
}

/** @param {{choices: [string, string][]}} props value and words of each */
export function Choice({ name, label, value, change, says, error, choices }) {
  return html`<${Framed} name=${name} label=${label} says=${says} error=${error}>${(id, described) => html`<select id=${id} value=${value}
    aria-describedby=${described} onChange=${(event) => change(event.target.value)}>
    ${choices.map(([one, words]) => html`<option key=${one} value=${one} selected=${one === value}>${words}</option>`)}</select>`}</${Framed}>`;
}

export function Check({ name, label, value, change, says, error }) {
  const id = idOf(name);
  return html`<div class="create-check"><label class="check" for=${id}><input id=${id} type="checkbox" checked=${value} aria-describedby=${`${id}-says`}
    onChange=${(event) => change(event.target.checked)} /> ${label}</label>
    <p id=${`${id}-says`} class="field-says">${error && html`<b class="field-error">${label} ${error}.</b> `}${says}</p></div>`;
}
