// What is done for a launch on pages of its own, each with a word on what it is for; and of all launches.

import { html } from "../../html.js";

/** @param {{event: string, room: any, session: any}} props */
export function Elsewhere({ event, room, session }) {
  const below = `/console/e/${encodeURIComponent(event)}`;
  const pages = [
    [`${below}/sales`, "Sell by hand", "at the door, for guests; take orders back"],
    [`${below}/rules`, "Rules", "holds, limits, paying; the terms of the waiting room"],
    [`${below}/prices`, "Prices", "what buyers pay, fees and tax, seats of another category"],
    ...(room ? [[`${below}/codes`, "Presale codes", "make more, withdraw some"], [`${below}/look`, "Look of the waiting room", "its name, colour and texts"]] : []),
    [`${below}/off`, "Call off or move", "what it would cost; cancel it, move it to another date"],
    ...ofAll(session, event),
  ];
  return html`<div class="move"><h3>On pages of their own</h3><${Pages} pages=${pages} /></div>`;
}

/** Pages that are about no one launch, for who may see them. @param {any} session @param {string} [event] */
export function ofAll(session, event) {
  if (session.state.events) return []; // a key for some events is for nothing else
  const webhooks = ["/console/webhooks" + (event ? `?event=${encodeURIComponent(event)}` : ""), "Webhooks", "other programs that are told what becomes true"];
  return [["/console/tours", "Tours", "dates that share a limit per buyer"], ...(session.may("operator") ? [webhooks] : [])];
}

/** @param {{pages: string[][]}} props address, name and what it is for */
export function Pages({ pages }) {
  return html`<ul class="elsewhere">${pages.map(([path, name, says]) => html`<li key=${path}><a href=${path}>${name}</a> <small>${says}</small></li>`)}</ul>`;
}
