// The connection, whichever way the network lets it go: by the socket, and around it over HTTP where no socket gets
// through. One of them speaks and is heard at a time. From the way around the socket is tried now and then, and taken
// again as soon as it is greeted.

import { Detour } from "./detour.js";
import { backoff, Link } from "./link.js";
import { after, SOCKET } from "./waychoice.js";

const TRY_FIRST_MS = 20_000;
const TRY_MAX_MS = 300_000;
/** A browser's close code where the handshake failed, or nobody said goodbye. */
const CUT_OFF = 1006;

export class Ways {
  /**
   * @param {object} on as of a Link, and
   * @param {() => {event: string, token: string, watch: boolean}} on.hello
   * @param {(frame: any) => void} on.frame
   * @param {(link: "live" | "reconnecting" | "refused", code: number) => void} on.change
   * @param {() => boolean} on.hasRoom whether there is news of a waiting room
   * @param {(round: number) => void} on.around it is time to ask for what only a socket tells
   */
  constructor(on) {
    this.on = on;
    this.choice = SOCKET;
    this.tries = 0;
    this.said = null;
    this.link = new Link({
      hello: () => (this.said = on.hello()),
      frame: (frame) => this.#bySocket && on.frame(frame),
      change: (link, code, greeted) => this.#socketIs(link, code, greeted),
      pause_ms: (attempt) => (this.#bySocket ? backoff(attempt) : this.#trialAfter()),
    });
    this.detour = new Detour({ ...on, change: (link, code) => this.#detourIs(link, code) });
  }

  get #bySocket() {
    return this.choice.way === "socket";
  }

  get #way() {
    return this.#bySocket ? this.link : this.detour;
  }

  get live() {
    return this.#way.live;
  }

  get heard_ms() {
    return this.#way.heard_ms;
  }

  open() {
    this.link.open();
  }

  /** @param {object} frame @returns {boolean} whether it went out; if not, the caller asks again when live */
  send(frame) {
    return this.#way.send(frame);
  }

  /** Says hello anew, as that says something else now. */
  renew() {
    this.#way.renew();
  }

  /** An answer did not come. */
  doubt() {
    this.#way.doubt();
  }

  #trialAfter() {
    this.tries += 1;
    return Math.min(TRY_MAX_MS, TRY_FIRST_MS * 2 ** (this.tries - 1)) * (0.5 + Math.random() / 2);
  }

  #socketIs(link, code, greeted) {
    if (link === "live") return this.#greeted();
    if (link === "refused") this.detour.close();
    else if (!this.#bySocket) return; // a trial that failed
    const happened = greeted ? "closed" : { 0: "silent", [CUT_OFF]: "refused" }[code] ?? "closed";
    this.choice = link === "refused" ? SOCKET : after(this.choice, happened);
    this.on.change(link, code);
    if (!this.#bySocket) this.#goAround();
  }

  #greeted() {
    const { said } = this;
    if (!this.#bySocket && this.on.hello().watch !== said.watch) return this.link.renew(); // the buyer came in meanwhile
    this.detour.close();
    this.tries = 0;
    this.choice = after(this.choice, "greeted");
    this.on.change("live", 0);
  }

  /** Where HTTP answers, it is the network that lets no socket through. */
  async #goAround() {
    const answered = await this.detour.open();
    if (answered || this.#bySocket) return;
    this.choice = after(this.choice, "away");
    setTimeout(() => this.link.hurry(), backoff(this.link.attempt));
  }

  #detourIs(link, code) {
    if (link === "refused") this.link.stop();
    this.on.change(link, code);
  }
}
