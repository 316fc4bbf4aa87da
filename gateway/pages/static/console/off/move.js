// Moving: to which event, when that is, which seats are there too, and the question.

import { Component, html } from "../../html.js";
import { together, WHY } from "../acting.js";
import { ofEvent } from "../api.js";
import { Reading } from "../states.js";
import { moment } from "../words.js";
import { reasonField } from "./cancel.js";
import { keptBy, keptWords } from "./kept.js";

const NOT_BEGUN = ["draft", "lobby"];
const open = (event, below = "") => `/v1/events/${encodeURIComponent(event)}${below}`;

/** @extends {Component<{event: string, name: string, api: any, ask: any, busy: boolean, acting: import("../acting.js").Acting, begin: (path: string, body: any, done: string) => Promise<boolean>}>} */
export class Move extends Component {
  constructor(props) {
    super(props);
    this.state = { to: "", turn: 0 };
  }

  #move = async (target, kept) => {
    const { event, name, ask, begin } = this.props;
    const says = [
      `${keptWords(kept)} They keep their seats and what they paid; nobody can buy them there before.`,
      target.starts_at ? `Buyers are told the new date by mail: ${moment(target.starts_at)}.` : "The other event has no date: buyers are told by mail that it moved, and not when it is.",
      `The sale of ${name} is closed for good. This cannot be taken back.`,
    ];
    const said = await ask({ title: `Move ${name} to ${target.name}?`, says, act: "Move the event", keep: "Leave it where it is", danger: true, type: event, more: reasonField() });
    if (said) await begin("/move", { to: target.slug, why: said.reason.trim() }, `The orders of ${name} go to ${target.name}, one by one.`);
  };

  /** The date is a term of the other event: said before, so that mails tell it. */
  #date = async (submitted, target) => {
    submitted.preventDefault();
    const typed = new FormData(submitted.target).get("starts_at");
    if (!typed) return;
    const starts_at = new Date(typed).toISOString();
    const set = await this.props.acting.do(() => this.props.api.patch(ofEvent(target.slug, "/policy"), { starts_at, why: WHY }), `${target.name} takes place ${moment(starts_at)}.`);
    if (set) this.setState(({ turn }) => ({ turn: turn + 1 }));
  };

  render({ event, api }, { to, turn }) {
    return html`<section class="card" aria-labelledby="move-title"><h2 id="move-title">Move it to another date</h2>
      <p>The sale is closed for good, and its orders become orders of another event that has not begun to sell, before anybody can buy there. Make that event first, of the same plan.</p>
      <${Reading} key=${turn} api=${api} path="/v1/operator/events" rows=${1}>${({ events }) => this.#form(events.filter((one) => one.slug !== event && NOT_BEGUN.includes(one.state)), to)}<//></section>`;
  }

  #form(others, to) {
    if (!others.length) return html`<p class="quiet-text">There is no other event that has not begun to sell. <a href="/console/new">Make one</a>.</p>`;
    const target = others.find((one) => one.slug === to);
    return html`<label class="field">To<select onChange=${(event) => this.setState({ to: event.target.value })}>
        <option value="" selected=${!target}>choose an event</option>
        ${others.map((one) => html`<option key=${one.slug} value=${one.slug} selected=${one.slug === to}>${one.name} (${one.slug}, ${one.starts_at ? moment(one.starts_at) : "no date yet"})</option>`)}</select></label>
      ${target && this.#of(target)}`;
  }

  #of(target) {
    const { event, api, busy } = this.props;
    const paths = { plan: open(event, "/plan"), seats: open(event, "/seats"), to_plan: open(target.slug, "/plan"), to_seats: open(target.slug, "/seats") };
    return html`${!target.starts_at && html`<form class="field-row" onSubmit=${(submitted) => this.#date(submitted, target)}>
        <label class="field">${target.name} has no date yet: it takes place<input name="starts_at" type="datetime-local" required /></label>
        <button class="button quiet" disabled=${busy}>Set its date</button></form>`}
      <${Reading} api=${together(api, paths)} path=${target.slug} rows=${1}>${(read) => {
        const kept = keptBy(read);
        return html`<p class=${`notice ${kept.currency || kept.lost || kept.areas.length ? "warn" : "good"}`}>${kept.currency || keptWords(kept)}</p>
          <p class="card-end"><button type="button" class="button quiet closes" disabled=${busy || Boolean(kept.currency)} onClick=${() => this.#move(target, kept)}>Move the event…</button></p>`;
      }}<//>`;
  }
}
