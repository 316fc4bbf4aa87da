// A section of the plan and a row of it, each chosen; everywhere where seats are named.

import { html } from "../../html.js";

/** Sections that have seats, each by number and name: one may have areas alone. @param {import("../../core/plan.js").Venue} venue @returns {[number, string][]} */
export const sectionsOf = (venue) => venue.sections.map((name, index) => [index, name]).filter(([index]) => venue.rows.some(({ section }) => section === index));

/** Its rows as printed. @param {import("../../core/plan.js").Venue} venue @param {number} section */
export const rowsOf = (venue, section) => venue.rows.filter((one) => one.section === section);

/** As chosen, or the first of the section. @returns {import("../../core/plan.js").Row} */
export function rowOf(venue, section, row) {
  const rows = rowsOf(venue, section);
  return rows.find((one) => one.row === row) ?? rows[0];
}

/** @param {{venue: import("../../core/plan.js").Venue, section: number, row: string, all?: boolean, set: (chosen: {section: number, row: string}) => void}} props `all`: also all rows of it together, which is the row "" */
export function Where({ venue, section, row, all = false, set }) {
  const rows = rowsOf(venue, section).filter((one) => !all || one.row);
  const shown = all ? row : rowOf(venue, section, row)?.row;
  const toSection = (event) => {
    const chosen = Number(event.target.value);
    set({ section: chosen, row: all ? "" : (rowsOf(venue, chosen)[0]?.row ?? "") });
  };
  return html`<label class="field">Section<select onChange=${toSection}>${sectionsOf(venue).map(([index, name]) => html`<option key=${index} value=${index} selected=${section === index}>${name}</option>`)}</select></label>
    <label class="field">Row<select onChange=${(event) => set({ section, row: event.target.value })}>${all && html`<option value="" selected=${row === ""}>all rows</option>`}${rows.map((one) => html`<option key=${one.row} value=${one.row} selected=${shown === one.row}>${one.row || "without a row"}</option>`)}</select></label>`;
}

/** Ids of seats as somebody wrote them, and what is wrong with that. @param {import("../../core/plan.js").Venue} venue @param {string} written */
export function seatsNamed(venue, written) {
  const seats = [...new Set(written.split(/[\s,;]+/).filter(Boolean))];
  const unknown = seats.filter((name) => !venue.seatByGuid.has(name));
  if (!seats.length) return { seats, wrong: "Name a seat." };
  return { seats, wrong: unknown.length ? `The plan has no ${unknown.slice(0, 5).join(", ")}. Write ids as the plan has them, such as ${venue.guid[0]}.` : "" };
}

/** Where they are written. */
export const NamesField = ({ venue, value, change }) => html`<label class="field wide-field">Ids of seats, with spaces or commas between<input value=${value} onInput=${change} spellcheck=${false} autocapitalize="off" placeholder=${venue.guid.slice(0, 2).join(", ")} /></label>`;

/** What was picked, each with a way out of it. @param {{items: {key: any, words: string, gone?: boolean, leave: () => void}[]}} props */
export const Picked = ({ items }) => items.length > 0 && html`<ul class="picked" aria-label="Picked">${items.map(({ key, words, gone, leave }) => html`<li key=${key} class=${gone ? "gone" : ""}><span>${words}${gone ? ": somebody has it now" : ""}</span>
  <button type="button" class="dismiss" aria-label=${`Leave out ${words}`} onClick=${leave}><span aria-hidden="true">×</span></button></li>`)}</ul>`;
