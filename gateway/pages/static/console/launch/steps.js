// Where buyers drop off on their way, what was decided, and who was turned away.

import { counted } from "../../core/money.js";
import { html } from "../../html.js";
import { Bar } from "../../operator/plots.js";
import { count, spell } from "../words.js";

const STEPS = {
  joined: "joined the line", in_line: "stood in it when it counted", called: "were let in", began: "began to choose",
  asked: "asked for seats", held: "had seats on hold", paid: "paid",
};
const OUTCOMES = {
  held: "got seats on hold", taken: "the seat went to somebody before", sold_out: "nothing left that fits", waitlisted: "put on the waiting list",
  limit_reached: "over the limit per buyer", conflict: "same key, other wish", closed: "not on sale at that moment", invalid: "could not be read",
};
const REASONS = {
  too_many_joins_from_address: "too many joins from one address", too_many_joins: "one buyer joined too often", too_many_codes_from_address: "too many presale codes from one address",
  too_many_codes_tried: "one buyer tried too many presale codes", proof_required: "no proof of work came", proof_not_valid: "the proof of work was wrong",
  proof_expired: "the proof of work was too old", proof_used: "the proof of work was used before", too_many_wait_from_address: "too many wait from one address",
  wait_not_over: "came before their wait was over", wait_not_valid: "the wait they showed was not theirs", human_check_failed: "the human check was not passed",
};

/** @param {{steps: {step: string, count: number}[], age_ms: number}} props */
export function Steps({ steps, age_ms }) {
  const most = Math.max(1, ...steps.map((step) => step.count));
  return html`<section class="card" aria-labelledby="steps-title">
    <div class="page-head"><h2 id="steps-title">Where buyers drop off</h2><small>as of ${spell(age_ms / 1000)} ago</small></div>
    <ol class="steps">${steps.map(({ step, count: reached }, index) => {
      const before = steps[index - 1]?.count;
      const lost = before ? Math.round(((before - reached) * 100) / before) : 0;
      return html`<li key=${step}><span>${STEPS[step] ?? step.replaceAll("_", " ")}</span><b>${count(reached)}</b><small>${before && lost > 0 ? `−${lost} %` : ""}</small><${Bar} part=${reached / most} /></li>`;
    })}</ol></section>`;
}

/** @param {{outcomes: Record<string, number>, turned_away: {reason: string, count: number}[]}} props */
export function Answers({ outcomes, turned_away }) {
  const rows = Object.entries(outcomes).filter(([, number]) => number > 0).sort(([, a], [, b]) => b - a);
  return html`<section class="card" aria-labelledby="answers-title">
    <h2 id="answers-title">What was answered</h2>
    ${rows.length ? html`<dl class="lines">${rows.map(([outcome, number]) => html`<div key=${outcome}><dt>${OUTCOMES[outcome] ?? outcome}</dt><dd>${count(number)}</dd></div>`)}</dl>` : html`<p class="quiet-text">No request was decided yet.</p>`}
    <h3>Turned away before the line</h3>
    ${turned_away.length ? html`<dl class="lines">${turned_away.map(({ reason, count: number }) => html`<div key=${reason}><dt>${REASONS[reason] ?? reason.replaceAll("_", " ")}</dt><dd>${count(number)}</dd></div>`)}</dl>` : html`<p class="quiet-text">${counted(0, "visitor")} so far.</p>`}
  </section>`;
}
