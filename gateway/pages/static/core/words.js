// What the page says. One place for every sentence about an answer, so the tone stays one: plain,
// calm, true, with what to do next. Codes of the protocol end here and never reach a person.

import { spoken } from "./clock.js";
import { counted, inWords, listed, titled } from "./money.js";
import { triesInWords, whereOf } from "./tellings.js";
import { partiesOf } from "./wishes.js";

/**
 * @typedef {object} Notice
 * @property {"good" | "info" | "warn"} tone
 * @property {string} title
 * @property {string} text
 * @property {number[]} [seats] shown on the map
 * @property {import("./offers.js").Offer[]} [offers] what can be asked for instead
 * @property {any} [wait] what can be waited for
 * @property {"place"} [about] what makes it out of date when it changes
 */

const OTHERS = "Pick other seats, or let us find the best that are free.";
const THESE = "This was free just now:";

const seatsWere = (names, verb) => `${listed(names)} ${names.length === 1 ? `was ${verb}` : `were ${verb}`}`;

/** @param {string[]} names seats somebody else has @param {number[]} seats @param {import("./offers.js").Offer[]} offers @returns {Notice} */
export function taken(names, seats, offers) {
  return {
    tone: "warn",
    title: names.length ? `Someone got ${listed(names)} a moment before you.` : "Someone was a moment before you.",
    text: `You hold nothing and paid nothing. ${offers.length ? freeInstead(offers) : OTHERS}`,
    seats,
    offers,
  };
}

/** @param {string[]} names @param {number[]} seats @param {import("./offers.js").Offer[]} offers @returns {Notice} */
export function notQueued(names, seats, offers) {
  return {
    tone: "warn",
    title: names.length === 1 ? "That seat was already gone." : "Those seats were already gone.",
    text: `${names.length ? `${listed(names)}: ` : ""}you were not queued and lost no place. ${offers.length ? freeInstead(offers) : OTHERS}`,
    seats,
    offers,
  };
}

const freeInstead = (offers) => (offers.length === 1 ? THESE : `These ${inWords(offers.length)} were free just now:`);

/** What was offered instead and went meanwhile is not offered any longer. @param {Notice | null} notice @param {(seat: number) => boolean} isFree @returns {Notice | null} */
export function stillOffered(notice, isFree) {
  if (!notice?.offers?.length) return notice;
  const offers = notice.offers.filter((offer) => offer.seats.every(isFree));
  if (offers.length === notice.offers.length) return notice;
  return offers.length ? { ...notice, offers } : offersGone({ ...notice, offers });
}

/** The last of what was offered has gone too. @param {Notice} notice @returns {Notice} */
const offersGone = (notice) => ({ ...notice, text: `What was free instead is gone by now. ${OTHERS}` });

/** @param {string[]} names @param {number[]} seats @returns {Notice} */
export function goneWhileChoosing(names, seats) {
  return {
    tone: "info",
    title: `${seatsWere(names, "just taken")}.`,
    text: "The rest of your choice is unchanged.",
    seats,
  };
}

/** @param {any} want @param {any} result @param {import("./plan.js").Venue} venue @param {import("./offers.js").Offer[]} offers @returns {Notice} */
export function soldOut(want, result, venue, offers) {
  const told = result.reason === "area_full" ? areaFull(want, result, venue) : partyRefused(want, result, venue);
  const others = want.fallbacks?.length ? "None of your other choices could be had either. " : "";
  return { tone: "warn", title: told[0], text: others + (offers.length ? "Ask for this instead:" : told[1]), offers };
}

function areaFull(want, { free }, venue) {
  const [[guid], ...others] = Object.entries(want.areas ?? {});
  if (!guid || others.length) return ["Not that many places are left.", "Try fewer, or another part of the house."];
  const { name } = venue.areas[venue.areaByGuid.get(guid)];
  const title = free ? `Only ${counted(free, "place")} ${free === 1 ? "is" : "are"} left in ${name}.` : `No place is left in ${name}.`;
  return [title, "Try another part of the house."];
}

function partyRefused(want, { largest }, venue) {
  const [party] = partiesOf(want);
  if (!party) return ["Not enough places are left.", "Try fewer, or another part of the house."];
  const { quantity, accessible = 0 } = party;
  const where = whereOf(party, venue);
  if (quantity === 1 || (!largest && !accessible)) {
    const what = accessible ? "No accessible place" : "No seat";
    return [`${what} is left${where}.`, "Try another section or price."];
  }
  const what = `No ${inWords(quantity)} together${accessible ? ` with ${inWords(accessible)} accessible` : ""} are left${where}`;
  const fewer = largest && !accessible ? `; ${inWords(largest)} ${largest === 1 ? "is" : "are"}` : "";
  return [`${what}${fewer}.`, "Try fewer, another section, or another price."];
}

/** So many seats on hold, as a sentence that hopes no more than it should. @param {number} count @param {number | null} left_ms until the first runs out */
export function onHold(count, left_ms) {
  if (!count) return "";
  const first = left_ms !== null && left_ms > 0 ? ` The first of these holds ends in ${spoken(Math.ceil(left_ms / 1000))}.` : "";
  return `${counted(count, "seat")} on hold: ${count === 1 ? "it" : "some"} may come back.${first}`;
}

/** Nothing of what was described is left, told without queueing. @returns {Notice} */
export function noneLeft(want, venue, on_hold, left_ms) {
  const [party] = partiesOf(want);
  const title = party ? `Nothing is left${whereOf(party, venue) || " right now"}.` : "No place is left there.";
  const hope = onHold(on_hold, left_ms);
  return { tone: "warn", title, text: `${hope ? `${hope} ` : ""}You were not queued and lost nothing.` };
}

