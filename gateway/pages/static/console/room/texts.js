// The texts of the waiting room, by the screen they stand on; each with the page's own words where there are none.

import en from "../../core/roomtexts/en.js";
import { Component, html } from "../../html.js";

const TEXT_LENGTH_MAX = 500;
const ALL_LENGTH_MAX = 8_000;
const TEXTS_MAX = 100;

/** The screens in the order buyers meet them, by how their texts' names begin. */
const SCREENS = [
  ["Before the sale", ["lobby."]],
  ["Joining", ["join", "join.", "outside.", "mail.", "human."]],
  ["The ballot's wish", ["wish.", "deciding."]],
  ["The draw", ["drawing."]],
  ["In line", ["line.", "reason.", "paused.", "stopped.", "message.", "said.", "away", "tell", "leave", "resume"]],
  ["Their turn", ["turn.", "inside.", "more", "missed.", "time_over.", "minutes"]],
  ["Sold out", ["sold_out."]],
  ["Back to another shop", ["back."]],
  ["Without JavaScript", ["plain."]],
];
const belongs = (code, begins) => begins.some((begin) => (begin.endsWith(".") ? code.startsWith(begin) : code === begin || code.startsWith(`${begin}.`)));
const own = (text) => (typeof text === "object" ? text.other : text);

/** The texts of a screen, or all that say what is looked for. */
function shownOf(screen, find, texts) {
  const wanted = find.trim().toLowerCase();
  const fits = ([code, text]) => (wanted ? `${code} ${own(text)} ${texts[code] ?? ""}`.toLowerCase().includes(wanted) : belongs(code, SCREENS[screen][1]));
  return Object.entries(en).filter(fits);
}

/** @extends {Component<{texts: Record<string, string>, may: boolean, set: (texts: Record<string, string>) => void}>} */
export class Texts extends Component {
  constructor(props) {
    super(props);
    this.state = { screen: 0, find: "" };
  }

  render({ texts, may, set }, { screen, find }) {
    const given = Object.entries(texts).filter(([, text]) => text.trim());
    const length = given.reduce((sum, [, text]) => sum + text.length, 0);
    const strange = Object.keys(texts).filter((code) => !(code in en));
    const shown = shownOf(screen, find, texts);
    return html`<section class="card look-texts-card" aria-labelledby="texts-title"><h2 id="texts-title">Texts</h2>
      <p class="quiet-text">In place of the pages' own words. What stands in braces, such as {count}, is filled in: keep it as it is.</p>
      <div class="field-row"><label class="field">Screen<select disabled=${find.trim() !== ""} onChange=${(event) => this.setState({ screen: Number(event.target.value) })}>${SCREENS.map(([name, begins], index) => html`<option key=${name} value=${index} selected=${screen === index}>${name}${changedIn(given, begins)}</option>`)}</select></label>
        <label class="field">Or find a text<input type="search" value=${find} onInput=${(event) => this.setState({ find: event.target.value })} /></label></div>
      ${shown.length === 0 && html`<p class="quiet-text">No text says that.</p>`}
      <div class="look-texts">${shown.map(([code, text]) => html`<label class="field" key=${code}><span>${own(text)}<small class="below">${code}${missing(own(text), texts[code])}</small></span>
        <textarea rows="1" maxlength=${TEXT_LENGTH_MAX} readonly=${!may} placeholder="as it is" value=${texts[code] ?? ""} onInput=${(event) => set({ ...texts, [code]: event.target.value })}></textarea></label>`)}</div>
      ${strange.length > 0 && html`<p class="quiet-text">Kept, though no page shows them: ${strange.join(", ")}.</p>`}
      <p class=${given.length > TEXTS_MAX || length > ALL_LENGTH_MAX ? "wrong-text" : "quiet-text"}>${given.length} of at most ${TEXTS_MAX} texts, ${length.toLocaleString("en")} of ${ALL_LENGTH_MAX.toLocaleString("en")} characters.</p></section>`;
  }
}

function changedIn(given, begins) {
  const changed = given.filter(([code]) => belongs(code, begins)).length;
  return changed ? ` (${changed} of yours)` : "";
}

/** Which {names} of the page's words the organiser's leave out: a number that is not told any more. */
function missing(text, given) {
  if (!given?.trim()) return "";
  const names = [...new Set(text.match(/\{\w+\}/g) ?? [])].filter((name) => !given.includes(name));
  return names.length ? `; yours leaves out ${names.join(", ")}` : "";
}
