// A small client for onsale without dependencies: a buyer in a waiting room and in the sale.
//
//   const buyer = new Buyer("https://on.sale", "gala", token);
//   await buyer.join(); await buyer.turn(); await buyer.begin();
//   const decision = await buyer.request({ best: { quantity: 2 } });
//
// Everything is said until it is answered: after a cut connection it is said again under the same key, which onsale
// answers once. Frames come over a websocket; where that cannot be had, news comes as server-sent events, or by
// asking every few seconds, and what is said goes by HTTP.

const SAY_AGAIN_MS = 10_000;
const POLL_MS = 3_000;
const PAUSE_FIRST_MS = 200;
const PAUSE_MAX_MS = 10_000;
/** After so many sockets that were never greeted the other ways are used. */
const SOCKETS_FAILED_MAX = 3;
const PROOFS_MAX = 5;
const PROVE = new Set(["proof_required", "proof_expired", "proof_used"]);
/** What is said of the place, and by HTTP where. */
const OF_PLACE = { join: "/room/join", begin: "/room/begin", more_time: "/room/more-time", leave_line: "/room/leave" };
/** Close codes after which coming back helps nobody: token, origin, event. */
const FOR_GOOD = new Set([4401, 4403, 4404]);
/** Statuses after which the same is asked again. */
const COMES_BACK = new Set([429, 502, 503, 504]);
const LIVE = new Set(["waiting", "admitted"]);

/** onsale says no; `code` is stable, the message says what to do. */
export class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const later = (ms) => new Promise((done) => setTimeout(done, ms));
/** When a turn ends, to begin or to choose; 0: it is not the buyer's turn. */
const endOf = (place) => (place?.state === "admitted" ? (place.until ?? place.begin_by) : 0);
const jittered = (ms) => ms * (0.5 + Math.random() / 2);

/** One buyer at one event. `change` events tell that `status` or `place` is another one. */
export class Buyer extends EventTarget {
  #socket = null;
  #asked = new Map();
  #closed = null;
  #failed = 0;
  #events = null;

  /** @param {string} url of onsale @param {string} event its slug @param {string} token the buyer's @param {{ways?: string[]}} options */
  constructor(url, event, token, { ways = ["socket", "events", "poll"] } = {}) {
    super();
    this.url = url.replace(/\/$/, "");
    this.base = `${this.url}/v1/events/${event}`;
    this.event = event;
    this.token = token;
    this.ways = ways;
    /** The waiting room as it was told last, for all buyers. */
    this.status = null;
    /** The buyer's own place in it. */
    this.place = null;
    this.#run();
  }

  /** Ends all of it; what was said is done or not, whoever asks. */
  close() {
    this.#end(new Refused("closed", "This client was closed."));
  }

  // --- the waiting room ---

  /** A place, or the one there is; work that is asked for is done. @param {{code?: string, email?: string, human?: string}} more */
  join(more = {}) {
    return this.#ask("join", { type: "join", ...more });
  }

