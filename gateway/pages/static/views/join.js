// Joining: one button, an address for the mail that says it is one's turn, and the way to a lane of its own for
// who has a code.

import { Component, createRef, html } from "../html.js";
import { HumanCheck } from "./humancheck.js";
import { MailField, wrongWith } from "./mail.js";

/** @extends {Component<{sale: import("../core/sale.js").Sale, code: string}>} */
export class Join extends Component {
  state = { open: false, code: "", email: "", wrong: "" };
  mail = createRef();
  main = createRef();

  stop() {
    this.props.sale.room.asking.stopProving();
    this.main.current.focus();
  }

  join(submit) {
    submit.preventDefault();
    const { room } = this.props.sale;
    const { asking, human } = room;
    const { code } = this.state;
    const email = this.state.email.trim();
    const wrong = wrongWith(room.words, email);
    this.setState({ wrong });
    if (wrong) this.mail.current.focus();
    else if (!asking.is("join") && !human.misses()) room.join(code.trim(), email);
  }

  render({ sale, code: label }, { open, code, email, wrong }) {
    const { room } = sale;
    const { words, asking, status } = room;
    const joining = asking.is("join");
    const proving = joining && asking.now.proving;
    const told = proving ? words("join.proving") : joining && asking.now.busy ? words("join.busy") : asking.trouble;
    return html`<form class="join" noValidate onSubmit=${(submit) => this.join(submit)}>
      ${open && html`<div class="where"><label for="room-code">${words("join.code_label")}</label>
        <input id="room-code" value=${code} autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="128"
          onInput=${(change) => this.setState({ code: change.target.value })} />
        <small>${words("join.code_help")}</small></div>`}
      <${MailField} words=${words} email=${email} hint=${words("mail.help")} field=${this.mail}
        trouble=${wrong || (joining ? "" : asking.mail_trouble)}
        set=${(typed) => this.setState({ email: typed, wrong: wrong && wrongWith(words, typed.trim()) })} />
      ${room.human.on && html`<${HumanCheck} room=${room} />`}
      <div class="thumb ready"><button type="submit" class="button main" ref=${this.main} aria-disabled=${joining}>
        ${words(joining ? "join.asking" : label)}</button></div>
      <p role="status" class=${proving ? "quiet-text" : "trouble"}>${told}</p>
      ${proving && html`<button type="button" class="link" onClick=${() => this.stop()}>${words("join.stop")}</button>`}
      ${!open && !joining && status.phase !== "draft" && html`<button type="button" class="link" onClick=${() => this.setState({ open: true })}>${words("join.code")}</button>`}
    </form>`;
  }
}