/** @param {(...given: any[]) => Notice} sentence of a refusal */
export const listFull = (sentence) => (...given) => {
  const notice = sentence(...given);
  return { ...notice, text: `${notice.text} The waiting list is full.` };
};

/** @param {number} place @param {any} want @param {import("./plan.js").Venue} venue @returns {Notice} */
export function nowWaiting(place, want, venue) {
  return {
    tone: "good",
    title: place === 1 ? "You are first on the waiting list." : `You are number ${place.toLocaleString("en")} on the waiting list.`,
    text: `${titled(triesInWords(want, venue)[0])}: nothing now. If it comes back it is kept for you, in this order.`,
  };
}

/** @param {number} most @returns {Notice} */
export const waitsEnough = (most) => ({
  tone: "warn",
  title: `You wait for ${inWords(most)} things already.`,
  text: "Leave one of them first, then you can wait for another.",
});

/** @returns {Notice} */
export const leftTheList = () => ({ tone: "info", title: "You are off the waiting list.", text: "You can wait again, at the end of it." });

/** An offer that came and went while nobody looked. @param {string[]} names @returns {Notice} */
export const offerMissed = (names) => ({
  tone: "warn",
  title: "You had an offer while you were away.",
  text: `${listed(names)} ${names.length === 1 ? "was" : "were"} kept for you. The time ran out, so the next in line got ${names.length === 1 ? "it" : "them"}.`,
});

/** Looking for other seats did not work out. @param {Notice} notice @param {string[]} names @returns {Notice} */
export const keptAsItWas = (notice, names) => ({ ...notice, text: `You keep ${listed(names)}. ${notice.text}` });

/** @returns {Notice} */
export const moveGone = () => ({
  tone: "warn",
  title: "What you held is not held any more.",
  text: "So it could not be changed. Choose again to ask for seats.",
});

/** @param {number} most @returns {Notice} */
export function limitReached(most, { limit = most, reason = "limit", category, elsewhere } = {}) {
  if (reason === "tour_limit") return tourLimitReached(limit, elsewhere);
  if (category !== undefined) return categoryLimitReached(limit, category);
  return {
    tone: "warn",
    title: `That would be more than ${counted(most, "seat")}.`,
    text: `Each person can have ${most} here, so that more people can come. Choose fewer, or give some back.`,
  };
}

/** @param {number} most of the category @param {string} category @returns {Notice} */
const categoryLimitReached = (most, category) =>
  most === 0
    ? {
        tone: "warn",
        title: `${category} cannot be bought here.`,
        text: "Nothing was held. Choose seats of another price.",
      }
    : {
        tone: "warn",
        title: `That would be more than ${counted(most, "seat")} of ${category}.`,
        text: `Each person can have ${most} of ${category}, so that more people can come. Choose others beside them.`,
      };

/** @param {number} most on all dates @param {number} elsewhere what the buyer has on others @returns {Notice} */
const tourLimitReached = (most, elsewhere) => ({
  tone: "warn",
  title: `That would be more than ${counted(most, "seat")} on all dates together.`,
  text: elsewhere
    ? `You have ${elsewhere} on other dates of this tour. Choose fewer, or give some back there.`
    : `Each person can have ${most} on this tour, so that more people can come. Choose fewer.`,
});

/** @returns {Notice} */
export const closed = () => ({
  tone: "warn",
  title: "The sale was not open when your request arrived.",
  text: "Nothing was held and nothing was paid.",
});

/** @returns {Notice} */
export const conflict = () => ({
  tone: "warn",
  title: "This was asked before, for other seats.",
  text: "Your first answer stands. Choose again to ask for these.",
});

/** @returns {Notice} */
export const invalid = () => ({
  tone: "warn",
  title: "We could not read this choice.",
  text: "Reload the page and choose again. Nothing was held.",
});

/** @param {string} message the server's own sentence @returns {Notice} */
export const refused = (message) => ({
  tone: "warn",
  title: "Your request was not taken.",
  text: `${message || "It is very busy."} Nothing was held. Try again in a few seconds.`,
});

/** Where a sale that does not sell stands. */
export const EVENT_STATES = {
  draft: ["Not on sale yet", "The organiser is still preparing. This page changes by itself when it starts."],
  lobby: ["Not on sale yet", "Look around. This page changes by itself the moment the sale opens."],
  paused: ["The sale is paused", "Requests keep their order and are answered when it goes on. Your time on hold stands still."],
  closed: ["The sale is over", "Nothing can be bought any more. What you bought stays listed here."],
};

/** Why the server does not want this page to come back. */
export const REFUSALS = {
  4401: ["Your sign-in has ended", "Go back to the shop's page and come in from there again."],
  4403: ["This page is not at its own address", "Open it from the shop's page."],
  4404: ["There is no such event", "Check the address, or look at all events."],
};

/** @param {any} link @param {{waiting: boolean, holding: boolean, listed: boolean}} state */
export function connection(link, { waiting, holding, listed }) {
  if (link === "connecting") return "Connecting…";
  if (waiting) return "You are still in line. Reconnecting…";
  if (holding) return "Your seats are still yours. Reconnecting…";
  if (listed) return "Your place on the waiting list is kept. Reconnecting…";
  return "Reconnecting… What you see may be a moment old.";
}
