// What the page says of paying. True whatever the provider says later: of money nothing is said that the server
// did not say, and what becomes of it is said each time.

import { sizeOf } from "./holds.js";
import { listed, price } from "./money.js";
import { isSlow } from "./payments.js";

/** @typedef {import("./words.js").Notice} Notice @typedef {import("./payments.js").Payment} Payment */

/** Until when the seats are kept, in a sentence, by the clock on this computer's screen. */
function until({ orders, clock }, hold, verb) {
  const one = sizeOf(hold) === 1;
  const are = `Your ${hold.seats.length ? "seat" : "place"}${one ? " is" : "s are"} ${verb}`;
  if (orders.paused_at !== null) return `${are}; the sale is paused, and your time stands still.`;
  const ends = new Date(hold.expires_at - clock.offset_ms);
  return `${are} until ${ends.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}.`;
}

/**
 * Of a payment whose hold runs.
 * @param {import("./sale.js").Sale} sale @param {Payment} payment @param {import("./payments.js").HoldStage} stage @returns {Notice | null}
 */
export function inHold(sale, payment, stage) {
  const hold = sale.orders.find(payment.hold);
  const held = until(sale, hold, "held");
  const sentences = {
    waiting: () => ({ tone: "info", title: "We wait for your bank’s word.", text: `If you paid, it comes here by itself${isSlow(payment, Date.now()) ? "; it takes longer than usual" : ""}. ${held}` }),
    open: () => ({ tone: "info", title: "Your payment is not finished.", text: `If you did pay, we hear of it and tell you here. ${held}` }),
    declined: () => ({ tone: "warn", title: declinedTitle(payment.declines), text: `Nothing was charged. ${until(sale, hold, "still yours")}` }),
    called_off: () => ({ tone: "info", title: "That payment was called off.", text: `Nothing was charged. ${held}` }),
    away: () => ({ tone: "warn", title: "The payment service does not answer.", text: `Nothing was charged. ${held} ${again(payment)}` }),
    unsure: () => ({ tone: "info", title: "We did not hear whether you can pay now.", text: `Nothing was charged. ${held} ${again(payment)}` }),
    price: () => ({ tone: "warn", title: `It costs ${price(payment.amount_minor, payment.currency)} in all.`, text: `The price you saw was not the newest. Nothing was charged. ${held}` }),
    no_page: () => ({ tone: "warn", title: "The payment page is not there yet.", text: `Nothing was charged. ${held} Try again in a moment.` }),
  };
  return sentences[stage]?.() ?? null;
}

const again = ({ stuck }) => (stuck ? "You can try again." : "We try again by ourselves.");

function declinedTitle(declines) {
  return declines > 1 ? "Your card was declined again." : "Your card was declined.";
}

/**
 * Of a payment that stands for itself.
 * @param {import("./sale.js").Sale} sale @param {Payment} payment @param {import("./payments.js").CardStage | ""} stage @returns {Notice | null}
 */
export function alone(sale, payment, stage) {
  const amount = payment.currency ? price(payment.amount_minor, payment.currency) : "the money";
  const reacquires = sale.state.event?.late_payment === "reacquire";
  const sentences = {
    waiting: () => ({ tone: "info", title: "We wait for your bank’s word.", text: "If you paid, it comes here by itself." }),
    over: () => ({
      tone: "warn",
      title: "Your time ran out before a payment came.",
      text: reacquires
        ? "Did you pay? Then we ask for the same seats again as soon as your bank says so; if they are gone, all of it goes back to you."
        : "Did you pay? Then all of it goes back to you as soon as your bank says so.",
    }),
    nothing_charged: () => ({ tone: "info", title: "Your time ran out before you paid.", text: "Nothing was charged. If the seats are still free, you can ask again." }),
    late: () => ({ tone: "info", title: "Your payment came after your time had run out.", text: `We are asking for the same seats again. If they are gone, ${amount} goes back to you.` }),
    refund_due: () => refundDue(payment, amount),
    refunded: () => ({ tone: "good", title: `${price(payment.refunded_minor, payment.currency)} is on its way back to you.`, text: `${why(payment)} Banks take a few days to show it.` }),
    missing: () => ({ tone: "warn", title: "We do not find your payment here.", text: "Look at the page you paid from, if it is still open, or come in again from the shop’s page. Nothing is lost: what you paid has its seats, or goes back." }),
  };
  return sentences[stage]?.() ?? null;
}

const WHY = {
  late: "Your payment came after your time had run out.",
  seats_gone: "Your payment came after your time had run out, and the seats were gone by then.",
  hold_released: "Your payment came after you had given the seats back.",
  hold_changed: "Your seats had changed by the time your payment came, so it did not fit them.",
  paid_twice: "These seats were paid for twice. They stay yours.",
  order_refunded: "The organiser had taken this order back before your payment came.",
  taken_back: "The organiser took this order back.",
  event_canceled: "This event is canceled.",
  event_moved: "This event was moved, and these seats could not be had at the new date.",
};

const why = ({ reason }) => WHY[reason] ?? "This order was called off.";

/** @param {Payment} payment @param {string} amount @returns {Notice} */
const refundDue = (payment, amount) => ({
  tone: payment.reason === "paid_twice" ? "info" : "warn",
  title: why(payment),
  text: `${payment.reason === "paid_twice" ? `The second payment, ${amount},` : `All of it, ${amount},`} goes back to you. You need not do anything.`,
});

/** What an order's line says of money that goes back of it, or nothing. @param {Payment} payment */
export function partBack({ refund_due_minor: due, refunded_minor: given, currency }) {
  if (due) return `${price(due + given, currency)} of it goes back to you.`;
  return given ? `${price(given, currency)} of it is on its way back to you.` : "";
}

/** Of an order that this page did not see becoming one. @param {string[]} names where they are known @param {boolean} late had again @returns {Notice} */
export const paidFor = (names, late) => ({
  tone: "good",
  title: late ? "They are yours after all." : "They are yours.",
  text: `${names.length ? `${listed(names)}. ` : ""}${late ? "Your payment came late, and the same seats could be had again." : "Enjoy the show."}`,
});

/** @returns {Notice} */
export const signInEnded = () => ({ tone: "warn", title: "Your sign-in has ended.", text: "Nothing was charged. Come in again from the shop’s page; your seats stay held until their time is over." });

/** @param {string} message the server's own sentence @returns {Notice} */
export const notBegun = (message) => ({ tone: "warn", title: "You cannot pay just now.", text: `${message ? `${message} ` : ""}Nothing was charged, and what you hold is as it was.` });
