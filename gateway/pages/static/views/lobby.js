// Before the sale begins: when that is and from when one can join, joining, the ballot's wish, and what the draw is committed to. Also
// joining a line that is there already.

import { wantOf } from "../core/choice.js";
import { clockFace } from "../core/clock.js";
import { titled } from "../core/money.js";
import { dateOf } from "../core/showing.js";
import { triesInWords } from "../core/tellings.js";
import { Component, html } from "../html.js";
import { Commitment } from "./commitment.js";
import { Join } from "./join.js";
import { MailMe } from "./mail.js";
import { Standing } from "./panel.js";
import { Leave, ResumeLink, TellMe } from "./place.js";
import { Ticks } from "./ticks.js";
import { BestWish } from "./wish.js";

/** @typedef {import("../core/sale.js").Sale} Sale */

/** @param {{sale: Sale}} props */
export function Lobby({ sale }) {
  const { room } = sale;
  const { words, status, place } = room;
  const joined = place?.state === "waiting";
  const text = `${status.policy === "fifo" ? "lobby.text_fifo" : "lobby.text"}${joined ? "_in" : ""}`;
  return html`
    <section class="card lobby" aria-label=${words(joined ? "lobby.title_in" : "lobby.title")}>
      <h2 tabindex="-1">${joined && html`<i class="tick" aria-hidden="true"></i>`}${words(joined ? "lobby.title_in" : "lobby.title")}</h2>
      <${Opens} room=${room} />
      ${joined && place.position !== null && html`<p class="large">${words("lobby.position", { position: place.position })}</p>`}
      <p>${words(text)}</p>
      ${joined ? null : html`<${Join} sale=${sale} code="join" />`}
      <p class="quiet-text">${words("lobby.joined", { count: Math.max(status.joined, Number(joined)) })}</p>
    </section>
    ${joined && status.ballot === "filing" && html`<${Wish} sale=${sale} />`}
    ${status.policy === "draw" && html`<${Commitment} sale=${sale} />`}
    ${joined && html`<section class="card quieter" aria-label=${words("line.title")}>
      <${TellMe} room=${room} /><${MailMe} room=${room} /><${ResumeLink} sale=${sale} /><${Leave} room=${room} /></section>`}`;
}

/** A line that is there already, for whoever has no place in it. @param {{sale: Sale}} props */
export function Outside({ sale }) {
  const { words, status } = sale.room;
  const again = sale.orders.paid.length > 0;
  const stopped = status.phase === "stopped";
  const title = stopped ? "stopped.title" : status.sold_out ? "sold_out.title" : again ? "outside.title_again" : "outside.title";
  const text = stopped ? "stopped.text" : status.sold_out ? "sold_out.text" : again ? "outside.text_again" : "outside.text";
  return html`<section class="card lobby" aria-label=${words(title)}>
    <h2 tabindex="-1">${words(title)}</h2>
    <p>${words(text)}</p>
    ${!stopped && html`<${Join} sale=${sale} code=${again ? "join.again" : "join.line"} />`}
    ${!status.sold_out && status.seats_left !== null && html`<p class="quiet-text">${words("line.seats_left", { count: status.seats_left })}</p>`}
  </section>`;
}

/** Nobody can join yet, but it is known when. @param {{sale: Sale}} props */
export function Early({ sale }) {
  const { room } = sale;
  const { words, status } = room;
  if (!status.lobby_opens_at) return html`<${Standing} sale=${sale} topic="draft" />`;
  return html`<section class="card lobby" aria-label=${words("early.title")}>
    <h2 tabindex="-1">${words("early.title")}</h2>
    <${Until} room=${room} at=${status.lobby_opens_at} says="early.joins" />
    <p>${words("early.text")}</p>
    ${status.opens_at && html`<p class="quiet-text">${words("early.sale", { date: dateOf(status.opens_at) })}</p>`}
  </section>`;
}

function Opens({ room }) {
  const { words, status } = room;
  if (!status.opens_at) return html`<p class="quiet-text">${words("lobby.opens_unknown")}</p>`;
  return html`<${Until} room=${room} at=${status.opens_at} says="lobby.opens" />`;
}

/** By the server's clock, drawn each second. */
class Until extends Ticks {
  render({ room, at, says }) {
    const { words } = room;
    const left_ms = Math.max(0, at - room.now());
    return html`<p class="opens"><span>${words(says)}</span>
      <b role="timer" class="place-figures">${left_ms ? clockFace(left_ms) : words("lobby.opens_soon")}</b>
      <small>${words("lobby.opens_at", { date: dateOf(at) })}</small></p>`;
  }
}

/** What is wished for in the ballot. @extends {Component<{sale: Sale}>} */
class Wish extends Component {
  state = { open: false };

  render({ sale }, { open }) {
    const { room } = sale;
    const { words, wish, asking } = room;
    const filing = asking.is("wish");
    const { venue, choice } = sale.state;
    const file = (submit) => {
      submit.preventDefault();
      room.file(wantOf({ ...choice, mode: "best", wait: false }, venue));
      this.setState({ open: false });
    };
    if (wish && !open) return html`<section class="card" aria-label=${words("wish.filed")}>
      <h3><i class="tick" aria-hidden="true"></i>${words("wish.filed")}</h3>
      <ol class="tries">${triesInWords(wish.want, venue).map((one) => html`<li>${titled(one)}</li>`)}</ol>
      <p class="quiet-text">${words("wish.filed_text")}</p>
      <button type="button" class="button quiet" onClick=${() => this.setState({ open: true })}>${words("wish.change")}</button>
      <button type="button" class="link" aria-disabled=${filing} onClick=${() => room.file(null)}>${words("wish.withdraw")}</button>
    </section>`;
    return html`<form class="card" aria-label=${words("wish.title")} onSubmit=${file}>
      <h3>${words("wish.title")}</h3>
      <p>${words("wish.text")}</p>
      <${BestWish} sale=${sale} />
      <div class="others">
        ${wish && html`<button type="button" class="button quiet" onClick=${() => this.setState({ open: false })}>${words("wish.keep")}</button>`}
        <button type="submit" class="button main" aria-disabled=${filing}>${words(filing ? "wish.filing" : "wish.file")}</button>
      </div>
      <p role="status" class="trouble">${filing ? "" : asking.trouble}</p>
    </form>`;
  }
}
