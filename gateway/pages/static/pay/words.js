// What the page to pay on says.

import { clockFace } from "../core/clock.js";
import { sizeOf } from "../core/holds.js";
import { counted } from "../core/money.js";

/** @typedef {import("../core/words.js").Notice} Notice */

/** Why there is nothing to pay, as [title, text]. */
export const STOPS = {
  no_token: ["Come in from the shop’s page", "This address alone does not say who you are. Nothing was charged."],
  signed_out: ["Your sign-in has ended", "Nothing was charged. Come in again from the shop’s page; what you hold stays yours until their time is over."],
  missing: ["There is nothing to pay here", "No payment was begun for this, or it is somebody else’s."],
};

/** @param {{type: string, message?: string}} error as Stripe says it @returns {Notice} */
export function refused({ type, message = "" }) {
  if (type === "validation_error") return { tone: "warn", title: "Something is not filled in yet.", text: message };
  const why = /declined/i.test(message) ? "" : `${message} `;
  return { tone: "warn", title: "Your card was declined.", text: `${why}Nothing was charged, and what you hold is still yours. Try again, or another card.` };
}

/** @returns {Notice} */
export const unheard = () => ({
  tone: "warn",
  title: "We did not hear how that went.",
  text: "If you paid, we hear of it and tell you. Trying again is safe: it is the same payment, and it is charged once.",
});

/** @returns {Notice} */
export const notLoaded = () => ({
  tone: "warn",
  title: "The form to pay with did not come.",
  text: "Nothing was charged, and what you hold is still yours. Is something blocking Stripe in this browser?",
});

export const AWAY = "We cannot reach the shop just now. This page tries again by itself.";
export const OVER = ["Your time seems to be over.", "Nothing was charged. See whether you still hold it before you pay."];

/** What is paid for. @param {import("../core/holds.js").Hold} hold */
export const whatOf = (hold) => counted(sizeOf(hold), hold.seats.length ? "seat" : "place");

/** @param {number} left_ms */
export const heldFor = (left_ms) => `Held for you: ${clockFace(left_ms)} left`;
