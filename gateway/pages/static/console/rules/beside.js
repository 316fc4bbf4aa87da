// What stands beside rules and is not changed here: the tour's limit, what is set for the whole
// installation, and where the rest of a waiting room is. By the group of rules it stands in.

import { html } from "../../html.js";

/** Label, what it says, how it is. @returns {[string, any, any][]} */
export function besideOf(title, { event, tour, room }) {
  const below = `/console/e/${encodeURIComponent(event)}`;
  switch (title) {
    case "How much a buyer may have":
      return tour ? [["Across the dates of its tour", html`Held and bought together on all dates of <a href=${`/console/tours/${encodeURIComponent(tour.slug)}`}>${tour.name}</a>. It is for good.`, tour.seats_per_buyer_max]] : [];
    case "Who is first in line":
      return [["Presale codes", html`Who has one stands in a line of its own: <a href=${`${below}/codes`}>make and withdraw them</a>.`, ""],
        ...(room.policy === "draw" ? [["The draw", html`Its seed was settled when the room was made; <a href=${`/e/${encodeURIComponent(event)}/draw`}>anybody can check it</a>.`, ""]] : [])];
    case "Keeping programs out":
      return [["Human check", html`Of all events: <code>ONSALE_HUMAN_CHECK_URL</code> at the gateways.`, ""],
        ["Joins from one address", html`Of all events: <code>ONSALE_JOINS_PER_ADDRESS_MINUTE</code> and its neighbours.`, ""],
        ["Shops behind the room", html`Where buyers may be sent back to when it is their turn, of all events: <code>ONSALE_SHOPS</code>.`, ""]];
    default:
      return [];
  }
}
