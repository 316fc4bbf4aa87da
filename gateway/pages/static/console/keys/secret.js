// A key's secret, shown this once, to be copied.

import { Component, createRef, html } from "../../html.js";

/** @extends {Component<{made: {key: any, secret: string}, done: () => void}>} */
export class Secret extends Component {
  #field = createRef();

  constructor(props) {
    super(props);
    this.state = { copied: "" };
  }

  componentDidMount() {
    this.#field.current.focus();
    this.#field.current.select();
  }

  async #copy() {
    const copied = await navigator.clipboard?.writeText(this.props.made.secret).then(() => true).catch(() => false);
    this.#field.current.select();
    this.setState({ copied: copied ? "Copied." : "Your browser does not let this page copy. It is selected: press Ctrl+C or ⌘C." });
  }

  render({ made, done }, { copied }) {
    return html`<section class="card secret" aria-labelledby="secret-title">
      <h2 id="secret-title">The key of ${made.key.name}</h2>
      <p>Copy it now and give it to whoever is to use it. It is shown this once: nobody can read it again.</p>
      <div class="field-row"><label class="field">Operator key<input ref=${this.#field} readonly value=${made.secret} spellcheck=${false} /></label>
        <button type="button" class="button main" onClick=${() => this.#copy()}>Copy</button><button type="button" class="button quiet" onClick=${done}>I have it</button></div>
      <p role="status" class="quiet-text">${copied}</p>
    </section>`;
  }
}
