// Joining: one button, and the way to a lane of its own for who has a code.

import { Component, html } from "../html.js";

/** @extends {Component<{sale: import("../core/sale.js").Sale, code: string}>} */
export class Join extends Component {
  state = { open: false, code: "" };

  render({ sale, code: label }, { open, code }) {
    const { room } = sale;
    const { words, asking, status } = room;
    const joining = asking.is("join");
    const join = (submit) => {
      submit.preventDefault();
      room.join(code.trim());
    };
    return html`<form class="join" onSubmit=${join}>
      ${open && html`<div class="where"><label for="room-code">${words("join.code_label")}</label>
        <input id="room-code" value=${code} autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="128"
          onInput=${(change) => this.setState({ code: change.target.value })} />
        <small>${words("join.code_help")}</small></div>`}
      <div class="thumb ready"><button type="submit" class="button main" aria-disabled=${joining}>
        ${joining ? words(asking.now.proving ? "join.proving" : "join.asking") : words(label)}</button></div>
      <p role="status" class="trouble">${joining && asking.now.busy ? words("join.busy") : asking.trouble}</p>
      ${!open && status.phase !== "draft" && html`<button type="button" class="link" onClick=${() => this.setState({ open: true })}>${words("join.code")}</button>`}
    </form>`;
  }
}
