// What can be done with a place: leave it, which asks once, go on with it on another device, or be told by the
// browser when its turn has come.

import { askToNotify, notifying } from "../core/yourturn.js";
import { Component, createRef, html } from "../html.js";

/** @extends {Component<{room: import("../core/room.js").Room}>} */
export class Leave extends Component {
  state = { sure: false };
  stay = createRef();
  first = createRef();

  sure(sure) {
    this.setState({ sure }, () => (sure ? this.stay : this.first).current?.focus());
  }

  render({ room }, { sure }) {
    const { words, asking } = room;
    const leaving = asking.is("leave");
    if (!sure) return html`<button type="button" class="link" ref=${this.first} onClick=${() => this.sure(true)}>${words("leave")}</button>`;
    return html`<div class="others" role="group" aria-label=${words("leave")}>
      <p>${words("leave.sure")}</p>
      <button type="button" class="button quiet small" aria-disabled=${leaving} onClick=${() => room.leave()}>${words(leaving ? "leave.asking" : "leave.really")}</button>
      <button type="button" class="button main small" ref=${this.stay} onClick=${() => this.sure(false)}>${words("leave.stay")}</button>
    </div>`;
  }
}

/** A link that has the place on another device. @extends {Component<{sale: import("../core/sale.js").Sale}>} */
export class ResumeLink extends Component {
  state = { open: false, copied: false };
  field = createRef();

  get address() {
    const { sale } = this.props;
    return `${location.origin}/e/${sale.slug}${sale.room.returning.query}#place=${sale.room.place.token}`;
  }

  copy() {
    this.field.current.select();
    navigator.clipboard?.writeText(this.address).then(() => this.setState({ copied: true }), () => {});
  }

  render({ sale }, { open, copied }) {
    const { words, place } = sale.room;
    if (!place?.token) return null;
    if (!sale.demo) return html`<p class="quiet-text">${words("resume.sign_in")}</p>`;
    if (!open) return html`<button type="button" class="link" onClick=${() => this.setState({ open: true }, () => this.field.current.focus())}>${words("resume")}</button>`;
    return html`<div class="where resume">
      <label for="room-link">${words("resume.label")}</label>
      <input id="room-link" ref=${this.field} readonly value=${this.address} onFocus=${(focus) => focus.target.select()} />
      <small>${words("resume.text")}</small>
      <button type="button" class="button quiet small" onClick=${() => this.copy()}>${words("resume.copy")}</button>
      <span role="status" class="quiet-text">${copied ? words("resume.copied") : ""}</span>
    </div>`;
  }
}

/** The browser tells of the turn, where it may. @extends {Component<{room: import("../core/room.js").Room}>} */
export class TellMe extends Component {
  answer = createRef();

  async ask() {
    await askToNotify();
    this.setState({}, () => this.answer.current?.focus()); // the button that had it is gone
  }

  render({ room: { words } }) {
    const now = notifying();
    if (now === "missing") return null;
    if (now === "ask") return html`<button type="button" class="link" onClick=${() => this.ask()}>${words("tell")}</button>`;
    return html`<p class="quiet-text" role="status" tabindex="-1" ref=${this.answer}>${words(now === "on" ? "tell.on" : "tell.refused")}</p>`;
  }
}
