// A buyer in the waiting room who is not there: what the buyers' views read of one, with the look that is tried.

import { waitOf } from "../../core/roomline.js";
import { wordsIn } from "../../core/roomwords.js";

const AHEAD = 604;
const FROM = 1_210;
const RATE = 80;
const OPENS_IN_MS = 754_000;
const BEGIN_LEFT_MS = 154_000;
const SAID = "This is where your message stands.";

/**
 * @param {{name: string, lang: string, texts: Record<string, string>}} look @param {any} room as operators are told of it
 * @param {{phase: string, place?: string, position?: number, sold_out?: boolean}} stands where the buyer stands
 */
export function pretended(look, room, { phase, place, position = null, sold_out = false }) {
  const words = wordsIn(look.lang || "en", look.texts);
  const now = Date.now();
  const { policy, begin_seconds, shopping_seconds } = room.terms;
  const status = {
    phase, policy, ballot: "none", sold_out, joined: 41_877, seats_left: sold_out ? 0 : 2_310, rate: RATE, reason: null, serving: (position ?? 0) - AHEAD - 1,
    opens_at: now + OPENS_IN_MS, begin_seconds, shopping_seconds, seed_sha256: room.seed_sha256, look, message: { text: room.message ?? SAID, at: now },
  };
  const own = { place: "0f8fad5b-d9cb-469f-a165-70867728950e", lane: "ordinary", state: place, position, begun_at: null, more_left: room.terms.more_begin_max, more_seconds: begin_seconds, token: "" };
  return {
    slug: room.event, demo: false, orders: { paid: [] }, state: {}, say: () => {},
    room: {
      words, status, place: place ? own : null, now: () => now, ahead: AHEAD, from: FROM, turn: "", wait: waitOf(status, AHEAD), aheadInWords: () => words("line.ahead", { count: AHEAD }),
      left_ms: () => Math.min(BEGIN_LEFT_MS, begin_seconds * 1000), time: { soon: false, left: "" }, returning: { shop: "", query: "", going: false }, human: { on: false, misses: () => false },
      asking: { is: () => false, now: {}, trouble: "", mail_trouble: "", mailed: 0 },
    },
  };
}
