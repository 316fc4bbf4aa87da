// Where a buyer stands in the waiting room, out of the status that is the same for all and the buyer's own
// place. Pure: documents in, figures out; no clock of this computer is read.

/**
 * @typedef {object} Status the public document of the room
 * @property {"draft" | "lobby" | "drawing" | "ballot" | "admitting" | "paused" | "stopped" | "closed"} phase
 * @property {number} serving ordinary positions up to here were called
 * @property {number} serving_priority
 * @property {number | null} rate ordinary positions called a minute, lately
 * @property {string | null} reason why that is less than the organiser's pace
 * @property {{text: string, at: number} | null} message
 * @property {number | null} seats_left
 * @property {boolean} sold_out
 * @property {"none" | "filing" | "deciding" | "done"} ballot
 * @property {number | null} opens_at when the sale begins by itself
 * @property {number | null} lobby_opens_at when buyers may join
 * @property {number} version
 * @property {number} at by the server's clock, in milliseconds, as all times
 *
 * @typedef {object} Place the buyer's own document
 * @property {string} place
 * @property {"ordinary" | "priority"} lane
 * @property {"waiting" | "admitted" | "finished" | "expired" | "left"} state
 * @property {number | null} position
 * @property {number | null} begin_by
 * @property {number | null} begun_at
 * @property {number | null} until
 * @property {number} more_left so often more time can be had, to begin or to choose
 * @property {number} more_seconds and so much
 * @property {string} token for another device
 *
 * @typedef {"" | "draft" | "lobby" | "drawing" | "deciding" | "line" | "outside" | "turn" | "inside" | "missed" | "time_over" | "over"} Stands
 */

/** What is said aloud on the way, besides the half: so many are ahead. */
export const MILESTONES = [100, 10, 3];
/** The measured rate is of the last minutes; the wait it gives is true within about a fifth. */
const FASTER = 1.25;
const SLOWER = 0.8;

/** What the page is about for this buyer. @param {Status | null} status @param {Place | null} place @returns {Stands} */
export function standsOf(status, place) {
  if (!status) return "";
  if (place?.state === "admitted") return place.begun_at === null ? "turn" : "inside";
  if (status.phase === "closed") return "over";
  if (place?.state === "waiting") return waitingAt(status, place);
  if (status.phase === "draft" || status.phase === "lobby") return status.phase;
  if (place?.state === "expired") return place.begun_at === null ? "missed" : "time_over";
  return "outside";
}

function waitingAt({ phase }, { position }) {
  if (phase === "draft" || phase === "lobby") return "lobby";
  if (position === null) return "drawing";
  return phase === "ballot" ? "deciding" : "line";
}

/** How many are called before this place; null before the draw. @param {Status} status @param {Place} place */
export function aheadOf(status, { position, lane }) {
  if (position === null) return null;
  const serving = lane === "priority" ? status.serving_priority : status.serving;
  return Math.max(0, position - serving - 1);
}

/** The part of the way that is done. @param {number} ahead @param {number} from how many were ahead at first */
export const progressOf = (ahead, from) => (from > 0 ? Math.min(1, Math.max(0, 1 - ahead / from)) : 1);

/**
 * The wait in whole minutes, as a range; null where nothing is measured, or nobody is called.
 * @param {Status} status @param {number} ahead @returns {{low: number, high: number} | null}
 */
export function waitOf({ rate, phase }, ahead) {
  if (!rate || rate <= 0 || phase !== "admitting") return null;
  const low = Math.floor(ahead / (FASTER * rate));
  return { low, high: Math.max(low + 1, Math.ceil(ahead / (SLOWER * rate))) };
}

/**
 * Whether who was told a wait has to be told that it became another: what was said then, less the time that
 * went by, and what is said now do not meet.
 * @param {{low: number, high: number, at: number}} told @param {{low: number, high: number}} now @param {number} at
 * @returns {"" | "longer" | "sooner"}
 */
export function turnOf(told, now, at) {
  const gone = (at - told.at) / 60_000;
  if (now.low > told.high - gone + 1) return "longer";
  return now.high < told.low - gone - 1 ? "sooner" : "";
}

/**
 * The nearest milestone that was passed on the way from `before` to `now`, or null.
 * @param {number | null} before how many were ahead @param {number} now @param {number} from at first
 * @returns {number | "half" | null}
 */
export function milestoneOf(before, now, from) {
  if (before === null || now >= before) return null;
  const passed = MILESTONES.filter((one) => now <= one && one < before);
  if (passed.length) return Math.min(...passed);
  return now <= from / 2 && from / 2 < before ? "half" : null;
}
