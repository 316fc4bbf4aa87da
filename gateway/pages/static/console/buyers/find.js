// Finding a buyer of an event by whatever somebody has at hand.

import { Component, html } from "../../html.js";
import { ofEvent, to } from "../api.js";
import { Empty, Reading } from "../states.js";

const BY = { buyer: "their id", mail: "a mail address", request: "a request", hold: "a hold", order: "an order", payment: "a payment", ticket: "a ticket" };

/** @extends {Component<{event: string, api: any, go: any, search: URLSearchParams}>} */
export class FindPage extends Component {
  #find(submitted) {
    submitted.preventDefault();
    const text = new FormData(submitted.target).get("find").trim();
    this.props.go(to(`/console/e/${encodeURIComponent(this.props.event)}/buyers`, { find: text }));
  }

  render({ event, api, search }) {
    const text = search.get("find") ?? "";
    const below = `/console/e/${encodeURIComponent(event)}`;
    return html`<main class="page" id="content">
      <p><a href=${below}>${event}</a></p>
      <h1 tabindex="-1">Find a buyer</h1>
      <form class="card field-row filter" role="search" onSubmit=${(submitted) => this.#find(submitted)}>
        <label class="field wide-field">A mail address, a ticket, the number of a hold, an order or a payment, a request's id, or how the buyer's id begins
          <input name="find" type="search" required minlength="1" maxlength="200" defaultValue=${text} autocapitalize="off" spellcheck=${false} autofocus=${!text} /></label>
        <button class="button main">Find</button>
      </form>
      ${text && html`<${Reading} api=${api} path=${to(ofEvent(event, "/buyers"), { find: text, limit: 50 })} rows=${1}>${({ found, more }) => (found.length ? html`<div class="card">
        <p>${found.length === 1 ? "One buyer fits." : `${found.length} buyers fit.`}${more ? " There are more: write more of it." : ""}</p>
        <ul class="found">${found.map(({ buyer, by }) => html`<li key=${`${buyer} ${by}`}><a href=${`${below}/buyers/${encodeURIComponent(buyer)}`}>${buyer}</a> <small>found by ${BY[by] ?? by}</small></li>`)}</ul></div>`
        : html`<${Empty} title="Nobody found"><p>No buyer of this event fits “${text}”. Ids must begin the same, at least three characters of them; everything else must be whole.</p><//>`)}<//>`}
    </main>`;
  }
}
