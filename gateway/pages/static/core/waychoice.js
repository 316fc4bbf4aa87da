// Which way news comes: by the socket, else as a stream of events, else by asking. Pure: what happened in, the
// choice out. A network that lets no socket through is told from a gateway that is away: of both the socket
// fails, of the first alone HTTP answers.

/**
 * @typedef {{way: "socket" | "events" | "poll", failed: number}} Choice how often the way failed in a row
 * @typedef {"refused" | "silent" | "closed" | "away" | "greeted" | "heard" | "ended" | "polled_long"} Happened
 *   of the socket: its handshake was refused, nothing came of it, the gateway itself closed it, it was greeted;
 *   `away`: HTTP does not answer either; of the stream: it brought news, it ended before it did; and polling goes on for long
 */

/** @type {Choice} */
export const SOCKET = { way: "socket", failed: 0 };

/** So often a way fails before another one is taken; one that is silent for long has failed twice. */
const FAILED_MAX = 2;
const WEIGHT = { refused: 1, ended: 1, silent: 2 };
const NEXT = { socket: "events", events: "poll" };

/** @param {Choice} choice @param {Happened} happened @returns {Choice} */
export function after({ way, failed }, happened) {
  if (happened === "greeted" || happened === "away") return SOCKET;
  if (happened === "polled_long") return { way: "events", failed: FAILED_MAX - 1 };
  const of_socket = happened === "refused" || happened === "silent" || happened === "closed";
  if (of_socket !== (way === "socket")) return { way, failed };
  if (happened === "heard" || happened === "closed") return { way, failed: 0 };
  const times = failed + WEIGHT[happened];
  return times < FAILED_MAX || !NEXT[way] ? { way, failed: times } : { way: NEXT[way], failed: 0 };
}
