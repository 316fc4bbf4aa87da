// The time left of a hold by the server's clock, drawn four times a second: a ring with figures, or one line.

import { clockFace } from "../core/clock.js";
import { Component, html } from "../html.js";

const RADIUS = 42;
const ROUND = 2 * Math.PI * RADIUS;
export const SOON_MS = 60_000;

class Ticking extends Component {
  componentDidMount() {
    this.timer = setInterval(() => this.setState({}), 250);
  }

  componentWillUnmount() {
    clearInterval(this.timer);
  }

  get left_ms() {
    const { sale, hold } = this.props;
    return Math.max(0, sale.orders.left_ms(hold));
  }
}

/** A ring and figures. */
export class Countdown extends Ticking {
  render({ sale, hold, label = "left to buy" }) {
    const { left_ms } = this;
    const unknown = sale.orders.paused_at !== null && left_ms === 0; // this page was not there when it was paused
    const part = Math.min(1, left_ms / hold.ttl_ms);
    const soon = left_ms < SOON_MS;
    return html`<div class=${`countdown ${soon ? "soon" : ""}`} role="timer" aria-label="Time left to buy">
      <svg viewBox="0 0 100 100" aria-hidden="true">
        <circle class="ring-track" cx="50" cy="50" r=${RADIUS} />
        <circle class="ring-left" cx="50" cy="50" r=${RADIUS} transform="rotate(-90 50 50)"
          stroke-dasharray=${`${ROUND * part} ${ROUND}`} />
      </svg>
      <span class="countdown-figures">${unknown ? "–" : clockFace(left_ms)}</span>
      <small>${label}</small>
    </div>`;
  }
}

/** Figures in a line. */
export class TimeLeft extends Ticking {
  render() {
    return html`<span role="timer" class="time-left">${clockFace(this.left_ms)} left</span>`;
  }
}

/** What stands there when the time seems over, until the server has said whether it is. */
export class WhenOver extends Ticking {
  render({ children }) {
    return this.left_ms > 0 ? null : children;
  }
}

/** What stands there only in the last minute. */
export class WhenSoon extends Ticking {
  render({ children }) {
    return this.left_ms < SOON_MS && this.left_ms > 0 ? children : null;
  }
}
