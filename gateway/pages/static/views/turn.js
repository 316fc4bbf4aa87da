// The buyer's turn: the time to begin and one button; then, beside the seats, the time to choose.

import { clockFace } from "../core/clock.js";
import { html } from "../html.js";
import { Join } from "./join.js";
import { MoreTime } from "./moretime.js";
import { Leave } from "./place.js";
import { Ticks } from "./ticks.js";

const RADIUS = 42;
const ROUND = 2 * Math.PI * RADIUS;

/** @extends {Ticks<{sale: import("../core/sale.js").Sale}>} */
export class Turn extends Ticks {
  render({ sale }) {
    const { room } = sale;
    const { words, status, asking } = room;
    const left_ms = room.left_ms("begin_by");
    const part = Math.min(1, left_ms / (status.begin_seconds * 1000));
    const beginning = asking.is("begin");
    const { shop } = room.returning;
    const minutes = words("minutes", { count: Math.round(status.shopping_seconds / 60) });
    return html`<section class="card turn" aria-label=${words("turn.title")}>
      <h2 tabindex="-1">${words("turn.title")}</h2>
      <p>${words(shop ? "back.turn" : "turn.text", { minutes, shop })}</p>
      ${status.sold_out && !shop && html`<p class="notice warn">${words("turn.sold_out")}</p>`}
      <div class=${`countdown ${room.time.soon ? "soon" : ""}`} role="timer" aria-label=${words("turn.left")}>
        <svg viewBox="0 0 100 100" aria-hidden="true">
          <circle class="ring-track" cx="50" cy="50" r=${RADIUS} />
          <circle class="ring-left" cx="50" cy="50" r=${RADIUS} transform="rotate(-90 50 50)" stroke-dasharray=${`${ROUND * part} ${ROUND}`} />
        </svg>
        <span class="countdown-figures">${clockFace(left_ms)}</span>
        <small>${words("turn.left")}</small>
      </div>
      ${left_ms === 0 && html`<p class="quiet-text">${words("turn.over")}</p>`}
      <div class="thumb ready"><button type="button" class="button main begin" aria-disabled=${beginning} onClick=${() => room.begin()}>
        ${words(beginning ? "turn.beginning" : shop ? "back.go" : "turn.begin", { shop })}</button></div>
      <p role="status" class="trouble">${asking.trouble}</p>
      <${MoreTime} room=${room} />
      <${Leave} room=${room} />
    </section>`;
  }
}

/** Who was called and did not begin, or chose for too long. @param {{sale: import("../core/sale.js").Sale, topic: string}} props */
export function Missed({ sale, topic }) {
  const { words } = sale.room;
  return html`<section class="card lobby" aria-label=${words(`${topic}.title`)}>
    <h2 tabindex="-1">${words(`${topic}.title`)}</h2>
    <p>${words(`${topic}.text`)}</p>
    <${Join} sale=${sale} code=${topic === "missed" ? "join.back" : "join.again"} />
  </section>`;
}

/** The time to choose, above the seats; nothing where there is no waiting room. @extends {Ticks<{sale: import("../core/sale.js").Sale}>} */
export class ShoppingTime extends Ticks {
  render({ sale: { room } }) {
    if (room.stands !== "inside") return null;
    const left_ms = room.left_ms("until");
    return html`<aside class=${`shopping ${room.time.soon ? "soon" : ""}`} aria-label=${room.words("inside.label")}>
      <span role="timer">${left_ms ? room.words("inside.left", { time: clockFace(left_ms) }) : room.words("inside.over")}</span>
      ${left_ms > 0 && html`<${MoreTime} room=${room} />`}
      <span role="status" class="trouble">${room.asking.trouble}</span></aside>`;
  }
}
