// One number, one less, one more.

import { html } from "../html.js";

/** @param {{label: string, value: number, least: number, most: number, set: (value: number) => void}} props */
export function Stepper({ label, value, least, most, set }) {
  const change = (by) => set(Math.min(Math.max(value + by, least), Math.max(most, least)));
  return html`<span class="stepper" role="group" aria-label=${label}>
    <button type="button" aria-label=${`Fewer: ${label}`} disabled=${value <= least} onClick=${() => change(-1)}>−</button>
    <output aria-live="polite">${value}</output>
    <button type="button" aria-label=${`More: ${label}`} disabled=${value >= most} onClick=${() => change(1)}>+</button>
  </span>`;
}
