// Every rule of an event and of its waiting room: what it does to buyers, from when on it cannot be changed, and what
// comes of a change for those who hold or wait now. What each is called is what the API calls it. Pure.
//
// `kind`: see `KINDS`. `hint`: what who fills it in wants to know. `settled(now)`: why it cannot be changed any more, or nothing. `then(to, from, now)`: what comes of it.

import { counted } from "../../core/money.js";
import { count } from "../words.js";

const hasBegun = ({ state }) => state !== "draft" && state !== "lobby";
const over = ({ state }) => state === "closed" && "The sale is closed: nothing is decided by it any more.";
const nobodyComes = ({ state }) => state === "closed" && "The sale is closed: nobody is let in any more.";
const joinedForIt = ({ state }) => state !== "draft" && "Settled since its lobby began: it is what buyers joined for.";
const begun = (now) => hasBegun(now) && "Settled since the sale began: holds are bought this way.";

const RUNNING = ({ launch }) => (launch.on_hold ? `What is on hold now (${counted(launch.on_hold, "place")})` : "What is on hold then");
const fewer = (to, from) => (to ?? Infinity) < (from ?? Infinity);
const FROM_NOW = "For who joins from now on. Who has a place already is asked for nothing.";

const HOLDING = [
  { name: "hold_ttl_seconds", label: "Seats are held for", kind: "minutes", says: "So long a buyer has to pay.", settled: over,
    then: (to, from, now) => `For seats taken from now on. ${RUNNING(now)} keeps its end.` },
  { name: "offer_ttl_seconds", label: "An offer is kept for", kind: "minutes", says: "What comes back is offered to who is on the waiting list; not taken, it goes to the next.", settled: over,
    then: () => "For offers made from now on. Those that are made keep their end." },
  { name: "extensions_max", label: "Buyers may extend a hold", kind: "times", says: "By one button, while it runs.", hint: "0: never.",
    then: (to, from) => (fewer(to, from) ? "At once: who extended so often already gets no more, and keeps what they have." : "At once, for what is on hold now, too.") },
  { name: "extension_seconds", label: "Each time by", kind: "seconds", says: "What one extension adds.", then: () => "For extensions from now on. What was extended keeps its end." },
];

const LIMITS = [
  { name: "seats_per_buyer_max", label: "Most tickets a buyer", kind: "number", says: "Held and bought together, of all categories.", settled: over,
    then: (to, from) => (fewer(to, from) ? "Nobody loses anything: who has more keeps it, and gets nothing more." : "At once: who was at the limit may ask for more.") },
];

const BUYING = [
  { name: "payment", label: "How it is bought", kind: "choice", choices: [["required", "by paying"], ["none", "by saying so (free)"]], says: "", hint: "Settled once the sale begins.", settled: begun,
    then: (to) => (to === "required" ? "Buyers pay before anything is theirs. Gateways need a payment provider." : "Buyers have it for nothing: a hold is bought by saying so.") },
  { name: "late_payment", label: "Money that comes too late", kind: "choice", choices: [["refund", "goes back"], ["reacquire", "tries for the same seats"]], says: "Where a hold ran out before it was paid. Once the sale is closed it always goes back.", settled: over,
    then: () => "For money that comes from now on, of what is on hold now, too." },
  { name: "returns_allowed", label: "Buyers may return tickets", kind: "allowed", says: "For their money; what comes back is sold again.",
    then: (to) => (to ? "At once, for tickets that are bought already, too." : "At once: who has tickets cannot return them any more. What was returned stays so.") },
  { name: "transfers_allowed", label: "Buyers may give tickets to somebody else", kind: "allowed", says: "By a code, which makes a new ticket of it.",
    then: (to) => (to ? "At once, for tickets that are bought already, too." : "At once: no ticket is given away any more. Codes that are out already can still be used.") },
];

const PAGE = [
  { name: "lobby_opens_at", label: "Its lobby opens", kind: "schedule", of_room: true, says: "By itself at that time: buyers can join from then on. Somebody may open it before.", hint: "Empty: by hand.",
    settled: ({ state }) => state !== "draft" && "Its lobby has opened.", then: (to) => beginning(to, "its lobby opens") },
  { name: "opens_at", label: "The sale opens", kind: "schedule", says: "By itself at that time. Somebody may open it before, on the launch's page.", hint: "Empty: by hand.",
    settled: (now) => hasBegun(now) && "It has opened.", then: (to) => beginning(to, "the sale opens") },
  { name: "starts_at", label: "It takes place", kind: "moment", says: "Stands on tickets and on the event's page.", hint: "It can be another time, and not none.",
    then: (to, from, now) => `Pages and tickets show it at once. ${hasBegun(now) ? "Nobody is written to: to tell all who bought, move the event instead." : "Nobody is written to about it."}` },
  { name: "fast_gate", label: "Refuse at once what is known to be gone", kind: "allowed", says: "The fast gate: faster when everybody wants the same seats. Nothing is sold twice either way.", settled: over,
    then: (to) => (to ? "A gateway may again refuse at once what it knows to be gone." : "Every request goes to the allocator, also for seats that are gone: slower, and just as safe.") },
  { name: "figures_on_page", label: "The page says how much is sold", kind: "allowed", says: "And when somebody booked last.", then: (to) => (to ? "Everybody sees it at once." : "Nobody sees it any more.") },
];

