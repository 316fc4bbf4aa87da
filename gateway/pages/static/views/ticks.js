// What is drawn again each second: times left by the server's clock.

import { Component } from "../html.js";

const EVERY_MS = 500;

/** @template Props @extends {Component<Props>} */
export class Ticks extends Component {
  componentDidMount() {
    this.timer = setInterval(() => this.setState({}), EVERY_MS);
  }

  componentWillUnmount() {
    clearInterval(this.timer);
  }
}
