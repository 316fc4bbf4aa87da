// What it comes to so far, always in view.

import { html } from "../../html.js";
import { counted } from "../../core/money.js";
import { houseOf } from "./body.js";
import { money } from "../words.js";

/** A local time as people say it. @param {string} local */
export const saidTime = (local) => new Date(local).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** One sentence about the waiting room. */
export function saidRoom({ room }) {
  if (!room.wanted) return "None: everybody comes in at once";
  const first = room.policy === "draw" ? `A draw${room.ballot ? " with wishes" : ""}` : "First come, first in line";
  return `${first}; ${String(room.pace).trim() ? `${/^\d+$/.test(room.pace.trim()) ? Number(room.pace).toLocaleString("en") : room.pace} a minute` : "no set pace"}`;
}

/** @param {{draft: any, seen: any, looking: boolean, slug: string}} props */
export function Summary({ draft, seen, looking, slug }) {
  const house = seen && houseOf(seen.holds, draft.prices, seen.holds.currency);
  const rows = [
    ["Event", draft.name || "no name yet"], ["Address", slug ? `/e/${slug}` : "–"],
    ["House", seen ? counted(seen.holds.seats + seen.holds.places, "place") : looking ? "looking at the plan …" : "no plan yet"],
    ["Sold out", house ? money(house.net, seen.holds.currency) : "–"],
    ...(draft.room.wanted ? [["Lobby", draft.times.lobby_opens_at ? saidTime(draft.times.lobby_opens_at) : "by hand"]] : []),
    ["Opens", draft.times.opens_at ? saidTime(draft.times.opens_at) : "by hand"],
    ["Takes place", draft.times.starts_at ? saidTime(draft.times.starts_at) : "–"],
    ["A buyer", `up to ${counted(Number(draft.rules.seats_per_buyer_max) || 0, "ticket")}, held ${draft.rules.hold_minutes || "–"} min`],
    ["Waiting room", saidRoom(draft)],
  ];
  return html`<aside class="card create-summary" aria-label="So far"><h2>So far</h2>
    <dl class="lines">${rows.map(([name, said]) => html`<div key=${name}><dt>${name}</dt><dd>${said}</dd></div>`)}</dl>
    <p class="quiet-text">Kept in this browser until it is made.</p></aside>`;
}