const FIRST = [
  { name: "policy", label: "Who is first", kind: "choice", choices: [["draw", "a draw among all who joined"], ["fifo", "who joins first"]], says: "A draw is fairer: being early gives nothing.", settled: joinedForIt,
    then: (to) => (to === "draw" ? "Who joins before the sale begins is drawn; who comes later stands behind." : "All stand as they come, from the first.") },
  { name: "ballot", label: "Buyers file a wish before, decided when the sale opens", kind: "allowed", says: "In the draw's order. For sales far larger than the house.", settled: joinedForIt,
    then: (to) => (to ? "Who joins says what they want; the answer comes when the sale begins." : "Nobody files a wish; all choose when it is their turn.") },
];

const COMING = [
  { name: "pace", label: "Pace", kind: "pace", says: "Most buyers let in a minute; a rehearsal says what your machines take.", hint: "Empty: no limit.", settled: nobodyComes,
    then: (to, from, { room }) => (to === null && room.shopping_max === null ? "All who wait are let in as fast as can be." : `From now on; who is inside stays. Waits that buyers are told become ${fewer(to, from) ? "longer" : "shorter"}.`) },
  { name: "shopping_max", label: "Most inside at a time", kind: "most", says: "One out, one in.", hint: "Empty: any number.", settled: nobodyComes,
    then: (to, from, { launch }) => (to !== null && launch.inside > to ? `${count(launch.inside)} are inside now: nobody is sent away, and nobody is let in until there are fewer than ${count(to)}.` : "From now on; nobody is sent away.") },
  { name: "begin_seconds", label: "Time to come in", kind: "minutes", says: "Who is called and does not come keeps their place in line.", settled: nobodyComes,
    then: () => "For who is called from now on. Who was called keeps their end; more time that they ask for is the new one." },
  { name: "more_begin_max", label: "More time to come in", kind: "times", says: "As long again each time, for who asks.", hint: "0: never. Accessibility rules ask for ten.", settled: nobodyComes, then: () => "At once, for who is called already, too. What was given stays." },
  { name: "shopping_seconds", label: "Time to choose", kind: "minutes", says: "So long who came in may ask for seats; what is on hold then is kept to its own end.", settled: nobodyComes,
    then: () => "For who begins to choose from now on. Who is choosing keeps their end; more time that they ask for is half the new one." },
  { name: "more_shopping_max", label: "More time to choose", kind: "times", says: "Half as long again each time, for who asks.", hint: "0: never. Accessibility rules ask for ten.", settled: nobodyComes, then: () => "At once, for who is choosing, too. What was given stays." },
];

const PROGRAMS = [
  { name: "proof", label: "Proof of work", kind: "choice", choices: [["off", "never"], ["busy", "when many join"], ["always", "always"]], says: "A computer works a moment for each place, so that thousands cost something. Buyers see nothing of it.", settled: nobodyComes,
    then: () => FROM_NOW },
  { name: "proof_above_per_minute", label: "Many join above", kind: "joins", says: "Joins at one gateway: above it, “when many join” asks for proof.", settled: nobodyComes, then: () => FROM_NOW },
];

const beginning = (to, does) => (to === null ? `Not by itself any more: ${does} when somebody opens it.` : to <= Date.now() ? `That time has come: ${does} at once.` : `Not before: ${does} then. Pages say it to who looks from now on.`);

/** A limit of one category. Which have one is settled when the sale begins. */
const limitOf = (category, now) => ({
  name: `limits.${category}`, category, label: `Most of ${category}`, kind: hasBegun(now) ? "number" : "most",
  says: "One buyer may have so many of it.", hint: `0: not for buyers${hasBegun(now) ? "" : ", empty: no limit of its own"}.`,
  settled: (of) => over(of) || (hasBegun(of) && !(category in of.policy.limits) && "Which categories have a limit is settled since the sale began."),
  then: (to, from) => (to === 0 ? "Nobody gets any of it from now on; who has some keeps it." : fewer(to, from) ? "Nobody loses anything: who has more keeps it, and gets no more of it." : "At once: who was at the limit may ask for more."),
});

const OF_EVENT = [["Holding seats", HOLDING], ["How much a buyer may have", LIMITS], ["Buying", BUYING], ["Times and pages", PAGE]];
const OF_ROOM = [["Who is first in line", FIRST], ["Coming in", COMING], ["Keeping programs out", PROGRAMS]];

/** Titles of groups with their rules; limits by category behind the one for all. @param {"policy" | "room"} kind @returns {[string, any[]][]} */
export function groupsOf(kind, now) {
  if (kind === "room") return OF_ROOM;
  const limits = now.categories.map((category) => limitOf(category, now));
  const here = (rules) => rules.filter(({ of_room }) => now.room || !of_room);
  return OF_EVENT.map(([title, rules]) => [title, rules === LIMITS ? [...rules, ...limits] : here(rules)]);
}

/** What a rule is set to. */
export const valueOf = (kind, rule, now) => (rule.category === undefined ? now[kind][rule.name] : (now.policy.limits[rule.category] ?? null));