  /** The place, once it is the buyer's turn. */
  async turn() {
    while (this.place?.state !== "admitted") {
      if (this.place && !LIVE.has(this.place.state)) throw new Refused(this.place.state, "The place is over. Join again.");
      if (this.#closed) throw this.#closed;
      await new Promise((done) => this.addEventListener("change", done, { once: true }));
    }
    return this.place;
  }

  begin() { return this.#ask("begin", { type: "begin" }); }

  /** More time to begin, or to choose who has begun; `place.more_left` says how often. */
  moreTime() {
    return this.#ask("more_time", { type: "more_time", end: endOf(this.place) });
  }

  leave() { return this.#ask("leave_line", { type: "leave_line" }); }

  /** How many are before the buyer; null while nobody knows. */
  get ahead() {
    if (this.place?.position == null || !this.status) return null;
    const serving = this.place.lane === "priority" ? this.status.serving_priority : this.status.serving;
    return Math.max(0, this.place.position - serving - 1);
  }

  /** A token for a shop elsewhere. */
  admission(shop = "") { return this.#http("GET", `/room/admission${shop && `?shop=${encodeURIComponent(shop)}`}`); }

  // --- the sale ---

  /** The one decision; the same key and content get the same one. */
  request(want, key = crypto.randomUUID()) {
    return this.#ask(key, { type: "request", id: key, ...want });
  }

  confirm(hold) { return this.#http("POST", `/holds/${hold}/confirm`); }

  release(hold) { return this.#http("POST", `/holds/${hold}/release`); }

  // --- what is said, and heard ---

  async #ask(name, frame) {
    let asked = this.#asked.get(name);
    if (!asked) {
      asked = { name, frame, said: 0, proofs: 0 };
      asked.answer = new Promise((done, refuse) => Object.assign(asked, { done, refuse }));
      this.#asked.set(name, asked);
      asked.timer = setInterval(() => this.#say(asked), SAY_AGAIN_MS);
    }
    if (this.#closed) asked.refuse(this.#closed);
    else this.#say(asked);
    try {
      return await asked.answer;
    } finally {
      clearInterval(asked.timer);
      if (this.#asked.get(name) === asked) this.#asked.delete(name);
    }
  }

  #say(asked) {
    const again = asked.said++ > 0 && asked.frame.type === "request" ? { again: true } : {};
    if (this.#socket?.greeted) this.#socket.send(JSON.stringify({ ...asked.frame, ...again }));
    else if (!this.#bySocket) this.#post(asked);
  }

  get #bySocket() {
    return this.ways.includes("socket") && (this.#failed < SOCKETS_FAILED_MAX || this.ways.length === 1);
  }

  #hear(frame) {
    const asked = frame.id === undefined ? null : this.#asked.get(frame.id);
    if (frame.type === "room") this.status = frame;
    else if (frame.type === "place") this.#take(frame);
    else if (frame.type === "decision" || frame.type === "not_queued") asked?.done(frame);
    else if (frame.type === "unknown" && asked) this.#say(asked);
    else if (frame.type === "error") this.#refused(asked ?? this.#ofPlace(), frame);
    if (frame.type === "room" || frame.type === "place") this.dispatchEvent(new Event("change"));
  }

  #take(place) {
    this.place = place;
    if (LIVE.has(place.state)) this.#asked.get("join")?.done(place);
    else this.#asked.get("leave_line")?.done(place);
    if (place.begun_at !== null) this.#asked.get("begin")?.done(place);
    const more = this.#asked.get("more_time");
    if (more?.frame.end !== endOf(place)) more?.done(place);
  }

  #ofPlace() {
    return Object.keys(OF_PLACE).map((name) => this.#asked.get(name)).find(Boolean);
  }

  async #refused(asked, { code, message, retry_after }) {
    if (!asked) return;
    if (PROVE.has(code) && asked.proofs++ < PROOFS_MAX) {
      try {
        asked.frame.proof = await solve(await this.#http("GET", "/room/challenge"));
        this.#say(asked);
      } catch (error) {
        asked.refuse(error);
      }
    } else if (retry_after) setTimeout(() => this.#say(asked), retry_after * 1000);
    else asked.refuse(new Refused(code, message));
  }

  // --- the ways ---

  async #run() {
    for (let pause = PAUSE_FIRST_MS; !this.#closed; pause = Math.min(2 * pause, PAUSE_MAX_MS)) {
      const greeted = this.#bySocket ? await this.#bySockets() : await this.#byNews();
      if (greeted) pause = PAUSE_FIRST_MS / 2;
      if (!this.#closed) await later(jittered(pause));
    }
  }

  /** Resolves when the socket ends: whether it was greeted. */
  #bySockets() {
    return new Promise((over) => {
      const socket = (this.#socket = new WebSocket(`${this.url.replace(/^http/, "ws")}/v1/socket`));
      socket.onopen = () => socket.send(JSON.stringify({ type: "hello", event: this.event, token: this.token }));
      socket.onmessage = ({ data }) => {
        const frame = JSON.parse(data);
        if (frame.type === "welcome") {
          [socket.greeted, this.#failed] = [true, 0];
          for (const asked of this.#asked.values()) this.#say(asked);
        }
        this.#hear(frame);
      };
      socket.onclose = ({ code, reason }) => {
        this.#socket = null;
        if (!socket.greeted) this.#failed += 1;
        if (FOR_GOOD.has(code)) this.#end(new Refused(`closed_${code}`, reason));
        over(Boolean(socket.greeted));
      };
    });
  }

  /** News by server-sent events, else by asking; what waits is said by HTTP. */
  async #byNews() {
    for (const asked of this.#asked.values()) this.#say(asked);
    if (this.ways.includes("events") && (await this.#byEvents())) return true;
    await this.#poll();
    return false;
  }

  #byEvents() {
    return new Promise((over) => {
      const source = (this.#events = new EventSource(`${this.base}/room/stream?access_token=${encodeURIComponent(this.token)}`));
      let heard = false;
      const hear = ({ data }) => this.#hear(((heard = true), JSON.parse(data)));
      source.addEventListener("room", hear);
      source.addEventListener("place", hear);
      source.onerror = () => (source.close(), over(heard));
    });
  }

  async #poll() {
    await Promise.all(["room", "place"].map(async (type) => {
      const path = type === "room" ? "/room" : "/room/place";
      const found = await this.#http("GET", path).catch(() => null);
      if (found) this.#hear({ type, ...found });
    }));
    await later(jittered(POLL_MS));
  }

  async #post(asked) {
    const { type, id, ...body } = asked.frame;
    const path = OF_PLACE[type] ?? "/requests";
    const head = type === "request" ? { "Idempotency-Key": id, Prefer: "wait=10" } : {};
    try {
      const found = await this.#http("POST", path, body, head);
      if (type !== "request") this.#hear({ type: "place", ...found });
      else if (found.outcome) this.#hear(found);
    } catch (error) {
      if (error.gone) asked.done({ type: "not_queued", id, ...error.gone });
      else this.#refused(asked, { code: error.code, message: error.message });
    }
  }

  /** Asked again while nobody answers: all that is asked here gives the same answer however often. */
  async #http(method, path, body, head = {}) {
    for (let pause = 1; ; ) {
      if (this.#closed) throw this.#closed;
      const headers = { Authorization: `Bearer ${this.token}`, ...(body && { "Content-Type": "application/json" }), ...head };
      const answer = await fetch(this.base + path, { method, headers, body: body && JSON.stringify(body), cache: "no-store" }).catch(() => null);
      if (answer?.ok) return answer.json();
      if (answer && !COMES_BACK.has(answer.status)) {
        const problem = await answer.json().catch(() => ({ code: "http_error", detail: `HTTP ${answer.status}` }));
        throw Object.assign(new Refused(problem.code, problem.detail), problem.code === "not_queued" && { gone: problem });
      }
      pause = Number(answer?.headers.get("Retry-After")) || pause;
      await later(jittered(pause * 2000));
    }
  }

  #end(why) {
    this.#closed ??= why;
    this.#socket?.close();
    this.#events?.close();
    for (const asked of this.#asked.values()) asked.refuse(this.#closed);
    this.dispatchEvent(new Event("change"));
  }
}

const AT_ONCE = 64;
const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (two) => parseInt(two, 16));
const hexed = (some) => Array.from(new Uint8Array(some), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Solves a proof of work, by ALTCHA's protocol (version 2, PBKDF2). @returns {Promise<string>} as a join takes it */
export async function solve(challenge) {
  const { algorithm, nonce, salt, cost, keyLength, keyPrefix } = challenge.parameters;
  const keyOf = async (counter) => {
    const last = new Uint8Array(4);
    new DataView(last.buffer).setUint32(0, counter);
    const key = await crypto.subtle.importKey("raw", new Uint8Array([...bytes(nonce), ...last]), "PBKDF2", false, ["deriveBits"]);
    const how = { name: "PBKDF2", hash: algorithm.split("/")[1], salt: bytes(salt), iterations: cost };
    return hexed(await crypto.subtle.deriveBits(how, key, keyLength * 8));
  };
  for (let first = 0; ; first += AT_ONCE) {
    const keys = await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => keyOf(first + index)));
    const found = keys.findIndex((key) => key.startsWith(keyPrefix.toLowerCase()));
    if (found >= 0) return btoa(JSON.stringify({ challenge, solution: { counter: first + found, derivedKey: keys[found] } }));
  }
}
