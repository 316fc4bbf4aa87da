// The parts of a buyer's story, each as a list that says what, when and why.

import { counted } from "../../core/money.js";
import { html } from "../../html.js";
import { moment, money } from "../words.js";

const OUTCOMES = {
  held: "got seats on hold", taken: "came after somebody else", sold_out: "found nothing left that fits", waitlisted: "was put on the waiting list",
  limit_reached: "was over the limit", conflict: "used a key again with another wish", closed: "came while nothing was sold", invalid: "could not be read",
};
const PLACES = { waiting: "waits in line", admitted: "was let in", finished: "bought and is done", expired: "ran out of time", left: "left the line" };
const HOLDS = { active: "on hold", paid: "paid: an order", released: "given back", expired: "run out", refunded: "taken back" };
const PAYMENTS = {
  created: "begun, not paid yet", failed: "did not go through", canceled: "given up", succeeded: "paid", late: "came too late; the same seats are tried for",
  refund_due: "goes back", refunded: "went back",
};
const BACK = { due: "is owed", refunded: "was given" };
const REASONS = { late: "it came too late", seats_gone: "its seats were gone" };
const WAITS = { waiting: "they wait", offered: "they were offered something", left: "they left it" };
const MAILS = {
  "order.paid": "Their tickets", "order.changed": "That an order was changed", "order.refunded": "That an order was taken back", "payment.late": "That money came late",
  "payment.refund_due": "That money goes back", "payment.refunded": "That money went back", "ticket.transferred": "That a ticket was given",
  "event.canceled": "That the event is canceled", "event.moved": "That the event was moved", "place.admitted": "That it is their turn",
};
const SENT = { due: "is to be sent", sent: "sent", given_up: "could not be sent" };

function Part({ id, title, rows, none, children }) {
  return html`<section class="card" aria-labelledby=${`part-${id}`}><h2 id=${`part-${id}`}>${title}</h2>
    ${rows.length ? html`<ol class="story-rows">${rows.map(children)}</ol>` : html`<p class="quiet-text">${none}</p>`}</section>`;
}

const times = (pairs) => pairs.filter(([, at]) => at !== null && at !== undefined).map(([words, at]) => `${words} ${moment(at)}`).join("; ");
const had = ({ seats = [], areas = {}, quantity }) => [...seats, ...Object.entries(areas).map(([area, count]) => `${count} × ${area}`)].join(", ") || counted(quantity ?? 0, "place");

export function Places({ places }) {
  return html`<${Part} id="places" title="Place in line" rows=${places} none="They were never in the line of this event.">${(place) => html`<li key=${place.id}>
    <p><b>${place.position ? `Number ${place.position.toLocaleString("en")}` : "No number yet"}</b>: ${PLACES[place.state] ?? place.state}${place.lane === "priority" ? ", in the priority lane" : ""}.</p>
    <small>${times([["joined", place.joined_at], ["let in", place.admitted_at], ["began", place.begun_at], ["must begin by", place.begun_at ? null : place.begin_by], ["until", place.until], ["bought", place.bought_at], ["ended", place.ended_at]])}${place.in_draw ? "; was in the draw" : ""}</small></li>`}<//>`;
}

export function Requests({ requests, offers, waiting, older, readOlder, busy }) {
  return html`<div class="story-part"><${Part} id="requests" title="Requests and why they were answered so" rows=${requests} none="They asked for nothing.">${(request) => html`<li key=${request.id}>
    <p>Asked for <b>${request.asked}</b> and ${OUTCOMES[request.outcome] ?? request.outcome}.</p>
    ${request.why && html`<p>${request.why}</p>`}
    <small>${times([["arrived", request.arrived_at], ["decided", request.decided_at]])}; batch ${request.batch_no}, position ${request.position}; request ${request.id}${request.hold ? `, hold ${request.hold}` : ""}</small>
    ${offers.filter((offer) => offer.request === request.id).map((offer) => html`<small key=${offer.hold}>Was offered hold ${offer.hold}, ${moment(offer.at)}.</small>`)}
    ${waiting.filter((wait) => wait.request === request.id).map((wait) => html`<small key=${wait.wait}>On the waiting list: ${WAITS[wait.state] ?? wait.state}.</small>`)}</li>`}<//>
    ${older && html`<p><button type="button" class="button quiet small" disabled=${busy} onClick=${() => readOlder(older)}>Older requests</button></p>`}</div>`;
}

