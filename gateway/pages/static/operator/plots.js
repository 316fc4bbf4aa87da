// Small plots as SVG in the page: a bar of a part, and orders minute by minute. What they show is also said in words.

import { html } from "../html.js";

const MINUTE_MS = 60_000;
const MINUTES_SHOWN = 60;
const STEP = 10;
const HEIGHT = 120;

/** A bar, filled by a part of one. @param {{part: number}} props */
export function Bar({ part }) {
  const width = 100 * Math.min(1, Math.max(0, part));
  return html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class="bar-ground" width="100" height="8" /><rect class="bar-part" width=${width} height="8" /></svg>`;
}

/** The last hour, minute by minute; older ones where nothing was booked since. @param {{minutes: {at: number, orders: number, places: number}[], now_ms: number}} props */
export function Minutes({ minutes, now_ms }) {
  if (!minutes.length) return html`<p class="quiet-text">No orders yet.</p>`;
  const newest = minutes[minutes.length - 1].at;
  const last = now_ms - newest < MINUTES_SHOWN * MINUTE_MS ? Math.max(newest, now_ms - (now_ms % MINUTE_MS)) : newest;
  const first = last - (MINUTES_SHOWN - 1) * MINUTE_MS;
  const shown = minutes.filter(({ at }) => at >= first);
  const most = Math.max(...shown.map(({ orders }) => orders));
  const all = shown.reduce((sum, { orders }) => sum + orders, 0);
  const words = `${all.toLocaleString("en")} orders from ${time(first)} to ${time(last)}; at most ${most.toLocaleString("en")} in a minute.`;
  return html`<p>${words}</p>
    <svg class="minutes" viewBox=${`0 0 ${MINUTES_SHOWN * STEP} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${words}>
      ${shown.map(({ at, orders }) => html`<${Minute} key=${at} x=${((at - first) / MINUTE_MS) * STEP} part=${orders / most} told=${`${time(at)}: ${orders}`} />`)}
      <line class="ground-line" x1="0" x2=${MINUTES_SHOWN * STEP} y1=${HEIGHT} y2=${HEIGHT} />
    </svg>
    <p class="axis" aria-hidden="true"><span>${time(first)}</span><span>${time((first + last) / 2)}</span><span>${time(last)}</span></p>`;
}

function Minute({ x, part, told }) {
  const height = Math.max(2, part * (HEIGHT - 4));
  return html`<rect class="bar-part" x=${x + 1} y=${HEIGHT - height} width=${STEP - 2} height=${height}><title>${told}</title></rect>`;
}

const time = (moment_ms) => new Date(moment_ms).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
