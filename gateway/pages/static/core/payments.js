// One payment as the page knows it, and at what stage it is. Pure.

/**
 * @typedef {object} Payment
 * @property {string} hold that is paid for
 * @property {string} payment its id; empty where the server has not said one
 * @property {"" | "created" | "failed" | "canceled" | "succeeded" | "late" | "refund_due" | "refunded"} state
 *   as the server said it; empty: it said nothing yet
 * @property {number} amount_minor
 * @property {string} currency
 * @property {number} declines
 * @property {string | null} order what it bought
 * @property {string | null} reason why the money goes back
 * @property {number} refunded_minor
 * @property {number} refund_due_minor
 * @property {string} url of the page where it is paid
 * @property {"" | "there" | "back"} visit to that page: gone there; or come back by its own way
 * @property {number} back_ms when, by this computer's clock
 * @property {number} declines_then how often it was declined before that visit
 * @property {string} ended how the hold ended, empty while it runs
 * @property {number[]} seats @property {Record<number, number>} places what it is for
 * @property {string} key of the asking to begin that is not answered
 * @property {string} email that goes with it
 * @property {number} shown_minor what the button said it costs
 * @property {"" | "asking" | "unsure" | "away"} begin how that asking stands
 * @property {boolean} stuck it is not asked any more by itself
 * @property {boolean} missing the server knows of none
 * @property {boolean} closed its last word was read
 *
 * @typedef {"ready" | "beginning" | "unsure" | "away" | "leaving" | "open" | "waiting" | "declined" | "called_off"
 *   | "price" | "no_page"} HoldStage of a payment whose hold runs
 * @typedef {"waiting" | "over" | "nothing_charged" | "late" | "refund_due" | "refunded" | "missing"} CardStage of
 *   one that stands for itself
 */

/** So long after coming back the page says that it takes long. */
const SLOW_AFTER_MS = 20_000;
/** One never goes back: a word that was long on its way says nothing new. */
const ORDER = ["", "created", "failed", "canceled", "late", "succeeded", "refund_due", "refunded"];
const OPEN = new Set(["created", "failed"]);
const MONEY = new Set(["late", "succeeded", "refund_due", "refunded"]);
const TELLS = ["payment", "state", "amount_minor", "currency", "declines", "order", "reason", "refunded_minor", "refund_due_minor"];

/** @param {string} hold @param {{seats: number[], places: Record<number, number>} | undefined} what @returns {Payment} */
export const paymentFor = (hold, what) => ({
  hold, payment: "", state: "", amount_minor: 0, currency: "", declines: 0, order: null, reason: null,
  refunded_minor: 0, refund_due_minor: 0, url: "", visit: "", back_ms: 0, declines_then: -1, ended: "",
  seats: what?.seats ?? [], places: what?.places ?? {}, key: "", email: "", shown_minor: 0, begin: "",
  stuck: false, missing: false, closed: false,
});

/** Whether its buyer may still pay it. @param {Payment} payment */
export const isOpen = ({ state }) => OPEN.has(state);

/** Whether its money arrived. @param {Payment} payment */
export const hasMoney = ({ state }) => MONEY.has(state);

/** Whether its buyer came back from paying it, and its provider has not said what became of that. @param {Payment} payment */
const awaits = ({ visit, state, declines, declines_then }) =>
  visit === "back" && (state === "" || state === "created" || (state === "failed" && declines === declines_then));

/** Whether its buyer may be paying it just now, or did. @param {Payment} payment */
export const mayBePaid = ({ state, payment, visit }) => (OPEN.has(state) || state === "") && (payment !== "" || visit !== "");

/** Whether this tells of a payment. @param {any} told */
export const isPayment = (told) => ORDER.indexOf(told?.state) > 0;

/** Takes what the server says. @param {Payment} payment @param {any} told */
export function take(payment, told) {
  const before = payment.state;
  const same = payment.payment === (told.payment ?? "");
  if (same && ORDER.indexOf(told.state) < ORDER.indexOf(before)) return;
  for (const name of TELLS) if (told[name] !== undefined) payment[name] = told[name];
  payment.payment = told.payment ?? "";
  if (told.checkout) payment.url = pageOf(told.checkout.url);
  payment.missing = false;
  if (payment.state !== before) payment.closed = false;
}

/** Only a page can be gone to; nothing else that an address can name. */
function pageOf(url) {
  try {
    return ["https:", "http:"].includes(new URL(url).protocol) ? url : "";
  } catch {
    return "";
  }
}

/** Of several of one hold the last is the last. @param {Payment} payment */
export const ageOf = ({ payment }) => (payment === "" ? Infinity : Number(payment));

/** What the hold's button is about. @param {Payment | undefined} payment @param {boolean} leaving @returns {HoldStage} */
export function stageInHold(payment, leaving) {
  if (leaving) return "leaving";
  if (!payment || payment.missing) return "ready";
  if (payment.begin) return payment.begin === "asking" ? "beginning" : payment.begin;
  if (awaits(payment)) return "waiting";
  if (payment.state === "failed") return "declined";
  if (payment.state === "canceled" && payment.visit) return "called_off";
  if (payment.state !== "created") return "ready";
  if (!payment.url) return "no_page";
  return payment.shown_minor && payment.shown_minor !== payment.amount_minor && !payment.visit ? "price" : "open";
}

/** What is told of a payment where no hold runs that it is for. @param {Payment} payment @returns {CardStage | ""} nothing */
export function stageAlone(payment) {
  if (payment.closed || payment.state === "succeeded") return "";
  if (payment.state === "late" || payment.state === "refund_due" || payment.state === "refunded") return payment.state;
  if (payment.missing) return payment.visit === "back" ? "missing" : "";
  if (payment.state === "canceled") return payment.ended === "expired" && payment.visit ? "nothing_charged" : "";
  if (payment.ended === "expired") return mayBePaid(payment) ? "over" : "";
  return payment.visit === "back" && payment.ended === "" ? "waiting" : "";
}

/** Whether its provider's word takes long. @param {Payment} payment @param {number} now_ms by this computer's clock */
export const isSlow = ({ visit, back_ms }, now_ms) => visit === "back" && now_ms - back_ms > SLOW_AFTER_MS;

/** How eagerly the server is asked about it: its word is waited for, may come some time, or is not to come. @param {Payment} payment @returns {"soon" | "later" | ""} */
export function eagernessOf(payment) {
  if (payment.missing || payment.begin) return "";
  if (payment.state === "late") return "soon";
  if (payment.state === "refund_due" || (payment.state === "succeeded" && payment.refund_due_minor > 0)) return "later";
  if (!mayBePaid(payment)) return "";
  if (payment.ended === "expired") return "soon";
  return awaits(payment) && !payment.ended ? "soon" : "later";
}
