// The server's time, estimated from what it tells. A decision fresh from the allocator is best (its
// batch time is `expires_at` less the hold's length); until there is one, an HTTP Date header does.

import { counted } from "./money.js";

/** Two estimates further apart than this cannot both be true: the first one stays (the organiser may
 * have changed how long holds last since this page came). */
const DOUBT_MS = 1_500;

export class ServerClock {
  constructor() {
    this.offset_ms = 0;
    this.uncertainty_ms = Infinity;
  }

  /** What is known, to go on from after a refresh. */
  get estimate() {
    return { offset_ms: this.offset_ms, uncertainty_ms: Math.min(this.uncertainty_ms, 1e9) };
  }

  /** @param {{offset_ms: number, uncertainty_ms: number}} estimate of this computer's clock not long ago */
  restore({ offset_ms, uncertainty_ms }) {
    this.offset_ms = offset_ms;
    this.uncertainty_ms = uncertainty_ms + 100;
  }

  /** Milliseconds since the epoch, by the server. */
  now() {
    return Date.now() + this.offset_ms;
  }

  /** The server's clock stood at `server_ms` at some moment between `sent_ms` and `received_ms` here. */
  learn(server_ms, sent_ms, received_ms, resolution_ms = 0) {
    const uncertainty = (received_ms - sent_ms) / 2 + resolution_ms / 2;
    if (!Number.isFinite(server_ms) || uncertainty < 0 || uncertainty > this.uncertainty_ms) return;
    const offset_ms = server_ms + resolution_ms / 2 - (sent_ms + received_ms) / 2;
    if (Math.abs(offset_ms - this.offset_ms) > this.uncertainty_ms + uncertainty + DOUBT_MS) return;
    this.uncertainty_ms = uncertainty;
    this.offset_ms = offset_ms;
  }

  /** The header has whole seconds, and servers renew it once a second. @param {Response} response @param {number} sent_ms */
  learnFromDate(response, sent_ms) {
    this.learn(Date.parse(response.headers.get("date") ?? ""), sent_ms, Date.now(), 2000);
  }
}

/** `7:04`, or `1:02:03` above an hour. @param {number} milliseconds */
export function clockFace(milliseconds) {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  const two = (value) => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}

/** `8 minutes`, for sentences. @param {number} seconds */
export function spoken(seconds) {
  if (seconds < 90) return counted(Math.round(seconds), "second");
  return counted(Math.round(seconds / 60), "minute");
}
