// The one dialog that asks before something happens: it says what will happen, and is answered once.

import { Component, createRef, html } from "../html.js";
import { keptFocus } from "./focus.js";

/**
 * @typedef {object} Question
 * @property {string} title what is about to happen, as a question
 * @property {string | string[]} says what will come of it, and whether it can be undone
 * @property {string} act the button's words
 * @property {string} [keep] the other button's
 * @property {boolean} [danger] it cannot be undone, or hurts
 * @property {string} [type] what must be typed to confirm
 * @property {boolean} [reason] a reason for the log may be given
 * @property {any} [more] fields of the asker's own: what they hold is in the answer by name
 */

/** `ask(question)` gives what was filled in, or null for no. `there` is given it. @extends {Component<{there: (asking: Asking) => void}>} */
export class Asking extends Component {
  #dialog = createRef();
  #done = null;
  #giveBack = () => {};

  constructor(props) {
    super(props);
    this.state = { question: null, typed: "" };
  }

  componentDidMount() {
    this.props.there(this);
  }

  /** @param {Question} question @returns {Promise<Record<string, string> | null>} */
  ask(question) {
    if (this.#done) this.#done(null);
    else this.#giveBack = keptFocus();
    return new Promise((done) => {
      this.#done = done;
      this.setState({ question, typed: "" }, () => this.#show());
    });
  }

  /** Whoever asked is gone: that is a no. */
  dismiss() {
    if (this.#done) this.#end(null);
  }

  #show() {
    const dialog = this.#dialog.current;
    if (!dialog.open) dialog.showModal();
    (dialog.querySelector("textarea, input:not([name=why]), select") ?? dialog.querySelector(".confirms")).focus();
  }

  #end(answer) {
    const done = this.#done;
    this.#done = null;
    this.#dialog.current?.close();
    this.setState({ question: null });
    this.#giveBack();
    done?.(answer);
  }

  /** Enter that is held down does not answer the next question too; of a text of several lines it ends none, but with Ctrl or ⌘. */
  #typed(event) {
    if (event.key !== "Enter") return;
    if (event.repeat) event.preventDefault();
    else if ((event.ctrlKey || event.metaKey) && event.target.matches("textarea")) event.target.form.requestSubmit();
  }

  #confirm(submitted) {
    submitted.preventDefault();
    const { question, typed } = this.state;
    if (!this.#done || (question.type && typed.trim() !== question.type)) return;
    this.#end(Object.fromEntries(new FormData(submitted.target)));
  }

  render(_, { question, typed }) {
    if (!question) return null;
    const { title, says, act, keep = "Not now", danger, type, reason, more } = question;
    const ready = !type || typed.trim() === type;
    return html`<dialog ref=${this.#dialog} class="asking" aria-labelledby="asking-title" aria-describedby="asking-says"
        onCancel=${(event) => { event.preventDefault(); this.#end(null); }} onKeyDown=${(event) => this.#typed(event)}>
      <form onSubmit=${(event) => this.#confirm(event)} autocomplete="off">
        <h2 id="asking-title">${title}</h2>
        <div id="asking-says" class="asking-says">${[says].flat().map((line) => html`<p key=${line}>${line}</p>`)}</div>
        ${more}
        ${type && html`<label class="field"><span>Type <b>${type}</b> to confirm</span><input name="typed" required spellcheck=${false} autocapitalize="off" value=${typed} onInput=${(event) => this.setState({ typed: event.target.value })} /></label>`}
        ${reason && html`<label class="field"><span>Reason for the log <small>(may be left out)</small></span><input name="why" maxlength="200" /></label>`}
        <div class="asking-buttons">
          <button type="button" class="button quiet" onClick=${() => this.#end(null)}>${keep}</button>
          <button class=${`button confirms ${danger ? "danger" : "main"}`} disabled=${!ready}>${act}</button>
        </div>
      </form>
    </dialog>`;
  }
}
