// The list of events: what is on sale, and what will be.

import { patientFetch } from "./core/fetching.js";
import { dateOf, inOneWord } from "./core/showing.js";
import { html, render } from "./html.js";

const STATES = {
  draft: "in preparation",
  lobby: "opens soon",
  open: "on sale",
  paused: "paused",
  closed: "over",
};

function Events({ events }) {
  if (!events.length) return html`<p>There is no event yet. The organiser makes one with <code>./run</code>.</p>`;
  return html`<ul class="events">
    ${events.map((event) => html`<li key=${event.slug}>
      <a href=${`/e/${event.slug}`}><b>${event.name}${dateOf(event.starts_at) && html` <small>${dateOf(event.starts_at)}</small>`}</b>
        <span data-state=${event.state}>${inOneWord(event) || (STATES[event.state] ?? "")}</span></a></li>`)}
  </ul>`;
}

function Page({ children }) {
  return html`<main class="index"><h1>On sale</h1>${children}</main>`;
}

const root = document.getElementById("app");
const say = (content) => render(html`<${Page}>${content}<//>`, root);
say(html`<p><i class="bone"></i></p>`);
try {
  const answer = await patientFetch("/v1/events", undefined, () => say(html`<p role="status">The list cannot be reached right now. This page tries again by itself.</p>`));
  if (!answer.ok) throw new Error(`the list of events was answered with ${answer.status}`);
  const told = await answer.json();
  say(html`<${Events} events=${told.events ?? told} />`);
} catch {
  say(html`<p>The list cannot be read right now. Reload the page in a moment.</p>`);
}
