// One websocket that comes back by itself: jittered backoff, at once when the network or the tab
// returns, never when the server said it is of no use. It knows frames, not what they mean.

const BACKOFF_FIRST_MS = 400;
const BACKOFF_MAX_MS = 15_000;
const WELCOME_WITHIN_MS = 12_000;
/** So many answers in a row did not come, and nothing else either: nobody is there any more. */
const DOUBTS_MAX = 3;
/** Close codes after which trying again gives the same answer. */
const FINAL = new Set([4401, 4403, 4404]);

/** Full jitter: anywhere up to the doubled bound, so a crowd does not return in one moment. */
export function backoff(attempt, random = Math.random) {
  return random() * Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** attempt);
}

export class Link {
  /**
   * @param {object} on
   * @param {() => object} on.hello the first frame of each connection
   * @param {(frame: any) => void} on.frame
   * @param {(link: "connecting" | "live" | "reconnecting" | "refused", code: number, greeted: boolean) => void} on.change
   *   `greeted`: whether the connection that is meant was welcome; the code is 0 where nothing came any more
   * @param {(attempt: number) => number} on.pause_ms so long until the next attempt
   */
  constructor(on) {
    this.on = on;
    this.attempt = 0;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.live = false;
    this.doubts = 0;
    this.heard_ms = 0;
    this.refused = false;
    this.timer = 0;
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.hurry());
  }

  open() {
    const address = new URL("/v1/socket", location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const socket = new WebSocket(address);
    this.socket = socket;
    this.timer = setTimeout(() => this.#abandon(socket), WELCOME_WITHIN_MS);
    socket.onopen = () => socket.send(JSON.stringify(this.on.hello()));
    socket.onmessage = ({ data }) => socket === this.socket && this.#receive(JSON.parse(data));
    socket.onclose = ({ code }) => this.#closed(socket, code);
  }

  /** @param {object} frame @returns {boolean} whether it went out; if not, the caller asks again when live */
  send(frame) {
    if (!this.live || this.socket.readyState !== WebSocket.OPEN) return false; // the other end may have said goodbye
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  /** It is of no use: tries no more. */
  stop() {
    clearTimeout(this.timer);
    this.refused = true;
  }

  /** Tries at once instead of waiting the backoff out. */
  hurry() {
    if (this.socket || this.refused) return;
    clearTimeout(this.timer);
    this.open();
  }

  /** Says hello anew, as that says something else now; nobody was away. */
  renew() {
    const before = this.socket;
    if (!this.live) return;
    Object.assign(this, { socket: null, live: false });
    this.open();
    before.close();
  }

  /** An answer did not come. A connection can be dead for long before anybody is told; then a new one is made. */
  doubt() {
    this.doubts += 1;
    if (this.doubts >= DOUBTS_MAX && this.socket) this.#abandon(this.socket);
  }

  /** Its own end would come after minutes: nobody answers the goodbye either. */
  #abandon(socket) {
    this.#closed(socket, 0);
    socket.close();
  }

  #receive(frame) {
    this.doubts = 0;
    this.heard_ms = Date.now();
    if (frame.type === "welcome") {
      clearTimeout(this.timer);
      this.attempt = 0;
      this.live = true;
      this.on.change("live", 0, true);
    }
    this.on.frame(frame);
  }

  #closed(socket, code) {
    if (socket !== this.socket) return;
    clearTimeout(this.timer);
    const greeted = this.live;
    this.socket = null;
    this.live = false;
    this.doubts = 0;
    this.refused = FINAL.has(code);
    this.on.change(this.refused ? "refused" : "reconnecting", code, greeted);
    if (this.refused) return;
    this.timer = setTimeout(() => this.open(), this.on.pause_ms(this.attempt));
    this.attempt += 1;
  }
}
