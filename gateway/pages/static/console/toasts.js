// What was done, said for a while and read out; with a way back where there is one. What went wrong stays, and so does
// what somebody points at or has the focus in.

import { Component, html } from "../html.js";
import { keptFocus } from "./focus.js";

const SHOWN_MS = 8_000;
const WITH_UNDO_MS = 20_000;
const SHOWN_MAX = 3;

/** The newest of each kind: many that went well push out none that went wrong. */
const bounded = (said) => said.filter((one) => said.filter((other) => Boolean(other.wrong) === Boolean(one.wrong) && other.id > one.id).length < SHOWN_MAX);

/** @typedef {{wrong?: boolean, undo?: {words: string, act: () => void}}} Telling */

/** `there` is given it. @extends {Component<{there: (toasts: Toasts) => void}>} */
export class Toasts extends Component {
  constructor(props) {
    super(props);
    this.state = { said: [] };
    this.number = 0;
  }

  componentDidMount() {
    this.props.there(this);
  }

  /** @param {string} words @param {Telling} [how] */
  tell(words, how = {}) {
    const id = (this.number += 1);
    this.setState(({ said }) => ({ said: bounded([...said.filter((one) => one.words !== words), { id, words, ...how }]) }));
    if (!how.wrong) this.#dropLater(id, how.undo ? WITH_UNDO_MS : SHOWN_MS);
  }

  #dropLater(id, ms) {
    setTimeout(() => {
      const shown = document.getElementById(`toast-${id}`);
      if (shown?.matches(":hover, :focus-within")) this.#dropLater(id, SHOWN_MS);
      else this.#drop(id);
    }, ms);
  }

  #drop(id) {
    const giveBack = keptFocus();
    this.setState(({ said }) => ({ said: said.filter((one) => one.id !== id) }), giveBack);
  }

  #undo({ id, undo }) {
    this.#drop(id);
    undo.act();
  }

  render(_, { said }) {
    const shown = (wrong) => said.filter((one) => Boolean(one.wrong) === wrong).map((one) => html`<div key=${one.id} id=${`toast-${one.id}`} class=${`toast ${wrong ? "wrong" : ""}`}>
      <p>${one.words}</p>
      ${one.undo && html`<button type="button" class="button quiet small" onClick=${() => this.#undo(one)}>${one.undo.words}</button>`}
      <button type="button" class="dismiss" aria-label="Dismiss" onClick=${() => this.#drop(one.id)}><span aria-hidden="true">×</span></button>
    </div>`);
    return html`<section class="toasts" aria-label="What was done">
      <div role="status">${shown(false)}</div><div role="alert">${shown(true)}</div>
    </section>`;
  }
}
