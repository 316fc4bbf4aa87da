// What the tickets page says. Pure.

import { counted, price } from "../core/money.js";

/** @typedef {import("./desk.js").Ticket} Ticket */

/** `Stalls, row C, seat 12`. @param {Ticket} ticket */
export function placeOf({ section, row, seat, area, place }) {
  if (seat === null) return `${area}, place ${place}`;
  return `${section}${row ? `, row ${row}` : ""}, seat ${seat}`;
}

/** What stops the page, as [title, text]. */
export const STOPS = {
  no_token: ["We do not know who you are here", "Tickets are shown to who bought them. Open this page in the browser, and in a demo in the tab, in which you bought them."],
  signed_out: ["You are signed out", "Come in from the shop’s page again to see your tickets."],
  missing: ["There is nothing of yours here", "Perhaps the address is not whole, or somebody else bought these tickets."],
  off: ["There are no tickets here", "This organiser gives them out another way. What you bought is yours all the same."],
};

/** @param {any} order */
export function paidInWords({ payment, kind }) {
  if (payment) return `${price(payment.amount_minor, payment.currency)} paid`;
  return kind === "box_office" ? "Paid at the box office" : kind === "complimentary" ? "With compliments" : "";
}

/** What came back or comes. @param {any} order */
export function backInWords({ payment }) {
  if (!payment) return "";
  const back = [];
  if (payment.refunded_minor) back.push(`${price(payment.refunded_minor, payment.currency)} went back to you`);
  if (payment.refund_due_minor) back.push(`${price(payment.refund_due_minor, payment.currency)} is on its way back to you`);
  return back.join(", ");
}

/** What returning these means, before it is done. @param {any} order @param {Ticket[]} tickets */
export function returnInWords({ payment }, tickets) {
  const known = payment && tickets.every(({ paid_minor }) => paid_minor !== null);
  const money = known ? tickets.reduce((sum, { paid_minor }) => sum + paid_minor, 0) : 0;
  const them = tickets.length === 1 ? "It is" : "They are";
  const back = money > 0 ? ` You get ${price(money, payment.currency)} back.` : "";
  return `${them} on sale again at once, for anybody.${back} This cannot be undone.`;
}

/** @param {any} order */
export function ticketsInWords({ yours, tickets }) {
  const mine = tickets.filter((ticket) => ticket.yours).length;
  const given = tickets.length - mine;
  const told = counted(mine, "ticket");
  return yours && given ? `${told} of yours, ${given} given away` : told;
}

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** @param {number} at milliseconds */
export const momentOf = (at) => moment.format(new Date(at));
