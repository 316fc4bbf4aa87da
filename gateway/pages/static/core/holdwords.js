// What the page says of what a buyer holds: what became of it, and what is not known of it yet. Of a hold
// nothing is said to be so before the server said it.

import { spoken } from "./clock.js";
import { listed, titled } from "./money.js";

/** @typedef {import("./words.js").Notice} Notice */

/** @param {string[]} names @returns {Notice} */
export const offered = (names) => ({
  tone: "good",
  title: "Your turn!",
  text: `${listed(names)} came back and ${names.length === 1 ? "is" : "are"} kept for you.`,
});

/** @param {string[]} names @returns {Notice} */
export const offerRanOut = (names) => ({
  tone: "warn",
  title: "The time for your offer ran out.",
  text: `${listed(names)} went to the next in line. Nothing was paid.`,
});

/** @param {string[]} names @returns {Notice} */
export const declined = (names) => ({
  tone: "info",
  title: "Declined.",
  text: `${listed(names)} ${names.length === 1 ? "goes" : "go"} to the next in line.`,
});

/** @param {string[]} names @returns {Notice} */
export const gaveSomeBack = (names) => ({ tone: "info", title: "Given back in part.", text: `You still hold ${listed(names)}.` });

/** @param {number} left_s @returns {Notice} */
export const extended = (left_s) => ({ tone: "good", title: "You have more time.", text: `${titled(spoken(left_s))} from now.` });

/** After an outage. @param {number} lost_s @returns {Notice} */
export const timeBack = (lost_s) => ({ tone: "good", title: "You have the time back.", text: `The sale stood still for ${spoken(lost_s)}. What you hold is yours that much longer.` });

/** @returns {Notice} */
export const noMoreTime = () => ({ tone: "warn", title: "There is no more time to add.", text: "Buy what you hold, or give it back." });

/** @param {string[]} names @returns {Notice} */
export const bought = (names) => ({ tone: "good", title: "They are yours.", text: `${listed(names)}. Enjoy the show.` });

/** @param {string[]} names @returns {Notice} */
export const givenBack = (names) => ({
  tone: "info",
  title: "Given back.",
  text: `${listed(names)} can be bought by others again.`,
});

/** @param {string[]} names @returns {Notice} */
export const takenBack = (names) => ({
  tone: "warn",
  title: `The organiser took ${listed(names)} back.`,
  text: `${names.length === 1 ? "It is" : "They are"} not yours any more. You can choose again.`,
});

/** @param {string[]} names what is left @returns {Notice} */
export const tookSomeBack = (names) => ({ tone: "warn", title: "The organiser took some of your order back.", text: `You still have ${listed(names)}.` });

/** @param {string[]} names @returns {Notice} */
export const expired = (names) => ({
  tone: "warn",
  title: "Your time ran out.",
  text: `${listed(names)} went back on sale. Nothing was paid. If still free, you can ask again.`,
});

const WHETHER = {
  confirm: "it was bought",
  release: "it was given back",
  some: "it was given back",
  extend: "you got more time",
};

/** The answer to what was wished was lost on the way. @param {"confirm" | "release" | "extend" | "some"} wish @returns {Notice} */
export const notKnownYet = (wish) => ({
  tone: "info",
  title: `We do not know yet whether ${WHETHER[wish]}.`,
  text: `The answer was lost on the way. We are asking again; it is never ${wish === "confirm" ? "bought" : "done"} twice.`,
});

/** What was wished is refused for good, and was not done. @param {string} message the server's own sentence @param {string[]} names @returns {Notice} */
export const notDone = (message, names) => ({
  tone: "warn",
  title: "That was not done.",
  text: `${message ? `${message} ` : ""}${listed(names)}: as it was before. You can try again.`,
});

/** The server has no such hold of this buyer. @param {string[]} names @returns {Notice} */
export const notFound = (names) => ({
  tone: "warn",
  title: `${listed(names)}: not held for you any more.`,
  text: "The shop does not find this hold. You can choose again.",
});
