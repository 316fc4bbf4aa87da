// What was read when the page came and is another now. Everyone hears it at once and reads it within seconds.

import { pause } from "./fetching.js";
import { readPlan, withCosts } from "./plan.js";

const REREAD_MS_MAX = 2000;
/** Of the rounds in which news is looked for, how many go by until what seldom changes is. */
const SELDOM_ROUNDS = 6;

/** Who waited for the sale to begin sees what was settled meanwhile. @param {import("./sale.js").Sale} sale */
export async function readPrices(sale) {
  await pause(Math.random() * REREAD_MS_MAX);
  const prices = await sale.documents.prices();
  const { venue } = sale.state;
  venue.categories = withCosts(venue.categories, prices);
  venue.tax_included = prices?.terms.tax_included ?? true;
  sale.touch();
}

/** Seats are of other categories. @param {import("./sale.js").Sale} sale */
export async function readAgain(sale) {
  await pause(Math.random() * REREAD_MS_MAX);
  const [plan, prices] = await Promise.all([sale.documents.plan(), sale.documents.prices()]);
  if (!plan) return;
  Object.assign(sale.state.venue, readPlan(plan, prices));
  sale.touch();
}

/** What a socket would tell by itself is asked for, where there is none. @param {import("./sale.js").Sale} sale @param {number} round */
export function lookAround(sale, round) {
  if (sale.waiting.entries.length) sale.link.send({ type: "waiting" });
  if (round % SELDOM_ROUNDS) return;
  sale.orders.standing.lookAtAll();
  sale.figures.welcomed(sale.state.event);
}
