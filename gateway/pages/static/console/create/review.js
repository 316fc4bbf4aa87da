// The last step: what is missing, what is worth a look, and the two ways to make it; and what was made.

import { html } from "../../html.js";
import { counted } from "../../core/money.js";
import { saidRoom, saidTime } from "./summary.js";
import { money } from "../words.js";

/** What must be there before anything can be made: (step, words). */
const missing = ({ draft, seen }) => [
  ...(draft.name || draft.slug ? [] : [[0, "Give it a name."]]),
  ...(seen ? [] : [[0, "Choose a seating plan."]]),
];

export function Review({ draft, seen, making, make, go, wrong }) {
  const gaps = missing({ draft, seen });
  const opens = draft.times.opens_at;
  const lobby = draft.room.wanted && draft.times.lobby_opens_at;
  return html`<div class="fields">
    ${gaps.length > 0 ? html`<ul class="create-warnings" aria-label="Still missing">${gaps.map(([step, words]) => html`<li key=${words}>${words} <button type="button" class="button quiet small" onClick=${() => go(step)}>Go there</button></li>`)}</ul>`
      : html`<p>${seen.holds.name}: ${counted(seen.holds.seats + seen.holds.places, "place")}. ${lobby ? `Its lobby opens by itself on ${saidTime(lobby)}. ` : ""}${opens ? `It opens by itself on ${saidTime(opens)}.` : "You open it by hand."} Waiting room: ${saidRoom(draft)}.</p>`}
    ${wrong && html`<p class="create-problem">${wrong}</p>`}
    ${opens && draft.room.wanted && !lobby && html`<p class="create-warnings">Only the sale opens by itself. Say when its lobby does, or open it by hand before, so that buyers can join the line.</p>`}
    ${seen?.holds.warnings.length > 0 && html`<ul class="create-warnings" aria-label="Worth a look">${seen.holds.warnings.map((one) => html`<li key=${one}>${one}</li>`)}</ul>`}
    <p class="quiet-text">All of it is made at once, or nothing. A draft is seen by nobody, and can be rehearsed.${draft.room.wanted ? " With the lobby open, buyers may join the waiting room now." : ""}</p>
    <p class="create-next"><button type="button" class="button main" disabled=${gaps.length > 0 || making} onClick=${() => make("draft")}>Create as draft</button>
      ${draft.room.wanted ? html`<button type="button" class="button quiet" disabled=${gaps.length > 0 || making} onClick=${() => make("lobby")}>Create and open the lobby now</button>`
        : html`<button type="button" class="button quiet" disabled=${gaps.length > 0 || making} onClick=${() => make("open")}>Create and sell at once</button>`}</p>
  </div>`;
}

/** @param {{made: any, go: (path: string) => void}} props */
export function Made({ made, go }) {
  const { event, seats, places, prices, codes } = made;
  const states = { draft: "It is a draft: nobody sees it yet.", lobby: "Its lobby is open: buyers may join.", open: "It sells." };
  const path = `/console/e/${event.slug}`;
  return html`<div class="card create-made" role="status"><h1 tabindex="-1">${event.name} is made</h1>
    <p>${counted(seats + places, "place")}. ${states[event.state]}</p>
    <ul>${prices.categories.map((one) => html`<li key=${one.category}>${one.category}: <b class="money">${money(one.total_minor, prices.currency)}</b></li>`)}</ul>
    ${codes.map((one) => html`<label class="field create-codes" key=${one.label}><span>Codes for ${one.label}: told this once, keep them</span><textarea readonly rows="4" value=${one.codes.join("\n")}></textarea></label>`)}
    <p class="create-next"><button type="button" class="button main" onClick=${() => go(`${path}/rehearse`)}>Rehearse it</button>
      <button type="button" class="button quiet" onClick=${() => go(path)}>See the launch</button></p></div>`;
}