export function Holds({ holds, release, busy }) {
  return html`<${Part} id="holds" title="Holds and orders" rows=${holds} none="They never had anything on hold.">${(hold) => html`<li key=${hold.hold}>
    <p><b>${had(hold)}</b>: ${HOLDS[hold.state] ?? hold.state}.</p>
    <small>hold ${hold.hold}; ${times([["runs out", hold.state === "active" ? hold.expires_at : null], ["paid", hold.paid_at]]) || `ran until ${moment(hold.expires_at)}`}${hold.extensions ? `; given more time ${counted(hold.extensions, "time")}` : ""}${hold.kind && hold.kind !== "buyer" ? `; by hand (${hold.kind.replaceAll("_", " ")})` : ""}</small>
    ${release && hold.state === "active" && html`<p><button type="button" class="button quiet small" disabled=${busy} onClick=${() => release(hold)}>Take it from them…</button></p>`}</li>`}<//>`;
}

export function Payments({ payments }) {
  return html`<${Part} id="payments" title="Payments" rows=${payments} none="Nothing was paid.">${(one) => html`<li key=${one.payment}>
    <p><b>${money(one.amount_minor, one.currency)}</b>: ${PAYMENTS[one.state] ?? one.state}${one.reason ? ` (${REASONS[one.reason] ?? one.reason})` : ""}.</p>
    <small>payment ${one.payment} by ${one.provider}${one.intent ? `, ${one.intent}` : ""}; hold ${one.hold}; ${times([["begun", one.created_at], ["paid", one.succeeded_at]])}${one.declines ? `; declined ${counted(one.declines, "time")}` : ""}</small>
    ${one.refunds.map((refund) => html`<p key=${refund.refund}>Refund of <b>${money(refund.amount_minor, one.currency)}</b> ${BACK[refund.state] ?? refund.state}: ${REASONS[refund.reason] ?? refund.reason}.${refund.last_error ? html` <span class="wrong-text">Last try: ${refund.last_error}</span>` : ""} <small>${times([["owed since", refund.created_at], ["given", refund.refunded_at]])}</small></p>`)}</li>`}<//>`;
}

export function Tickets({ tickets }) {
  return html`<${Part} id="tickets" title="Tickets" rows=${tickets} none="They have no tickets.">${(ticket) => html`<li key=${ticket.ticket}>
    <p><b>${ticket.seat ?? ticket.area}</b>: ${ticket.gone ? "not valid any more" : ticket.holder === "self" ? "theirs" : "given to somebody else"}${ticket.offered ? ", offered to somebody" : ""}.</p>
    <small>${ticket.ticket}, order ${ticket.order}; ${ticket.checked_at ? `came in ${moment(ticket.checked_at)}` : "not used at the door"}</small></li>`}<//>`;
}

export function Mails({ mails }) {
  return html`<${Part} id="mails" title="Mails" rows=${mails} none="No mail was sent.">${(mail, index) => html`<li key=${index}>
    <p>${MAILS[mail.kind] ?? mail.kind}, to ${mail.address ?? "an address that was erased"}: <b>${SENT[mail.state] ?? mail.state}</b>${mail.attempts > 1 ? ` after ${mail.attempts} tries` : ""}.${mail.last_error ? html` <span class="wrong-text">${mail.last_error}</span>` : ""}</p>
    <small>${times([["written", mail.created_at], ["ended", mail.ended_at]])}</small></li>`}<//>`;
}
