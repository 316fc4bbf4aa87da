// The organiser's word to all who wait, under their name.

import { html } from "../html.js";

/** @param {{room: import("../core/room.js").Room}} props */
export function Message({ room }) {
  const { message, look } = room.status;
  if (!message) return null;
  return html`<aside class="notice room-message"><b>${look?.name || room.words("message.title")}</b> <span>${message.text}</span></aside>`;
}
