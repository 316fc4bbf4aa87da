// What a rehearsal showed: what the sale takes, large; then both storms beside each other; then quietly that the laws held.

import { counted } from "../../core/money.js";
import { html } from "../../html.js";

const WIDTH = 300;
const HEIGHT = 100;

/** Decisions over time; both plots share their scales. @param {{run: any, most: number, seconds_max: number}} props */
function Plot({ run, most, seconds_max }) {
  const across = (step) => ((step * run.step_seconds) / seconds_max) * WIDTH;
  const up = (count) => HEIGHT - (count / run.step_seconds / most) * (HEIGHT - 4);
  const points = run.curve.map((count, step) => `${across(step + 0.5).toFixed(1)},${up(count).toFixed(1)}`);
  const said = `Decisions over time, fast gate ${run.gate ? "on" : "off"}: ${run.decided.toLocaleString("en")} in ${run.seconds} seconds`;
  return html`<figure class="plot"><figcaption><b>Fast gate ${run.gate ? "on" : "off"}</b></figcaption>
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${said}>
      <path class="under" d=${`M0,${HEIGHT}L${points.join("L")}L${across(run.curve.length).toFixed(1)},${HEIGHT}Z`} /><path d=${`M${points.join("L")}`} /><line x1="0" y1=${HEIGHT} x2=${WIDTH} y2=${HEIGHT} />
    </svg>
    <dl class="numbers"><div><dt>Decisions a second</dt><dd>${Math.round(run.decisions_per_second).toLocaleString("en")}</dd></div>
      <div><dt>Half answered within</dt><dd>${Math.round(run.latency_ms_p50).toLocaleString("en")} ms</dd></div>
      <div><dt>99 of 100 within</dt><dd>${Math.round(run.latency_ms_p99).toLocaleString("en")} ms</dd></div>
      <div><dt>Refused at once</dt><dd>${run.not_queued.toLocaleString("en")}</dd></div>
      <div><dt>Sold out after</dt><dd>${run.sold_out_seconds === null ? "not sold out" : `${run.sold_out_seconds.toFixed(1)} s`}</dd></div>
      <div><dt>Findings of the checker</dt><dd>${run.findings.length.toLocaleString("en")}</dd></div></dl></figure>`;
}

/** "a minute", or so many. @param {number} minutes */
const within = (minutes) => (minutes <= 1 ? "a minute" : counted(Math.ceil(minutes), "minute"));

/** @param {{rehearsal: any, room: any, busy: boolean, usePace: (pace: number) => void}} props */
export function Result({ rehearsal, room, busy, usePace }) {
  const { measured, sizing } = rehearsal.result;
  const most = Math.max(1, ...measured.runs.flatMap((run) => run.curve.map((count) => count / run.step_seconds)));
  const seconds_max = Math.max(...measured.runs.map((run) => run.curve.length * run.step_seconds));
  const sum = (of) => measured.runs.reduce((all, run) => all + of(run), 0);
  const [broken, unanswered] = [sum((run) => run.findings.length), sum((run) => run.unanswered)];
  const pace = sizing.pace.toLocaleString("en");
  const now = room?.terms.pace;
  return html`<section class="card" aria-labelledby="rehearse-result"><h2 id="rehearse-result">What it takes</h2>
    ${broken + unanswered > 0 && html`<p class="create-problem" role="alert"><b>Do not open it like this:</b> ${counted(broken, "finding")} of the checker, ${counted(unanswered, "request")} without an answer.</p>`}
    <div class="rehearsal-said"><p class="takes">${counted(sizing.buyers, "buyer")} need <b>${counted(sizing.gateways, "gateway")}</b>, at <b>${pace} a minute</b>.</p>
      <p>With ${counted(sizing.slots, "allocator slot")}, on ${counted(sizing.hosts, "host")}. Then everybody is let in within ${within(sizing.minutes_to_admit)}, and it can be sold out after ${within(sizing.minutes_to_sell_out)}. The pace is bound by ${sizing.pace_bound_by}.</p></div>
    ${room ? html`<p class="create-next"><button type="button" class="button main" disabled=${busy || now === sizing.pace} onClick=${() => usePace(sizing.pace)}>Use this pace: ${pace} a minute</button>
        <span class="quiet-text">${now === sizing.pace ? "It is the waiting room’s pace." : `The waiting room’s pace is ${now === null ? "not set" : `${now.toLocaleString("en")} a minute`}.`}</span></p>`
      : html`<p class="quiet-text">This event has no waiting room, so there is no pace to set: everybody comes at once, as in the storms below.</p>`}
    <h3>Both storms, with the fast gate and without</h3>
    <p class="quiet-text">Decisions a second over time. The copies are open, and everybody asks at once: nobody comes through the waiting room, whose pace would spread them.</p>
    <div class="plots">${measured.runs.map((run) => html`<${Plot} key=${run.gate} run=${run} most=${most} seconds_max=${seconds_max} />`)}</div>
    <h3>What one machine did</h3>
    <dl class="numbers"><div><dt>Joins a second, one gateway</dt><dd>${Math.round(measured.joins_per_second).toLocaleString("en")}</dd></div>
      <div><dt>Memory of an open page</dt><dd>${Math.round(measured.bytes_per_socket / 1024).toLocaleString("en")} KiB</dd></div>
      <div><dt>One event’s ceiling</dt><dd>${sizing.decisions_per_second_max.toLocaleString("en")} a second</dd></div></dl>
    ${broken + unanswered === 0 && html`<p class="quiet-text">${counted(measured.buyers, "buyer")} stormed copies of ${measured.event}, and every law held: nothing was sold twice, nobody was overtaken, everybody was answered.</p>`}
  </section>`;
}
