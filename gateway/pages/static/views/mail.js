// "Tell me by mail when it is my turn": a field that may stay empty, when joining and for who has a place. The
// address is told to the server and kept nowhere here.

import { isAddress } from "../core/mailaddress.js";
import { Component, createRef, html } from "../html.js";

const LENGTH_MAX = 254;

/**
 * @param {{words: (code: string, values?: any) => string, email: string, trouble: string, hint: string,
 *   set: (email: string) => void, field?: any}} props
 */
export function MailField({ words, email, trouble, hint, set, field }) {
  return html`<div class="where">
    <label for="room-mail">${words("mail.label")}</label>
    <input id="room-mail" ref=${field} type="email" inputmode="email" autocomplete="email" maxlength=${LENGTH_MAX} value=${email}
      aria-invalid=${trouble !== ""} aria-describedby=${trouble ? "room-mail-wrong room-mail-help" : "room-mail-help"}
      onInput=${(typed) => set(typed.target.value)} />
    ${trouble && html`<p class="trouble" id="room-mail-wrong" role="alert">${trouble}</p>`}
    <small id="room-mail-help">${hint}</small>
  </div>`;
}

/** What is wrong with an address at first sight, as a sentence; nothing where it may be one. */
export const wrongWith = (words, email) => (isAddress(email) ? "" : words("mail.wrong"));

/** For who has a place: names an address, or another one. @extends {Component<{room: import("../core/room.js").Room}>} */
export class MailMe extends Component {
  state = { open: false, email: "", wrong: "" };
  field = createRef();
  first = createRef();

  open() {
    this.setState({ open: true, email: "", wrong: "" }, () => this.field.current?.focus());
  }

  close() {
    this.setState({ open: false, email: "" }, () => this.first.current?.focus());
  }

  componentDidMount() {
    this.mailed = this.props.room.asking.mailed;
  }

  componentDidUpdate() {
    const { mailed } = this.props.room.asking;
    if (mailed > this.mailed && this.state.open) this.close();
    this.mailed = mailed;
  }

  send(submit) {
    submit.preventDefault();
    const { room } = this.props;
    const email = this.state.email.trim();
    const wrong = email ? wrongWith(room.words, email) : room.words("mail.wrong");
    this.setState({ wrong });
    if (wrong) this.field.current.focus();
    else room.mail(email);
  }

  render({ room }, { open, email, wrong }) {
    const { words, asking } = room;
    const { mailed } = asking;
    const sending = asking.is("mail");
    if (!open) return html`${mailed > 0 && html`<p class="quiet-text">${words("mail.told")}</p>`}
      <button type="button" class="link" ref=${this.first} onClick=${() => this.open()}>${words(mailed ? "mail.other" : "mail.open")}</button>`;
    const trouble = wrong || (sending ? "" : asking.mail_trouble);
    return html`<form class="join mail-me" noValidate onSubmit=${(submit) => this.send(submit)}>
      <${MailField} words=${words} email=${email} trouble=${trouble} hint=${words("mail.instead")} field=${this.field}
        set=${(typed) => this.setState({ email: typed, wrong: wrong && wrongWith(words, typed.trim()) })} />
      <div class="others">
        <button type="submit" class="button main small" aria-disabled=${sending}>${words(sending ? "mail.sending" : "mail.send")}</button>
        <button type="button" class="button quiet small" onClick=${() => this.close()}>${words("mail.close")}</button>
      </div>
      <p role="status" class="quiet-text">${sending && asking.now.busy ? words("join.busy") : ""}</p>
    </form>`;
  }
}
