// Coming in by an operator key: as a page, and over the page somebody is on when their session has ended.

import { Component, createRef, html } from "../html.js";

/** @param {{session: import("./session.js").Session}} props */
export function LoginPage({ session }) {
  return html`<main class="stop" id="content">
    <h1>Operators' console</h1>
    <p>Log in with your operator key. Whoever owns this installation gives you one; on its machine <code>./run key</code> makes them.</p>
    <${LoginForm} session=${session} act="Log in" />
  </main>`;
}

/** The page below stays as it is. Browsers let Escape close any dialog, at the second time at the latest; this one comes back. @extends {Component<{session: import("./session.js").Session}>} */
export class LoginAgain extends Component {
  #dialog = createRef();

  componentDidMount() {
    this.#dialog.current.showModal();
  }

  render({ session }) {
    return html`<dialog ref=${this.#dialog} class="asking" aria-labelledby="again-title" onClose=${() => this.#dialog.current?.showModal()}>
      <h2 id="again-title">Your session has ended</h2>
      <p>Log in again to go on. This page stays where you left it; the numbers behind this are not new any more.</p>
      <${LoginForm} session=${session} act="Log in again" />
    </dialog>`;
  }
}

function LoginForm({ session, act }) {
  const { story, busy } = session.state;
  const come = (submitted) => {
    submitted.preventDefault();
    session.come(new FormData(submitted.target).get("key"));
  };
  return html`<form class="fields" onSubmit=${come}>
    <label class="field">Operator key<input name="key" type="password" autocomplete="current-password" required autofocus spellcheck=${false} aria-describedby="login-story" /></label>
    <p id="login-story" role="alert" class="wrong-text">${story}</p>
    <button class="button main" disabled=${busy}>${busy ? "Looking…" : act}</button>
  </form>`;
}
