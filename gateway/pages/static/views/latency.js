// How long an answer took, both rounds on one scale. Logarithmic: a tenth of a second and ten seconds
// are both worth seeing.

import { html } from "../html.js";

const MARKS = ["p50", "p95", "p99", "max"];
const LABEL_PX = 92;
const LINE_PX = 44;
const WIDE_PX = 560;

const short = (value) => Number(value.toFixed(value < 10 ? 1 : 0)).toLocaleString("en");
const told = (ms) => (ms >= 1000 ? `${short(ms / 1000)} s` : `${short(ms)} ms`);

/** @param {{rounds: {title: string, result: any}[]}} props */
export function Latency({ rounds }) {
  const shown = rounds.filter(({ result }) => result);
  const values = shown.flatMap(({ result }) => MARKS.map((mark) => result.latency_ms[mark]));
  const low = 10 ** Math.floor(Math.log10(Math.max(0.1, Math.min(...values))));
  const high = 10 ** Math.ceil(Math.log10(Math.max(low * 10, ...values)));
  const part = (ms) => Math.log(Math.max(ms, low) / low) / Math.log(high / low);
  const at = (ms) => LABEL_PX + part(ms) * (WIDE_PX - LABEL_PX - 40);
  const ticks = [];
  for (let tick = low; tick <= high * 1.001; tick *= 10) ticks.push(tick);
  const bottom = shown.length * LINE_PX + 12;
  return html`<figure class="latency">
    <figcaption>Time to an answer <small>half of all · 95 of 100 · 99 of 100 · the last</small></figcaption>
    <svg viewBox=${`0 0 ${WIDE_PX} ${bottom + 20}`} role="img" aria-label=${sentence(shown)}>
      ${ticks.map((tick) => html`<g class="tick" key=${tick}><line x1=${at(tick)} x2=${at(tick)} y1="4" y2=${bottom} />
        <text x=${at(tick)} y=${bottom + 15}>${told(tick)}</text></g>`)}
      ${shown.map(({ title, result }, line) => html`<${Line} key=${title} title=${title} ms=${result.latency_ms} at=${at} y=${line * LINE_PX + 30} />`)}
    </svg>
  </figure>`;
}

function Line({ title, ms, at, y }) {
  return html`<g class="latency-line">
    <text class="line-name" x="0" y=${y + 4}>${title}</text>
    <line x1=${at(ms.p50)} x2=${at(ms.max)} y1=${y} y2=${y} />
    ${MARKS.map((mark) => html`<circle key=${mark} class=${mark} cx=${at(ms[mark])} cy=${y} r=${mark === "p50" ? 6 : 4} />`)}
    <text class="value" x=${at(ms.p50)} y=${y - 11}>${told(ms.p50)}</text>
    ${at(ms.p99) - at(ms.p50) > 48 && html`<text class="value" x=${at(ms.p99)} y=${y - 11}>${told(ms.p99)}</text>`}
  </g>`;
}

const sentence = (shown) =>
  shown.map(({ title, result: { latency_ms: ms } }) => `${title}: half within ${told(ms.p50)}, 99 of 100 within ${told(ms.p99)}.`).join(" ");
