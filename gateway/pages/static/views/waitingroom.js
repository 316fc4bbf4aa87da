// The waiting room: one card with the one thing that matters now, the organiser's word above it, and below it
// what this buyer has already.

import { Component, html } from "../html.js";
import { Early, Lobby, Outside } from "./lobby.js";
import { Deciding, Drawing, Line } from "./line.js";
import { Message } from "./message.js";
import { NoWayBack, Onward, WayBack } from "./onward.js";
import { Orders } from "./orders.js";
import { Standing } from "./panel.js";
import { Payments } from "./payments.js";
import { Missed, Turn } from "./turn.js";
import { WaitingList } from "./waiting.js";

const VIEWS = {
  draft: Early, lobby: Lobby, drawing: Drawing, deciding: Deciding, line: Line, turn: Turn, inside: Onward,
  missed: Missed, time_over: Missed, outside: Outside, over: Standing,
};

/** Where a screen of its own is shown instead of the seats, what it is about; else nothing. @param {import("../core/sale.js").Sale} sale */
export const roomTopicOf = ({ room }) => (room.isInside ? "" : room.stands || "to_come");

/** @extends {Component<{sale: import("../core/sale.js").Sale, topic: string}>} */
export class WaitingRoom extends Component {
  render({ sale, topic }) {
    const { room, state } = sale;
    const View = state.event && state.venue && VIEWS[topic];
    return html`<main class="room" id="panel" tabindex="-1" aria-busy=${!View} data-topic=${View ? topic : ""}>
      ${View ? html`
        <${Message} room=${room} />
        <${NoWayBack} room=${room} />
        <${Told} notice=${state.notice} />
        <${View} key=${topic} sale=${sale} topic=${topic === "over" ? "closed" : topic} />
        <${WayBack} room=${room} topic=${topic} />
        <${Payments} sale=${sale} /><${Orders} sale=${sale} /><${WaitingList} sale=${sale} />`
      : html`<${ToCome} />`}
    </main>`;
  }
}

/** What became of the ballot's wish, or of what was held. */
function Told({ notice }) {
  return notice && html`<div class=${`notice ${notice.tone}`} role="status"><b>${notice.title}</b> <span>${notice.text}</span></div>`;
}

function ToCome() {
  return html`<div class="card to-come"><i class="bone tall" style=${{ width: "60%" }}></i><i class="bone"></i>
    <i class="bone" style=${{ width: "80%" }}></i><i class="bone button-bone"></i></div>`;
}
