// What was read when the page came and is another now. Everyone hears it at once and reads it within seconds.

import { pause } from "./fetching.js";
import { readPlan, withCosts } from "./plan.js";

const REREAD_MS_MAX = 2000;

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
