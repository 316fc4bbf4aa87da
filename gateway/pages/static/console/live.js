// What changes by itself: one websocket, which says what it watches and comes back when it is cut off.

const WAIT_FIRST_MS = 500;
const WAIT_MS_MAX = 8_000;
const SILENT_MS_MAX = 8_000;
const REPLY_MS_MAX = 4_000;
const NO_SESSION = 4401;

/** @typedef {"idle" | "connecting" | "live" | "away"} Link */

export class Live {
  #socket = null;
  #timer = 0;
  #silence = 0;
  #failures = 0;

  /** @param {() => void} unknown told when the socket was refused for want of a session */
  constructor(unknown) {
    this.unknown = unknown;
    /** @type {{link: Link, heard_at: number}} */
    this.state = { link: "idle", heard_at: 0 };
    /** @type {{event: string | null, hear: (frame: any) => void, read: () => Promise<void>} | null} */
    this.watching = null;
    this.changed = () => {};
  }

  /**
   * From now on this is watched, and nothing else. @param {string | null} event null: all launches at a glance
   * @param {(frame: any) => void} hear @param {() => Promise<void>} read how it stands, by HTTP: for a network that lets
   * no websocket through @returns {() => void} ends it
   */
  watch(event, hear, read) {
    const mine = { event, hear, read };
    this.watching = mine;
    if (this.#socket?.readyState === WebSocket.OPEN) this.#say();
    else this.#connect();
    return () => {
      if (this.watching !== mine) return;
      this.watching = null;
      this.#close();
    };
  }

  /** Connects at once instead of waiting: somebody logged in again, the network is back, or the page is looked at. */
  again() {
    if (this.watching && this.state.link !== "live") this.#connect();
  }

  #connect() {
    this.#close();
    this.#set(this.#failures ? "away" : "connecting");
    const address = new URL("/v1/operator/live", location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.#socket = socket;
    socket.onopen = () => this.#say();
    socket.onmessage = ({ data }) => socket === this.#socket && this.#heard(JSON.parse(data));
    socket.onclose = ({ code }) => socket === this.#socket && this.#lost(code);
    this.#listen();
  }

  #say() {
    this.#socket.send(JSON.stringify({ type: "watch", event: this.watching.event }));
  }

  #heard(frame) {
    this.#listen();
    if (frame.type === "ready" || frame.type === "error") return; // who is refused is told so before the end
    this.#failures = 0;
    this.#set("live");
    if (frame.event === undefined || frame.event === this.watching?.event) this.watching?.hear(frame);
  }

  /** Networks forget connections and tell nobody: a line that is silent is asked, and one that does not answer is dead. */
  #listen() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      if (this.#socket?.readyState === WebSocket.OPEN) this.#say();
      this.#silence = setTimeout(() => this.#lost(0), REPLY_MS_MAX);
    }, SILENT_MS_MAX);
  }

  #lost(code) {
    this.#close();
    this.#failures += 1;
    this.#set("away");
    if (code === NO_SESSION) this.unknown();
    else if (this.#failures > 1) this.#readInstead();
    const wait_ms = Math.min(WAIT_MS_MAX, WAIT_FIRST_MS * 2 ** (this.#failures - 1));
    this.#timer = setTimeout(() => this.watching && this.#connect(), wait_ms * (0.5 + Math.random()));
  }

  async #readInstead() {
    const asked = this.watching;
    const read = await asked?.read().then(() => true).catch(() => false);
    if (!read || asked !== this.watching || this.state.link === "live") return;
    this.state = { ...this.state, heard_at: Date.now() };
    this.changed();
  }

  #close() {
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    const socket = this.#socket;
    this.#socket = null;
    if (socket?.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close(); // browsers complain of it any sooner
    else socket?.close();
    if (!this.watching) this.#set("idle");
  }

  #set(link) {
    const known = this.state.link === link;
    this.state = { link, heard_at: link === "live" ? Date.now() : this.state.heard_at };
    if (!known) this.changed();
  }
}
