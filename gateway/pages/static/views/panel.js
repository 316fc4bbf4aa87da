// The panel says one thing at a time: an answer being waited for, a hold with its countdown, or the
// choice. What this buyer already has stands above a choice, and below what is under way.

import { titled } from "../core/money.js";
import { FREE } from "../core/plan.js";
import { triesInWords } from "../core/tellings.js";
import { dateOf, standingOf } from "../core/showing.js";
import { Component, createRef, html } from "../html.js";
import { Choosing } from "./choosing.js";
import { Holding } from "./holding.js";
import { Orders } from "./orders.js";
import { Payments } from "./payments.js";
import { SoldOut } from "./soldout.js";
import { WaitingList } from "./waiting.js";

const isSoldOut = ({ seats, places }) => !seats.includes(FREE) && !places.some((free) => free > 0);

/** What the panel is about now. @param {import("../core/sale.js").Sale} sale */
export function topicOf({ state, orders }) {
  if (state.asked.length) return "asking";
  if (orders.active.length && !orders.moving) return "holding";
  if (state.event.state === "draft" || state.event.state === "lobby") return "early";
  if (state.event.state === "closed") return "closed";
  if (isSoldOut(state) && !orders.moving) return "sold_out";
  return "choosing";
}

/** Moves the focus along when the topic changes under the hand of someone who uses the keyboard. */
export class Panel extends Component {
  card = createRef();

  getSnapshotBeforeUpdate() {
    return this.card.current?.contains(document.activeElement) ?? false;
  }

  componentDidUpdate(_props, _state, hadFocus) {
    const { notice } = this.props.sale.state;
    if (notice && notice !== this.shown) this.card.current.querySelector(".notice").scrollIntoView({ block: "nearest" });
    this.shown = notice;
    const lost = hadFocus && !this.card.current.contains(document.activeElement);
    if (!lost) return;
    const next = this.card.current.querySelector(".offer") ?? this.card.current.querySelector("h2");
    next?.focus({ preventScroll: true });
  }

  render({ sale }) {
    const topic = topicOf(sale);
    const busy = topic === "asking" || topic === "holding";
    const View = { asking: Asking, holding: Holding, choosing: Choosing, sold_out: SoldOut }[topic] ?? Standing;
    return html`
      <div ref=${this.card} class="panel-card">
        <${Told} sale=${sale} />
        ${!busy && html`<${Payments} sale=${sale} /><${Orders} sale=${sale} /><${WaitingList} sale=${sale} />`}
        <${View} key=${topic} sale=${sale} topic=${topic} />
        ${busy && html`<${Payments} sale=${sale} /><${WaitingList} sale=${sale} /><${Orders} sale=${sale} />`}
      </div>`;
  }
}

function Told({ sale }) {
  const { notice } = sale.state;
  const offers = notice?.offers ?? [];
  return html`<div class=${notice ? `notice ${notice.tone}` : "notice-place"}>
    <div role="status">${notice && html`<b>${notice.title}</b> <span>${notice.text}</span>`}</div>
    ${offers.length > 0 && html`<div class="offers" role="group" aria-label="Free instead">
      ${offers.map((offer, index) => html`<button key=${offer.label} type="button" class=${`offer ${offer.seats.length ? "numbered" : ""}`} aria-label=${`Ask for ${offer.label}`}
        onClick=${() => sale.take(offer)}>
        ${offer.seats.length > 0 && html`<i class="offer-number">${index + 1}</i>`}
        <b>${offer.name}</b> <small>${offer.detail}</small></button>`)}
    </div>`}
    ${notice?.wait && !sale.waiting.isFull && html`<button type="button" class="button quiet small wait-button"
      onClick=${() => sale.wait(notice.wait)}>Wait for it</button>`}
  </div>`;
}

function Asking({ sale }) {
  const { asked, venue, event, link } = sale.state;
  const [request] = asked;
  const [first, ...others] = triesInWords(request.want, venue);
  return html`<div class="card asking" aria-busy="true">
    <h2 tabindex="-1">${askingTitle(request, event.state, link)}</h2>
    ${others.length ? html`<ol class="tries">${[first, ...others].map((one) => html`<li>${titled(one)}</li>`)}</ol>` : html`<p>For ${first}.</p>`}
    <div class=${`in-line ${event.state === "paused" ? "still" : ""}`} aria-hidden="true"><i></i></div>
    <p class="quiet-text">${askingText(request, event.state, link)}</p>
  </div>`;
}

function askingTitle({ stage }, state, link) {
  if (link !== "live") return "Still in line";
  if (state === "paused") return "The sale is paused; you keep your place";
  if (stage === "delayed") return "This takes longer than usual";
  if (stage === "busy") return "It is very busy";
  return stage === "accepted" ? "You are in line" : "Asking for your seats";
}

function askingText({ stage }, state, link) {
  if (link !== "live") return "The connection went away for a moment. Your request is asked again by itself, in its place.";
  if (state === "paused") return "Your request is safe and is answered in its turn when the sale goes on.";
  if (stage === "delayed") return "Your request is safe and keeps its place. You need not do anything, and may even reload.";
  if (stage === "busy") return "Your request is asked again by itself in a few seconds.";
  return "Whoever came first is answered first. This takes a moment.";
}

/** Nothing to choose: not open yet, or over. @param {{sale: any, topic: string}} props */
export function Standing({ sale, topic }) {
  const { event } = sale.state;
  const [title, text] = standingOf(event);
  const opens = (topic === "early" || topic === "draft") && event.opens_at ? openingTime(event.opens_at) : "";
  const to = event.called_off?.to;
  return html`<div class="card standing">
    <h2 tabindex="-1">${title}</h2>
    ${opens && html`<p class="large">${opens}</p>`}
    <p>${text}</p>
    ${to && html`<a class="button quiet" href=${`/e/${to.slug}`}>${dateOf(to.starts_at) ? "See the new date" : `See ${to.name}`}</a>`}
  </div>`;
}

function openingTime(opens_at) {
  const moment = new Date(opens_at);
  if (Number.isNaN(moment.getTime())) return "";
  return moment.toLocaleString("en-GB", { weekday: "long", day: "numeric", month: "long", hour: "2-digit", minute: "2-digit" });
}
