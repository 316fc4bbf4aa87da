// In line: the number first, then the wait and why it changed, then how far it is; everything else is quieter.

import { progressOf } from "../core/roomline.js";
import { html } from "../html.js";
import { Commitment } from "./commitment.js";
import { MailMe } from "./mail.js";
import { Leave, ResumeLink, TellMe } from "./place.js";

/** @typedef {import("../core/sale.js").Sale} Sale */

const HOURS_FROM_MINUTES = 120;
const REASONS = ["lag", "payments_failing", "full_inside"];

/** @param {{sale: Sale}} props */
export function Drawing({ sale }) {
  const { words } = sale.room;
  return html`<${Busy} words=${words} of="drawing" />`;
}

/** @param {{sale: Sale}} props */
export function Deciding({ sale }) {
  const { words } = sale.room;
  return html`<${Busy} words=${words} of="deciding" />`;
}

function Busy({ words, of }) {
  return html`<section class="card" aria-label=${words(`${of}.title`)}>
    <h2 tabindex="-1">${words(`${of}.title`)}</h2>
    <p>${words(`${of}.text`)}</p>
    <div class="in-line" aria-hidden="true"><i></i></div>
    <p class="quiet-text">${words("line.keep")}</p>
  </section>`;
}

/** @param {{sale: Sale}} props */
export function Line({ sale }) {
  const { room } = sale;
  const { words, status, place, ahead } = room;
  const stop = status.sold_out ? "sold_out" : status.phase === "stopped" || status.phase === "paused" ? status.phase : "";
  return html`
    <section class="card line-card" aria-label=${words("line.title")}>
      <h2 tabindex="-1">${words(stop ? `${stop}.title` : "line.title")}</h2>
      ${stop && html`<p>${words(`${stop}.text`)}</p>`}
      <p class="line-number"><span>${words("line.number")}</span> <b class="place-figures">${place.position.toLocaleString("en")}</b></p>
      <p class="large">${room.aheadInWords()}</p>
      ${!stop && html`<${Wait} room=${room} />`}
      <${Way} words=${words} part=${progressOf(ahead, room.from)} still=${stop !== ""} />
      ${status.seats_left !== null && !status.sold_out && html`<p class="quiet-text">${seatsInWords(words, status.seats_left, ahead)}</p>`}
      ${place.lane === "priority" && html`<p class="quiet-text">${words("line.lane")}</p>`}
      <p class="quiet-text">${words(sale.demo ? "line.keep_tab" : "line.keep")}</p>
    </section>
    <section class="card quieter" aria-label=${words("resume")}>
      <${TellMe} room=${room} /><${MailMe} room=${room} /><${ResumeLink} sale=${sale} /><${Leave} room=${room} />
    </section>
    ${status.policy === "draw" && html`<${Commitment} sale=${sale} />`}`;
}

function seatsInWords(words, count, ahead) {
  if (count === 0) return words("line.none_left");
  return words("line.seats_left", { count }) + (count <= ahead ? ` · ${words("line.few")}` : "");
}

/** The range, and the reason where it is not what it was. */
function Wait({ room }) {
  const { words, wait, turn, status } = room;
  const why = status.reason && words(`reason.${REASONS.includes(status.reason) ? status.reason : "other"}`);
  return html`<div class="wait">
    <p class=${wait ? "large" : "quiet-text"}>${waitInWords(words, wait)}</p>
    ${(turn || why) && html`<p class="why">${turn && words(`line.${turn}`)} ${why}</p>`}
  </div>`;
}

/** @param {(code: string, values?: any) => string} words @param {{low: number, high: number} | null} wait */
export function waitInWords(words, wait) {
  if (!wait) return words("line.wait_unknown");
  if (wait.high <= 1) return words("line.wait_under");
  if (wait.high < HOURS_FROM_MINUTES) return words("line.wait", wait);
  const low = Math.max(1, Math.floor(wait.low / 60));
  return words("line.wait_hours", { low, high: Math.max(low + 1, Math.ceil(wait.high / 60)) });
}

function Way({ words, part, still }) {
  const percent = Math.floor(part * 100);
  return html`<div class=${`way ${still ? "still" : ""}`}>
    <progress max="100" value=${percent} aria-label=${words("line.progress", { percent })}>${percent}</progress>
    <small aria-hidden="true">${words("line.progress", { percent })}</small>
  </div>`;
}
