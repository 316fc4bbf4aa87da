// What is always in view: the state of the sale and its three levers: open or pause, pace, message.

import { Component, html } from "../../html.js";
import { State } from "../launches/state.js";
import { count, moment, SLOWED } from "../words.js";
import { nextMove, STATE_MOVES } from "./moves.js";

const PACE_MAX = 1_000_000;
/** With or without something between thousands: 1.5 is no pace, and not 15. */
const WHOLE = /^\d{1,9}$|^\d{1,3}([\s,.’']\d{3})+$/;

/** @param {{now: any, name: string, levers: import("./moves.js").Levers, may: boolean, say: () => void}} props */
export function Head({ now, name, levers, may, say }) {
  const { state, room } = now;
  const main = nextMove(state, room);
  const busy = Boolean(levers.sending);
  return html`<header class="launch-head" aria-label="State and levers">
    <div class="launch-head-title"><h1 tabindex="-1" title=${name}>${name}</h1><${State} state=${state.value} />
      ${state.value === "paused" && state.paused_at && html`<span class="quiet-text">since ${moment(state.paused_at)}</span>`}
      ${byItself(state, room) && html`<span class="quiet-text">${byItself(state, room)}</span>`}</div>
    ${may ? html`<div class="levers">
      ${main && html`<button type="button" class=${`button ${main === "pause" ? "quiet pauses" : "main"}`} disabled=${busy} onClick=${() => levers.state(main, name)}>${levers.sending === main ? "Sending…" : STATE_MOVES[main].act}</button>`}
      ${state.value !== "closed" && (room ? html`<${Pace} key="pace" room=${room} levers=${levers} /><button type="button" class="button quiet" disabled=${busy} onClick=${say}>${room.message ? "Change the message" : "Message"}</button>` : html`<p class="quiet-text">No waiting room: nobody waits in line, so there is no pace and no message.</p>`)}
    </div>` : html`<p class="quiet-text levers">${room ? `Pace: ${room.pace === null ? "no limit" : `${count(room.pace)} a minute`}. ` : ""}Your key may look. Opening, pausing, pace and messages need the role operator.</p>`}
    ${room?.message && html`<p class="said" title=${room.message}><b>All who wait read:</b> ${room.message} <small>since ${moment(room.message_at)}</small></p>`}
    ${room?.slowed_by && html`<p class="slowed" data-why=${room.slowed_by}>${SLOWED[room.slowed_by]}</p>`}
  </header>`;
}

/** What begins without anybody, and when. */
function byItself({ value, lobby_opens_at, opens_at }, room) {
  const draft = value === "draft";
  const lobby = draft && lobby_opens_at ? `lobby opens by itself ${moment(lobby_opens_at)}` : "";
  const sale = (draft || value === "lobby") && opens_at ? `${lobby ? "the sale" : "opens by itself"} ${moment(opens_at)}` : "";
  const hand = sale && draft && room && !lobby && "its lobby opens by hand";
  return [lobby, sale, hand].filter(Boolean).join("; ");
}

/** A number with − and +, set by Enter or the button that comes with a change. @extends {Component<{room: any, levers: import("./moves.js").Levers}>} */
class Pace extends Component {
  constructor(props) {
    super(props);
    this.state = { typed: null };
  }

  /** Steps of about a tenth, in round numbers. */
  #step(way) {
    const from = this.#wanted();
    const size = Math.max(1, 10 ** Math.floor(Math.log10(Math.max(10, from)) - 1) * (String(from)[0] >= "5" ? 5 : 1));
    const next = way > 0 ? Math.floor(from / size) * size + size : Math.ceil(from / size) * size - size;
    this.setState({ typed: String(Math.min(PACE_MAX, Math.max(1, next))) });
  }

  /** Null: no limit; NaN: not a pace. */
  #wanted() {
    const { typed } = this.state;
    if (typed === null) return this.props.room.pace;
    const text = typed.trim();
    if (text === "") return null;
    const number = WHOLE.test(text) ? Number(text.replace(/\D/g, "")) : NaN;
    return number >= 1 && number <= PACE_MAX ? number : NaN;
  }

  async #set(submitted) {
    submitted.preventDefault();
    const wanted = this.#wanted();
    if (Number.isNaN(wanted) || wanted === this.props.room.pace) return;
    if (await this.props.levers.pace(wanted, this.props.room)) this.setState({ typed: null });
  }

  render({ room, levers }, { typed }) {
    const wanted = this.#wanted();
    const other = typed !== null && wanted !== room.pace;
    const wrong = Number.isNaN(wanted);
    const told = room.pace === null ? "no limit" : count(room.pace);
    return html`<form class=${`pace ${other ? "other" : ""}`} onSubmit=${(event) => this.#set(event)} onKeyDown=${(event) => event.key === "Escape" && this.setState({ typed: null })}>
      <label for="pace">Pace</label>
      <div class="pace-field">
        <button type="button" aria-label="Slower" disabled=${wrong || wanted === null} onClick=${() => this.#step(-1)}>−</button>
        <input id="pace" inputmode="numeric" autocomplete="off" placeholder="no limit" aria-describedby="pace-now" aria-invalid=${wrong} value=${typed ?? (room.pace === null ? "" : count(room.pace))} onInput=${(event) => this.setState({ typed: event.target.value })} />
        <button type="button" aria-label="Faster" disabled=${wrong || wanted === null} onClick=${() => this.#step(1)}>+</button>
      </div>
      <span id="pace-now" class="pace-now">${wrong ? `1 to ${count(PACE_MAX)}, or nothing` : other ? `is ${told} now` : "a minute"}</span>
      ${other && html`<button class="button main small" disabled=${wrong || Boolean(levers.sending)}>Set</button>
        <button type="button" class="button quiet small" onClick=${() => this.setState({ typed: null })}>Cancel</button>`}
    </form>`;
  }
}
