// The tickets page as it is seen: what stops it, the list of orders, a ticket somebody gives, one order.

import { counted } from "../core/money.js";
import { Component, html } from "../html.js";
import { Order } from "./order.js";
import { momentOf, STOPS } from "./words.js";

/** @typedef {import("./desk.js").Desk} Desk */

/** @extends {Component<{desk: Desk}>} */
export class Page extends Component {
  componentDidMount() {
    this.props.desk.listener = () => this.setState({});
  }

  render({ desk }) {
    const { phase, away } = desk.state;
    const stop = STOPS[phase];
    return html`
      <div role="status" class=${`connection ${away ? "away" : ""}`}>${away && html`<i class="pulse"></i>We cannot reach the shop just now. This page tries again by itself.`}</div>
      <main class="tickets" data-phase=${phase} aria-busy=${phase === "loading"}>
        ${stop ? html`<${Stop} title=${stop[0]} text=${stop[1]} event=${desk.event} />` : html`<${Content} desk=${desk} />`}
      </main>`;
  }
}

function Content({ desk }) {
  switch (desk.state.phase) {
    case "loading": return html`<${ToCome} />`;
    case "offer": return html`<${Given} desk=${desk} />`;
    case "list": return html`<${List} desk=${desk} />`;
    default: return html`<${Order} desk=${desk} />`;
  }
}

function Stop({ title, text, event }) {
  return html`<section class="stop"><h1>${title}</h1><p>${text}</p><a class="button quiet" href=${`/e/${event}`}>To the event</a></section>`;
}

/** Somebody gives a ticket: it is taken by a press, never by opening the link. */
function Given({ desk }) {
  const { busy, notice } = desk.state;
  return html`<section class="stop">
    <h1>Somebody gives you a ticket</h1>
    <p>Take it, and it is yours alone: their own copy is worthless from then on.</p>
    ${notice && html`<${Notice} notice=${notice} />`}
    <button type="button" class="button main" disabled=${busy !== ""} onClick=${() => desk.claim()}>${busy ? "Taking it…" : "Take the ticket"}</button>
  </section>`;
}

function List({ desk }) {
  const { orders } = desk.state;
  return html`<h1>Your orders</h1>
    ${orders.length === 0 && html`<p>You have bought nothing for this event yet.</p>`}
    <ul class="events">${orders.map(({ order, state, seats, areas, paid_at, yours }) => {
      const count = seats.length + Object.values(areas).reduce((sum, n) => sum + n, 0);
      return html`<li key=${order}><a href=${`/e/${desk.event}/tickets/${order}`}>
        <b>${state === "refunded" ? "Returned" : `${counted(count, "ticket")}${yours ? "" : ", given to you"}`}</b><span>${momentOf(paid_at)}</span></a></li>`;
    })}</ul>
    <p><a class="button quiet" href=${`/e/${desk.event}`}>To the event</a></p>`;
}

/** @param {{notice: NonNullable<import("./desk.js").State["notice"]>}} props */
export function Notice({ notice: { tone, title, text } }) {
  return html`<div role="status" class=${`notice ${tone}`}><b>${title}</b>${text}</div>`;
}

function ToCome() {
  return html`<span class="unseen" role="status">Loading your tickets</span>
    <i class="bone tall" style=${{ width: "60%" }}></i>
    ${[0, 1].map((number) => html`<div key=${number} class="ticket"><div class="ticket-place"><i class="bone" style=${{ width: "40%" }}></i><i class="bone tall" style=${{ width: "70%" }}></i></div><i class="qr bone"></i></div>`)}`;
}
