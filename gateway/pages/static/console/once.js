// What is shown this once and nobody can read again: a secret, or codes; to be copied, or kept as a file.

import { Component, createRef, html } from "../html.js";

/**
 * `text`: what is shown; of several lines it is a list. `file`: what it is called where it may be kept as one.
 * @extends {Component<{title: string, says: string, label: string, text: string, file?: string, done: () => void}>}
 */
export class Once extends Component {
  #field = createRef();

  constructor(props) {
    super(props);
    this.state = { copied: "" };
    this.address = props.file ? URL.createObjectURL(new Blob([`${props.text}\n`], { type: "text/plain" })) : null;
  }

  componentDidMount() {
    this.#field.current.focus();
    this.#field.current.select();
  }

  componentWillUnmount() {
    if (this.address) URL.revokeObjectURL(this.address);
  }

  async #copy() {
    const copied = await navigator.clipboard?.writeText(this.props.text).then(() => true).catch(() => false);
    this.#field.current.select();
    this.setState({ copied: copied ? "Copied." : "Your browser does not let this page copy. It is selected: press Ctrl+C or ⌘C." });
  }

  render({ title, says, label, text, file, done }, { copied }) {
    const lines = text.split("\n").length;
    return html`<section class="card secret" aria-labelledby="secret-title">
      <h2 id="secret-title">${title}</h2>
      <p>${says}</p>
      <div class="field-row"><label class="field">${label}${lines > 1
        ? html`<textarea ref=${this.#field} readonly rows=${Math.min(lines, 12)} spellcheck=${false} value=${text}></textarea>`
        : html`<input ref=${this.#field} readonly value=${text} spellcheck=${false} />`}</label>
        <button type="button" class="button main" onClick=${() => this.#copy()}>Copy</button>
        ${file && html`<a class="button quiet" download=${file} href=${this.address}>Keep as a file</a>`}
        <button type="button" class="button quiet" onClick=${done}>I have it</button></div>
      <p role="status" class="quiet-text">${copied}</p>
    </section>`;
  }
}
