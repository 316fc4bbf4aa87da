// Somebody was quicker: who changed it is said, how it is now, and it may be done all the same.

import { ofEvent } from "./api.js";
import { changeInWords } from "./changes.js";
import { ago } from "./words.js";

/** Who changed something of an event last, in a sentence. @param {any} api @param {string} event */
export async function changedBy(api, event) {
  const { audit } = await api.get(ofEvent(event, "/audit?limit=1")).catch(() => ({ audit: [] }));
  return audit.length ? `${audit[0].who} changed it ${ago(audit[0].at)}: ${changeInWords(audit[0].what)}.` : "It was changed by somebody else.";
}

/** @param {any} ask the dialog @param {string[]} says who, how it is now, what was not done @param {{act?: string, more?: any}} [other] */
export const allTheSame = (ask, says, { act = "Do mine all the same", more } = {}) => ask({ title: "Somebody was quicker", says, act, keep: "Leave it as it is", more });
