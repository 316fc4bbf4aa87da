// Whose turn it is at another shop: on the way there, or one press away from it; and what is said of that before.

import { clockFace } from "../core/clock.js";
import { html } from "../html.js";
import { Leave } from "./place.js";
import { Ticks } from "./ticks.js";

/** Who has begun goes back to their shop; seats are not chosen here. @extends {Ticks<{sale: import("../core/sale.js").Sale}>} */
export class Onward extends Ticks {
  render({ sale: { room } }) {
    const { words, returning } = room;
    const { going, shop } = returning;
    const left_ms = room.left_ms("until");
    const title = words(going ? "back.going" : "back.title", { shop });
    return html`<section class="card turn" aria-label=${title}>
      <h2 tabindex="-1">${title}</h2>
      <p>${words("back.inside", { shop })}</p>
      <p class="large" role="timer">${left_ms ? words("back.left", { time: clockFace(left_ms) }) : words("back.over")}</p>
      <div class="thumb ready"><button type="button" class="button main begin" aria-disabled=${going} onClick=${() => returning.go()}>
        ${words("back.go", { shop })}</button></div>
      <p role="status" class="trouble">${returning.trouble}</p>
      <${Leave} room=${room} />
    </section>`;
  }
}

/** That the way does not lead where it was to. @param {{room: import("../core/room.js").Room}} props */
export function NoWayBack({ room: { words, returning } }) {
  return returning.refused && html`<aside class="notice warn"><b>${words("back.refused_title")}</b> <span>${words("back.refused")}</span></aside>`;
}

/** Where the way leads to, while it is not the buyer's turn. @param {{room: import("../core/room.js").Room, topic: string}} props */
export function WayBack({ room: { words, returning }, topic }) {
  const { shop } = returning;
  if (!shop || topic === "turn" || topic === "inside" || topic === "over") return null;
  return html`<p class="quiet-text way-back">${words("back.note", { shop })}</p>`;
}
