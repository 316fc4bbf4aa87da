// First step: what it is called, and its seating plan: a file, one that is made, or a venue that is there.

import { Component, createRef, html } from "../../html.js";
import { counted } from "../../core/money.js";
import { slugOf } from "./body.js";
import { FILE_BYTES_MAX } from "./draft.js";
import { Drawing } from "./drawing.js";
import { Choice, Line } from "./fields.js";
import { money } from "../words.js";

const KINDS = [["file", "A file of your own"], ["make", "Make one"], ["venue", "One that is here"]];
const SHAPES = [["theatre", "A theatre"], ["arena", "An arena"], ["hall", "A standing hall"]];

/** Drag & drop, or a button. @extends {Component<{file: (file: File) => void, name: string}>} */
class Drop extends Component {
  input = createRef();
  state = { over: false };

  #take(files) {
    this.setState({ over: false });
    if (files.length) this.props.file(files[0]);
  }

  render({ name }, { over }) {
    return html`<div class=${`drop ${over ? "over" : ""}`} onDragOver=${(event) => { event.preventDefault(); this.setState({ over: true }); }}
        onDragLeave=${() => this.setState({ over: false })} onDrop=${(event) => { event.preventDefault(); this.#take(event.dataTransfer.files); }}>
      <p><b>${name || "Drop a plan here"}</b></p>
      <p class="quiet-text">A seating plan of pretix (JSON), or a table (CSV) with guid, section, row, number, category and price.</p>
      <button type="button" class="button quiet small" onClick=${() => this.input.current.click()}>${name ? "Choose another file" : "Choose a file"}</button>
      <input ref=${this.input} class="unseen" type="file" tabindex="-1" aria-label="Seating plan" accept=".json,.csv,.tsv,.txt"
        onChange=${(event) => { this.#take(event.target.files); event.target.value = ""; }} />
    </div>`;
  }
}

/** What the plan holds. */
export function Holds({ holds }) {
  return html`<div class="create-holds"><dl class="numbers">
      <div><dt>Seats</dt><dd>${holds.seats.toLocaleString("en")}</dd></div>
      ${holds.places > 0 && html`<div><dt>Standing places</dt><dd>${holds.places.toLocaleString("en")}</dd></div>`}
      <div><dt>Sections</dt><dd>${holds.section_count.toLocaleString("en")}</dd></div><div><dt>Rows</dt><dd>${holds.rows.toLocaleString("en")}</dd></div>
      ${holds.accessible > 0 && html`<div><dt>Wheelchair places</dt><dd>${holds.accessible.toLocaleString("en")}</dd></div>`}
    </dl>
    <table class="table"><caption class="unseen">Categories</caption><thead><tr><th scope="col">Category</th><th scope="col" class="number">How many</th><th scope="col" class="number">In the plan</th></tr></thead>
      <tbody>${holds.categories.map((one) => html`<tr key=${one.name}><th scope="row">${one.name}</th>
        <td class="number" data-label="How many">${(one.seats + one.places).toLocaleString("en")}</td><td class="number" data-label="In the plan">${money(one.price_minor, holds.currency)}</td></tr>`)}</tbody></table>
    ${holds.warnings.length > 0 && html`<ul class="create-warnings" aria-label="Worth a look">${holds.warnings.map((one) => html`<li key=${one}>${one}</li>`)}</ul>`}
  </div>`;
}

/** Areas that a pretix file only draws: with a capacity they are sold. */
function DrawnAreas({ drawn, categories, standing, change }) {
  if (!drawn.length) return null;
  return html`<fieldset class="create-group"><legend>Areas that are drawn</legend>
    <p class="quiet-text">Say how many people one takes, to sell standing places there.</p>
    ${drawn.map((name) => {
      const { capacity = "", category = categories[0]?.name ?? "" } = standing[name] ?? {};
      const put = (more) => change({ ...standing, [name]: { capacity, category, ...more } });
      return html`<div class="field-row" key=${name}><${Line} name=${`area-${name}`} label=${`Places in ${name}`} mode="numeric" value=${capacity} change=${(value) => put({ capacity: value })} />
        <${Choice} name=${`area-of-${name}`} label=${`Price of ${name}`} value=${category} change=${(value) => put({ category: value })} choices=${categories.map((one) => [one.name, one.name])} /></div>`;
    })}</fieldset>`;
}

