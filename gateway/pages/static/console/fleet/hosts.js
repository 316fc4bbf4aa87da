// Machines, their workers, and taking a machine out or in again.

import { counted } from "../../core/money.js";
import { html } from "../../html.js";
import { memory, spell } from "../words.js";

/** @param {{hosts: any[], may: boolean, busy: boolean, drain: (host: string) => void, keep: (host: string) => void}} props */
export function Hosts({ hosts, may, busy, drain, keep }) {
  return html`<section class="card" aria-labelledby="hosts-title"><h2 id="hosts-title">Hosts</h2><table class="table">
    <thead><tr><th scope="col">Host</th><th scope="col">State</th><th scope="col">Slots</th><th scope="col">Memory</th><th scope="col">Load</th><th scope="col">Workers</th><th scope="col"><span class="unseen">Change</span></th></tr></thead>
    <tbody>${hosts.map((host) => html`<tr key=${host.name}><th scope="row">${host.name}<small class="below">onsale ${host.version}</small></th>
      <td data-label="State"><${HostState} host=${host} /></td>
      <td data-label="Slots">${host.used} of ${host.slots} used</td>
      <td data-label="Memory">${memory(host.memory_bytes)}${host.memory_bytes_max ? ` of ${memory(host.memory_bytes_max)}` : ""}</td>
      <td data-label="Load">${host.load === null ? "–" : `${host.load.toFixed(2)} a core`}</td>
      <td><${Workers} workers=${host.workers} /></td>
      <td>${may && html`<div class="cell-buttons">${host.draining ? html`<button type="button" class="button quiet small" disabled=${busy} onClick=${() => keep(host.name)}>Keep<span class="unseen"> ${host.name}</span></button>` : html`<button type="button" class="button quiet small" disabled=${busy} onClick=${() => drain(host.name)}>Drain<span class="unseen"> ${host.name}</span></button>`}</div>`}</td></tr>`)}</tbody></table></section>`;
}

function HostState({ host }) {
  if (!host.alive) return html`<span class="standing gone">not heard of for ${spell((Date.now() - new Date(host.seen_at).getTime()) / 1000)}</span>`;
  if (host.last_resort) return html`<span class="standing held">draining, but no other host is there: takes events until one is</span>`;
  return host.draining ? html`<span class="standing held">draining: gives its events away</span>` : html`<span class="standing good">takes events</span>`;
}

function Workers({ workers }) {
  if (!workers.length) return html`<span class="quiet-text">no worker</span>`;
  return html`<ul class="workers">${workers.map((worker) => html`<li key=${worker.id}><b>${worker.process ?? "is being started"}</b>${worker.process && !worker.alive ? html` <span class="standing gone">gone</span>` : worker.stopping ? html` <span class="standing held">ends</span>` : ""}
    <small>${worker.process ? `${memory(worker.memory_bytes)}${worker.cpu === null ? "" : `, ${worker.cpu.toFixed(2)} cores`}; ` : ""}${worker.events.length ? (worker.events.length > 3 ? counted(worker.events.length, "event") : worker.events.join(", ")) : "no event"}</small></li>`)}</ul>`;
}
