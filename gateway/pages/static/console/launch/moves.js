// The levers of a launch: what each move asks before it is made, what is sent, how it is taken back. Every
// change goes through `Levers`, so that it is sent once and a refusal is told in one way.

import { counted } from "../../core/money.js";
import { newKey, ofEvent } from "../api.js";
import { allTheSame, changedBy } from "../quicker.js";
import { count, STATES } from "../words.js";

const WHY = "in the console";
/** A pace so many times the one before is asked about: a digit too many lets a crowd in. */
const MUCH = 3;

/** @type {Record<string, {act: string, title: (name: string) => string, says: string[], done: string, danger?: boolean, back?: string, type?: boolean}>} */
export const STATE_MOVES = {
  lobby: { act: "Open the lobby", title: (name) => `Open the lobby of ${name}?`, says: ["Buyers may join the line from now on. Nothing is sold yet.", "This cannot be taken back: an event never becomes a draft again."], done: "The lobby is open." },
  open: { act: "Open the sale", title: (name) => `Open the sale of ${name}?`, says: ["Requests are decided from now on, in the order they arrive.", "This cannot be taken back, but the sale can be paused."], done: "The sale is open." },
  pause: { act: "Pause the sale", title: (name) => `Pause the sale of ${name}?`, says: ["Requests are still accepted and keep their order, but none is decided. Running holds get the lost time back.", "You can resume at any moment."], done: "The sale is paused.", back: "resume" },
  resume: { act: "Resume the sale", title: (name) => `Resume the sale of ${name}?`, says: ["What has waited is decided first, in the order it arrived."], done: "The sale goes on.", back: "pause" },
  close: { act: "Close the sale", title: (name) => `Close the sale of ${name} for good?`, says: ["Nothing is sold any more. What is on hold can still be paid until it runs out.", "This cannot be taken back. To stop for a while, pause instead."], done: "The sale is closed.", danger: true, type: true },
};

/** The one that comes next, which is always in view. @param {{value: string, can: string[]}} state @param {any} room @returns {string | undefined} */
export function nextMove(state, room) {
  const wanted = ["resume", "pause", ...(room ? ["lobby"] : []), "open"];
  return wanted.find((move) => state.can.includes(move));
}

export const ROOM_MOVES = {
  pause: { act: "Pause letting in", title: "Let nobody in for now?", says: ["Who is inside goes on; who waits keeps their place. The sale itself goes on."], done: "Nobody is let in for now.", back: "resume" },
  resume: { act: "Let in again", title: "Let people in again?", says: ["The line goes on where it stopped, at its pace."], done: "People are let in again." },
  stop: { act: "Stop letting in", title: "Let nobody in any more?", says: ["Who waits is told that nobody is let in any more. Who is inside goes on.", "You can let people in again."], done: "Nobody is let in any more.", danger: true, back: "resume" },
};

export class Levers {
  /** `look` reads how things stand and gives it; `state`, `room` and `fleet` say how they were seen last. @param {{event: string, api: any, ask: any, tell: any, look: () => Promise<any>, state: () => string, room: () => any, fleet: () => any, busy: (name: string) => void}} page */
  constructor(page) {
    this.page = page;
    this.sending = "";
  }

  /** Asks, sends, tells. True when it was done. @param {string} move @param {string} name the event's */
  async state(move, name) {
    const { act, title, says, done, danger, back, type } = STATE_MOVES[move];
    const seen = this.page.state();
    const said = await this.page.ask({ title: title(name), says, act, danger, type: type ? this.page.event : undefined });
    if (!said) return false;
    const undo = back && { words: STATE_MOVES[back].act, act: () => this.state(back, name) };
    return this.#send(move, () => this.page.api.post(ofEvent(this.page.event, `/${move}`), { seen }), done, { undo });
  }

  async admission(move) {
    const { act, title, says, done, danger, back } = ROOM_MOVES[move];
    const said = await this.page.ask({ title, says, act, danger, reason: true });
    if (!said) return false;
    const undo = back && { words: ROOM_MOVES[back].act, act: () => this.admission(back) };
    return this.#send(`room ${move}`, () => this.page.api.post(ofEvent(this.page.event, `/room/${move}`), { why: said.why || WHY }), done, { undo });
  }

