// Who needs longer asks for more time: one button, and how often it can be asked for.

import { Component, html } from "../html.js";

/** @extends {Component<{room: import("../core/room.js").Room}>} */
export class MoreTime extends Component {
  state = { asked: false };

  ask() {
    this.setState({ asked: true });
    if (this.props.room.place.more_left) this.props.room.more();
  }

  /** Who had the last of it finds the button where it was: the focus of a keyboard is on it. */
  render({ room }, { asked }) {
    const { words, place, asking } = room;
    if (!place?.more_left && !asked) return null;
    const being_asked = asking.is("more");
    const minutes = words("minutes", { count: Math.max(1, Math.round(place.more_seconds / 60)) });
    return html`<div class="longer">
      <button type="button" class="button quiet small" aria-describedby="longer" aria-disabled=${being_asked || !place.more_left}
        onClick=${() => this.ask()}>${words(being_asked ? "more.asking" : "more")}</button>
      <small id="longer">${place.more_left ? words("more.by", { minutes }) : ""} ${room.time.left}</small>
    </div>`;
  }
}
