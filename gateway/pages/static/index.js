// The list of events: what is on sale, and what will be.

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
    ${events.map(({ slug, name, state }) => html`<li key=${slug}>
      <a href=${`/e/${slug}`}><b>${name}</b><span data-state=${state}>${STATES[state] ?? ""}</span></a></li>`)}
  </ul>`;
}

function Page({ children }) {
  return html`<main class="index"><h1>On sale</h1>${children}</main>`;
}

const root = document.getElementById("app");
render(html`<${Page}><p><i class="bone"></i></p><//>`, root);
try {
  const answer = await fetch("/v1/events");
  const told = await answer.json();
  render(html`<${Page}><${Events} events=${told.events ?? told} /><//>`, root);
} catch {
  render(html`<${Page}><p>The list cannot be reached right now. Reload the page in a moment.</p><//>`, root);
}