  /** @param {number | null} pace @param {{pace: number | null, edition: number}} room as it was seen */
  async pace(pace, room) {
    const far = pace === null || (room.pace !== null && pace > MUCH * room.pace);
    if (far) {
      const says = pace === null ? "Without a pace as many are let in as may be inside at a time, at once." : `That is more than ${MUCH} times what it is now (${count(room.pace)}).`;
      if (!(await this.page.ask({ title: pace === null ? "Let in without a pace?" : `Let in ${count(pace)} a minute?`, says, act: "Set it" }))) return false;
    }
    const send = (edition) => this.page.api.patch(ofEvent(this.page.event, "/room"), { pace, edition, why: WHY });
    const undo = { words: `Back to ${paceWords(room.pace)}`, act: () => this.#back({ pace: room.pace }) };
    return this.#edited("pace", send, room.edition, { done: `The pace is ${paceWords(pace)}.`, undo, mine: `the pace ${paceWords(pace)}` });
  }

  /** @param {string | null} text @param {{message: string | null, edition: number}} room */
  async message(text, room) {
    const put = (message, edition) => this.page.api.put(ofEvent(this.page.event, "/room/message"), { text: message, edition, why: WHY });
    const undo = { words: room.message ? "Put the last one back" : "Take it off", act: () => this.message(room.message, this.page.room()) };
    const done = text ? "All who wait read your message." : "The message was taken off.";
    return this.#edited("message", (edition) => put(text, edition), room.edition, { done, undo, mine: text ? "your message" : "no message" });
  }

  async gate(on) {
    const says = on ? "A gateway may again refuse at once what it knows to be gone." : "Every request goes to the allocator, also for seats that are gone. That is slower and just as safe.";
    if (!(await this.page.ask({ title: on ? "Turn the fast gate on?" : "Turn the fast gate off?", says, act: on ? "Turn it on" : "Turn it off" }))) return false;
    const undo = { words: on ? "Turn it off" : "Turn it on", act: () => this.gate(!on) };
    return this.#send("gate", () => this.page.api.patch(ofEvent(this.page.event, "/policy"), { fast_gate: on }), `The fast gate is ${on ? "on" : "off"}.`, { undo });
  }

  /** @param {{workers: number, mode: string}} wanted @param {{workers: number, mode: string, edition: number}} fleet */
  async scale(wanted, fleet) {
    const send = (edition) => this.page.api.put(ofEvent(this.page.event, "/fleet"), { ...wanted, edition, why: WHY });
    const undo = { words: "As it was before", act: () => this.scale({ workers: fleet.workers, mode: fleet.mode }, this.page.fleet()) };
    return this.#edited("scale", send, fleet.edition, { done: `Wanted now: ${scaleWords(wanted)}. The fleet sees to it within seconds.`, undo, mine: scaleWords(wanted), of: "fleet" });
  }

  async toHost(host) {
    const says = ["Its worker there takes over after a finished batch; buyers notice nothing.", "You can move it again."];
    if (!(await this.page.ask({ title: `Move it to ${host}?`, says, act: "Move it" }))) return false;
    return this.#send("move", () => this.page.api.post(ofEvent(this.page.event, "/fleet/move"), { to: host, why: WHY }), `It moves to ${host}.`);
  }

  /** @param {boolean} off take off sale, or put on again @param {{seats: string[], areas: Record<string, number>}} what @param {string} words what that is @param {string} why */
  async block(off, what, words, why) {
    const says = off ? "Nobody can get them until they are put on sale again. If one of them is not free, nothing is changed." : "Buyers can get them at once. If one of them is not blocked, nothing is changed.";
    if (!(await this.page.ask({ title: off ? `Take ${words} off sale?` : `Put ${words} on sale again?`, says, act: off ? "Take off sale" : "Put on sale" }))) return false;
    const key = newKey();
    const call = () => this.page.api.post(ofEvent(this.page.event, off ? "/blocks" : "/unblock"), { ...what, why: why || WHY }, { key });
    const undo = { words: off ? "Put on sale again" : "Take off again", act: () => this.block(!off, what, words, why) };
    return this.#send("block", call, off ? `Off sale: ${words}.` : `On sale again: ${words}.`, { undo });
  }

  /** Takes a pace back from how the room stands now. */
  #back({ pace }) {
    const room = this.page.room();
    return room && this.pace(pace, room);
  }

  /** A change that says which edition was seen; who was slower is shown what it is now, and may do it all the same. */
  async #edited(name, send, edition, { done, undo, mine, of = "room" }) {
    return this.#send(name, () => send(edition), done, {
      undo,
      conflict: async () => {
        const [now, by] = await Promise.all([this.page.look(), changedBy(this.page.api, this.page.event)]);
        const says = [by, `It is now: ${NOW[of](now[of])}.`, `What you wanted (${mine}) was not done.`];
        const again = await allTheSame(this.page.ask, says);
        return again ? this.#edited(name, send, now[of].edition, { done, undo, mine, of }) : false;
      },
    });
  }

  /** One call at a time; a second click while one is under way does nothing. */
  async #send(name, call, done, { undo, conflict } = {}) {
    if (this.sending) return false;
    this.#busy(name);
    try {
      await call();
      await this.page.look().catch(() => null); // what comes next starts from here; the feed may be a moment late
      this.page.tell(done, { undo: undo || undefined });
      return true;
    } catch (problem) {
      if (conflict && CHANGED.includes(problem.code)) {
        this.#busy("");
        return await conflict();
      }
      await this.#refused(problem);
      return false;
    } finally {
      this.#busy("");
    }
  }

  /** Of a move that is no longer possible: how it stands now, and who made it so. */
  async #refused(problem) {
    if (problem.status === 401) return this.page.tell("Your session had ended, so nothing was done. Log in and do it again.", { wrong: true });
    const now = await this.page.look().catch(() => null);
    const by = MOVED_BY_ANOTHER.includes(problem.code) ? ` It is ${now ? STATES[now.state.value][0] : "another way"} now. ${await changedBy(this.page.api, this.page.event)}` : "";
    this.page.tell(`${problem.detail}${by}`, { wrong: true });
  }

  #busy(name) {
    this.sending = name;
    this.page.busy(name);
  }
}

const MOVED_BY_ANOTHER = ["event_state", "event_changed"];
const CHANGED = ["room_changed", "fleet_changed"];
const NOW = {
  room: ({ pace, message }) => `pace ${paceWords(pace)}; ${message ? `message “${message}”` : "no message"}`,
  fleet: (fleet) => scaleWords(fleet),
};
const MODES = { auto: "its load decides whether it has workers of its own", hot: "always workers of its own", cold: "always shared workers" };

/** @param {{workers: number, mode: string}} fleet */
export const scaleWords = ({ workers, mode }) => `${counted(workers, "worker")}, ${MODES[mode]}`;

/** @param {number | null} pace */
export const paceWords = (pace) => (pace === null ? "without a limit" : `${count(pace)} a minute`);
