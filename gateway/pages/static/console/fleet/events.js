// Who decides for each event, who stands by, and how busy it is.

import { html } from "../../html.js";
import { counted } from "../../core/money.js";
import { count, latency, perSecond, spell } from "../words.js";

const HANDLED = { auto: "by its load", hot: "its own, by hand", cold: "shared, by hand" };

/** @param {{events: any[], hosts: any[], may: boolean, busy: boolean, move: (event: string, hosts: any[]) => void}} props */
export function Events({ events, hosts, may, busy, move }) {
  const takes = hosts.filter((host) => host.alive && !host.draining);
  return html`<section class="card" aria-labelledby="events-title"><h2 id="events-title">Events</h2>
    ${events.length ? html`<table class="table">
      <thead><tr><th scope="col">Event</th><th scope="col">Decides</th><th scope="col">Stand by</th><th scope="col">Wanted</th><th scope="col">Load</th><th scope="col"><span class="unseen">Change</span></th></tr></thead>
      <tbody>${events.map((one) => html`<tr key=${one.event}><th scope="row"><a href=${`/console/e/${encodeURIComponent(one.event)}`}>${one.event}</a><small class="below">${one.hot ? "hot: workers of its own" : "cold: shares workers"}</small></th>
        <td data-label="Decides">${one.owner ? html`${one.owner.process ?? "a process without a name"}<small class="below">${one.owner.host ? `on ${one.owner.host}, ` : ""}owner number ${one.owner.epoch}, heard ${one.owner.renewed_seconds_ago < 2 ? "just now" : `${spell(one.owner.renewed_seconds_ago)} ago`}</small>` : html`<span class="standing gone">nobody</span>`}</td>
        <td data-label="Stand by">${one.standbys.length ? one.standbys.map((standby) => html`<span key=${standby.worker} class="below">${standby.host}${standby.warm ? ", ready" : ", reading up"}</span>`) : "nobody"}</td>
        <td data-label="Wanted">${counted(one.workers, "worker")}, ${HANDLED[one.mode]}</td>
        <td data-label="Load">${one.load ? html`${perSecond(one.load.decided_per_second)} decided a second<small class="below">${count(one.load.undecided)} undecided; ${one.load.latency_ms_p99 === null ? "none decided lately" : `99 in 100 within ${latency(one.load.latency_ms_p99)}`}</small>` : "–"}</td>
        <td>${may && elsewhere(takes, one).length > 0 && html`<div class="cell-buttons"><button type="button" class="button quiet small" disabled=${busy} onClick=${() => move(one.event, elsewhere(takes, one))}>Move<span class="unseen"> ${one.event}</span></button></div>`}</td></tr>`)}</tbody></table>`
      : html`<p class="quiet-text">No event needs to be attended to just now.</p>`}</section>`;
}

const elsewhere = (hosts, { owner }) => hosts.filter((host) => host.name !== owner?.host);
