// How much is sold, where the organiser wants that to be told: read once, then told by the server when it changes.
// It decides nothing and says nobody's name; with the organiser's switch off there is nothing here.

import { pause } from "./fetching.js";

const READ_WITHIN_MS = 2000;
/** What is older than this says how old it is. */
const FRESH_MS = 15_000;
const BOOKED_WITHIN_MS = 120_000;

/** @typedef {{percent_sold: number, just_booked: {places: number, section: string, at: number}[], age_ms: number}} Figures */

export class SoldFigures {
  /** @param {import("./sale.js").Sale} sale */
  constructor(sale) {
    this.sale = sale;
    this.asked = false;
  }

  /** The server greeted: what it did not tell meanwhile is read, each page in another moment. */
  async welcomed({ figures_on_page: on }) {
    if (!on) return this.sale.set({ figures: null });
    await pause(Math.random() * READ_WITHIN_MS);
    const found = await this.sale.documents.figures();
    if (found) this.told(found);
  }

  /** @param {Figures} figures */
  told({ percent_sold, just_booked, age_ms }) {
    this.sale.set({ figures: { percent_sold, just_booked, as_of_ms: Date.now() - age_ms } });
  }
}

/** In sentences; nothing where there is nothing to say. @param {any} state @param {number} now_ms by this computer's clock @param {number} offset_ms of the server's clock */
export function inSentences({ figures, event }, now_ms, offset_ms) {
  if (!figures || !event?.figures_on_page || event.called_off) return "";
  const age_ms = now_ms - figures.as_of_ms;
  const sold = `${figures.percent_sold.toLocaleString("en")} % sold${age_ms > FRESH_MS ? `, as of ${ago(age_ms)}` : ""}.`;
  const [last] = figures.just_booked;
  const since_ms = last ? Math.max(0, now_ms + offset_ms - last.at) : Infinity;
  if (since_ms > BOOKED_WITHIN_MS) return sold;
  const where = last.section ? ` in ${last.section}` : "";
  return `${sold} ${last.places === 1 ? "One place" : `${last.places} places`}${where} booked ${ago(since_ms)}.`;
}

/** @param {number} ms */
function ago(ms) {
  const seconds = Math.round(ms / 1000);
  if (seconds < 5) return "just now";
  if (seconds < 90) return `${seconds} s ago`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min ago` : `${Math.round(seconds / 3600)} h ago`;
}
