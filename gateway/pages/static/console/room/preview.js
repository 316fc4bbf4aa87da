// The waiting room as buyers will see it, by the very views of their page, in a frame of its own: their styles
// do not reach the console, and nothing in it can be pressed.

import { worn } from "../../core/look.js";
import { Component, createRef, html, render } from "../../html.js";
import { Lobby } from "../../views/lobby.js";
import { Line } from "../../views/line.js";
import { Message } from "../../views/message.js";
import { Turn } from "../../views/turn.js";
import { pretended } from "./pretend.js";

const STYLES = ["page", "choose", "paying", "room"].map((name) => new URL(`../../css/${name}.css`, import.meta.url).pathname);
/** Name of the screen, its view, and how the buyer stands there. */
const SCREENS = [
  ["Before", Lobby, { phase: "lobby" }],
  ["Joined", Lobby, { phase: "lobby", place: "waiting" }],
  ["In line", Line, { phase: "admitting", place: "waiting", position: 1204 }],
  ["Paused", Line, { phase: "paused", place: "waiting", position: 1204 }],
  ["Sold out", Line, { phase: "admitting", place: "waiting", position: 1204, sold_out: true }],
  ["Their turn", Turn, { phase: "admitting", place: "admitted", position: 1204 }],
];

/** @extends {Component<{look: any, room: any}>} */
export class Preview extends Component {
  #frame = createRef();

  constructor(props) {
    super(props);
    this.state = { screen: 0, scheme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light" };
  }

  componentDidMount() {
    this.root = this.#frame.current.attachShadow({ mode: "open" });
    this.#draw();
  }

  componentDidUpdate() {
    this.#draw();
  }

  componentWillUnmount() {
    render(null, this.root);
  }

  #draw() {
    const { look, room } = this.props;
    const { style } = this.#frame.current;
    for (const name of ["--accent", "--on-accent"]) style.removeProperty(name);
    for (const [name, value] of worn(look.accent)) style.setProperty(name, value);
    const [name, View, stands] = SCREENS[this.state.screen];
    const sale = pretended(look, room, stands);
    render(html`${STYLES.map((href) => html`<link key=${href} rel="stylesheet" href=${href} />`)}
      <div class="room" inert><${Message} room=${sale.room} /><${View} key=${name} sale=${sale} /></div>`, this.root);
  }

  render(_, { screen, scheme }) {
    return html`<section class="card look-preview" aria-labelledby="preview-title"><h2 id="preview-title">As buyers see it</h2>
      <div class="field-row"><label class="field">Screen<select onChange=${(event) => this.setState({ screen: Number(event.target.value) })}>${SCREENS.map(([name], index) => html`<option key=${name} value=${index} selected=${screen === index}>${name}</option>`)}</select></label>
        <div class="switch" role="group" aria-label="Light or dark">${[["light", "Light"], ["dark", "Dark"]].map(([one, words]) => html`<button key=${one} type="button" aria-pressed=${scheme === one} onClick=${() => this.setState({ scheme: one })}>${words}</button>`)}</div></div>
      <div ref=${this.#frame} class=${`look-frame ${scheme}`} role="img" tabindex="0" aria-label=${`The screen “${SCREENS[screen][0]}” with what is filled in, in ${scheme}`}></div></section>`;
  }
}
