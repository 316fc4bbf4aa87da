// News of the waiting room over HTTP: as a stream of server-sent events, or by asking now and then. How often is
// asked follows from how far away the turn is; the frames are those of the socket.

import { Patience } from "./fetching.js";
import { aheadOf } from "./roomline.js";

/** A stream says something at once; what is held back by a proxy is no stream. */
const FIRST_WITHIN_MS = 10_000;
/** A stream without news gives a sign of life every quarter of a minute. */
const SILENT_MS_MAX = 40_000;
const SOON_SECONDS = 2;
const USUAL_SECONDS = 5;
const SELDOM_SECONDS = 10;
const FAR_SECONDS_MAX = 30;
/** So far away each minute of the wait is a second between two looks. */
const NEAR_MINUTES = 2;

/** Whole events of a text, as frames, and what is left of it. @param {string} text */
export function eventsIn(text) {
  const events = text.replaceAll("\r\n", "\n").split("\n\n");
  const rest = events.pop();
  const lines = events.flatMap((event) => event.split("\n").filter((line) => line.startsWith("data:")));
  return { frames: lines.map((line) => JSON.parse(line.slice("data:".length))), rest };
}

/**
 * Reads a stream until it ends, is silent for too long, or nobody wants it any more.
 * @param {string} path @param {Record<string, string>} headers @param {AbortSignal} unwanted @param {(frame: any) => void} heard
 * @returns {Promise<number>} the status of its answer; 0 where none came
 */
export async function readStream(path, headers, unwanted, heard) {
  const patience = new Patience(unwanted, FIRST_WITHIN_MS);
  let status = 0;
  try {
    const answer = await fetch(path, { headers, cache: "no-store", signal: patience.signal });
    ({ status } = answer);
    const reader = answer.ok ? answer.body.pipeThrough(new TextDecoderStream()).getReader() : null;
    for (let text = "", began = false; reader; ) {
      const { value, done } = await reader.read();
      if (done) break;
      const { frames, rest } = eventsIn(text + value);
      text = rest;
      began ||= frames.length > 0;
      if (began) patience.renew(SILENT_MS_MAX);
      if (!unwanted.aborted) frames.forEach(heard);
    }
  } catch {
    // cut off, by the network or from here
  }
  patience.end();
  return status;
}

/**
 * Seconds until the next look: often where something can happen soon, else as seldom as it is far away.
 * @param {import("./roomline.js").Status | null} status @param {import("./roomline.js").Place | null} place
 */
export function lookAfterSeconds(status, place) {
  if (!status) return SOON_SECONDS;
  const { phase, rate } = status;
  if (place?.state !== "waiting") return place?.state === "admitted" ? USUAL_SECONDS : SELDOM_SECONDS;
  if (phase === "draft" || phase === "lobby") return SELDOM_SECONDS;
  const ahead = aheadOf(status, place);
  if (ahead === null || phase === "ballot") return SOON_SECONDS;
  if (!rate) return USUAL_SECONDS;
  const minutes = ahead / rate;
  return minutes <= NEAR_MINUTES ? SOON_SECONDS : Math.min(FAR_SECONDS_MAX, Math.max(USUAL_SECONDS, minutes));
}
