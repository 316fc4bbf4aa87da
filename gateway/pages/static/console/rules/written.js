// What a rule is set to: in words, in its field, and read out of its field. Pure.

import { counted } from "../../core/money.js";
import { count, moment } from "../words.js";

/** Exact, unlike `spell`. @param {number} seconds */
export function lasting(seconds) {
  const parts = [[Math.floor(seconds / 3600), "h"], [Math.floor((seconds % 3600) / 60), "min"], [seconds % 60, "s"]];
  return parts.filter(([number]) => number).map(([number, unit]) => `${number} ${unit}`).join(" ") || "0 s";
}

const often = (times) => ["never", "once", "twice"][times] ?? `${count(times)} times`;
const NO_NUMBER = "must be a whole number";
const NO_TIME = "must be a number, such as 8 or 1.5";

const wholeOf = (written) => (/^\d{1,9}$/.test(written) ? { value: Number(written) } : { wrong: NO_NUMBER });

/** To whole seconds; a comma is a point. */
function secondsOf(written, each) {
  const plain = written.replace(",", ".");
  return /^\d{1,7}(\.\d{1,3})?$/.test(plain) ? { value: Math.round(Number(plain) * each) } : { wrong: NO_TIME };
}

/** As a field of the browser's own zone takes it. @param {number | null} ms */
function local(ms) {
  if (ms === null) return "";
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const timed = (unit, each) => ({
  unit, mode: "decimal", words: lasting,
  written: (seconds) => String(Math.round((seconds / each) * 100) / 100),
  read: (written) => secondsOf(written, each),
});
const most = { mode: "numeric", words: (value) => (value === null ? "no limit" : count(value)), written: (value) => (value === null ? "" : String(value)) };

/** How values of a kind are said, written into a field and read out of it: `{value}`, or what is `wrong`. */
export const KINDS = {
  minutes: timed("minutes", 60),
  seconds: timed("seconds", 1),
  times: { unit: "times", mode: "numeric", words: often, written: String, read: wholeOf },
  number: { ...most, read: wholeOf },
  most: { ...most, read: (written) => (written ? wholeOf(written) : { value: null }) },
  pace: { ...most, unit: "a minute", words: (value) => (value === null ? "no limit" : `${count(value)} a minute`), read: (written) => (written ? wholeOf(written) : { value: null }) },
  joins: { ...most, unit: "a minute", words: (value) => `${count(value)} a minute`, read: wholeOf },
  moment: { type: "datetime-local", words: (ms) => (ms === null ? "not said yet" : moment(ms)), written: local, read: (written) => (written ? { value: new Date(written).getTime() } : { wrong: "can be another time, and not none" }) },
  schedule: { type: "datetime-local", words: (ms) => (ms === null ? "by hand" : moment(ms)), written: local, read: (written) => ({ value: written ? new Date(written).getTime() : null }) },
  allowed: { words: (value) => (value ? "yes" : "no") },
  choice: { words: (value, { choices }) => choices.find(([one]) => one === value)?.[1] ?? value },
};

/** What a rule is set to, in words. */
export const saidOf = (rule, value) => KINDS[rule.kind].words(value, rule);

const sameMinute = (one, other) => one !== null && other !== null && Math.floor(one / 60_000) === Math.floor(other / 60_000);

/** What is filled in for a rule: the value it would become, or what is wrong with it; as it is now where nothing is. @param {string | boolean | undefined} filled */
export function wantedOf(rule, filled, now) {
  if (filled === undefined || typeof filled === "boolean" || rule.kind === "choice") return { value: filled ?? now };
  const read = KINDS[rule.kind].read(filled.trim(), rule);
  return KINDS[rule.kind].written === local && sameMinute(read.value ?? null, now) ? { value: now } : read;
}

/** What the server says of a field, in the units of its field. */
export function inItsUnits(rule, says) {
  if (rule && KINDS[rule.kind].written === local) return says.replaceAll(/(lobby_)?opens_at/g, (_, lobby) => (lobby ? "when its lobby opens" : "when the sale opens"));
  const words = rule?.kind === "minutes" || rule?.kind === "seconds" ? lasting : count;
  return says.replace("seats_per_buyer_max", "what a buyer may have in all").replace(/\d+/g, (digits) => words(Number(digits)));
}

/** How the sale stands for those whom a change meets. @param {{state: string, launch: any, room: any}} now */
export function standing({ state, launch, room }) {
  if (state === "draft") return "It is a draft: nobody holds or waits for anything yet.";
  if (state === "lobby") return room ? `Its lobby is open: ${counted(launch.waiting ?? 0, "buyer")} joined.` : "Its lobby is open; nothing is sold yet.";
  const held = `${counted(launch.on_hold ?? 0, "place")} ${launch.on_hold === 1 ? "is" : "are"} on hold`;
  if (state === "closed") return `The sale is closed; ${held}.`;
  return `It is ${state === "paused" ? "paused" : "on sale"}: ${held}${room ? `, ${counted(launch.inside ?? 0, "buyer")} inside, ${count(launch.waiting ?? 0)} in line` : ""}.`;
}
