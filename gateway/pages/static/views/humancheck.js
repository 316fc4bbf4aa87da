// Where the human check stands before somebody joins, and what is to be done when it cannot be shown.

import { Component, createRef, html } from "../html.js";

/** @extends {Component<{room: import("../core/room.js").Room}>} */
export class HumanCheck extends Component {
  box = createRef();

  componentDidMount() {
    this.props.room.human.show(this.box.current);
  }

  componentWillUnmount() {
    this.props.room.human.hide();
  }

  render({ room: { words, human } }) {
    return html`<div class="human" role="group" aria-label=${words("human.label")}>
      <div class="human-box" hidden=${human.away} ref=${this.box}></div>
      <p role="status" class="trouble">${human.trouble}</p>
      ${human.away && html`<button type="button" class="button quiet small" onClick=${() => human.show(this.box.current)}>${words("human.again")}</button>`}
    </div>`;
  }
}
