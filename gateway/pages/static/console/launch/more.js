// What is wanted less often: letting in, the lobby, closing, the fast gate. Each says what it does.

import { html } from "../../html.js";
import { spell } from "../words.js";
import { Elsewhere } from "./elsewhere.js";
import { nextMove, ROOM_MOVES, STATE_MOVES } from "./moves.js";

const ADMISSION = { running: "People are let in.", paused: "Nobody is let in for now.", stopped: "Nobody is let in any more." };

/** @param {{event: string, now: any, launch: any, levers: import("./moves.js").Levers, may: boolean, session: any}} props */
export function More({ event, now, launch, levers, may, session }) {
  const { room, state, gate, policy } = now;
  const name = launch.name ?? event;
  const main = nextMove(state, room);
  const moves = state.can.filter((move) => move !== main);
  const busy = Boolean(levers.sending);
  return html`<section class="card" aria-labelledby="more-title">
    <h2 id="more-title">More moves</h2>
    ${room && state.value !== "closed" && html`<div class="move"><h3>Letting in from the line</h3><p>${ADMISSION[room.admission]} The sale itself is not touched by this.</p>
      ${may && html`<p class="cell-buttons">${room.can.map((move) => html`<button key=${move} type="button" class="button quiet small" disabled=${busy} onClick=${() => levers.admission(move)}>${ROOM_MOVES[move].act}</button>`)}</p>`}</div>`}
    <div class="move"><h3>Fast gate</h3><p>${gate ? "On: seats known to be gone are refused at once." : "Off: every request goes to the allocator."} Nothing is sold twice either way.</p>
      ${may && html`<p class="cell-buttons"><button type="button" class="button quiet small" disabled=${busy} onClick=${() => levers.gate(!gate)}>${gate ? "Turn it off" : "Turn it on"}</button></p>`}</div>
    <div class="move"><h3>Rules</h3><p>A hold lasts ${spell(policy.hold_ttl_seconds)}; a buyer may have at most ${policy.seats_per_buyer_max} seats.</p></div>
    ${may && moves.length > 0 && html`<div class="move"><h3>The sale</h3><p>${state.value === "draft" ? "It is a draft: buyers see it, and cannot ask for anything yet." : "Closing is for good."}</p>
      <p class="cell-buttons">${moves.map((move) => html`<button key=${move} type="button" class=${`button quiet small ${move === "close" ? "closes" : ""}`} disabled=${busy} onClick=${() => levers.state(move, name)}>${STATE_MOVES[move].act}</button>`)}</p></div>`}
    <${Elsewhere} event=${event} room=${room} session=${session} />
  </section>`;
}