/** @param {{draft: any, set: (part: string, value: any) => void, seen: any, errors: Record<string, string>, venues: any[], wrong: string}} props */
export function PlanStep({ draft, set, seen, errors, venues, wrong, file, tooLarge }) {
  const { source, reading } = draft;
  const put = (more) => set("source", { ...source, ...more });
  const read = (more) => set("reading", { ...reading, ...more });
  const made = (more) => put({ made: { ...source.made, ...more } });
  const planError = errors.plan ?? errors.venue ?? errors.make ?? wrong;
  return html`<div class="fields">
    <div class="field-row"><${Line} name="name" label="Name" value=${draft.name} change=${(value) => set("name", value)} error=${errors["event.name"]} maxlength="200" says="What buyers read, such as Spring Gala." />
      <${Line} name="slug" label="Address" value=${draft.slug} placeholder=${slugOf(draft.name)} change=${(value) => set("slug", value)} error=${errors["event.slug"]} says=${`Buyers find it at /e/${draft.slug || slugOf(draft.name) || "…"}.`} /></div>
    <fieldset class="create-group"><legend>Seating plan</legend>
      <div class="switch wide" role="group" aria-label="Where the plan comes from">${KINDS.map(([kind, words]) => html`<button key=${kind} type="button" aria-pressed=${source.kind === kind} onClick=${() => put({ kind })}>${words}</button>`)}</div>
      ${source.kind === "file" && html`<${Drop} name=${source.file_name} file=${(one) => (one.size > FILE_BYTES_MAX ? tooLarge(one) : file(one))} />
        <div class="field-row"><${Line} name="currency" label="Currency" value=${reading.currency} maxlength="3" change=${(value) => read({ currency: value.toUpperCase() })} error=${errors["plan.currency"] ?? errors["prices.currency"]} says="Three letters, such as EUR." />
          <${Line} name="default-price" label="Price where the file has none" mode="decimal" value=${reading.default_price} change=${(value) => read({ default_price: value })} says="You set the price of each category in the next step." /></div>`}
      ${source.kind === "make" && html`<div class="field-row"><${Choice} name="kind" label="Kind" value=${source.made.kind} change=${(kind) => made({ kind })} choices=${SHAPES} />
          <${Line} name="seats" label="Seats" mode="numeric" value=${source.made.seats} change=${(seats) => made({ seats })} error=${errors["make.seats"]} />
          ${source.made.kind !== "theatre" && html`<${Line} name="standing" label="Standing places" mode="numeric" value=${source.made.standing} change=${(standing) => made({ standing })} error=${errors["make.standing"]} says="As usual for its size unless you say." />`}
          <${Line} name="currency" label="Currency" value=${reading.currency} maxlength="3" change=${(value) => read({ currency: value.toUpperCase() })} error=${errors["make.currency"] ?? errors["prices.currency"]} /></div>`}
      ${source.kind === "venue" && (venues.length ? html`<${Choice} name="venue" label="Venue" value=${source.venue} change=${(venue) => put({ venue })} error=${errors.venue}
          choices=${[["", "Choose …"], ...venues.map((one) => [one.slug, `${one.name} (${counted(one.seats + one.standing, "place")})`])]} says="A venue never changes; other prices are kept as a plan of this event." />`
        : html`<p class="quiet-text">There is no venue here yet. Send a file, or make one.</p>`)}
      ${planError && html`<p class="create-problem" role="alert">${planError}</p>`}
    </fieldset>
    ${seen && html`<${Drawing} plan=${seen.plan} /><${Holds} holds=${seen.holds} />`}
    ${source.kind === "file" && html`<${DrawnAreas} drawn=${[...new Set([...Object.keys(reading.standing), ...(seen?.drawn ?? [])])]} categories=${seen?.holds.categories ?? []} standing=${reading.standing} change=${(standing) => read({ standing })} />`}
  </div>`;
}
