// Who decides for this launch: its owner, who stands by, how many workers it wants, and moving it to another host.

import { Component, html } from "../../html.js";
import { Fold, Reading } from "../states.js";
import { spell } from "../words.js";
import { scaleWords } from "./moves.js";

const WORKERS_MAX = 8;

/** @param {{now: any, launch: any, levers: import("./moves.js").Levers, may: boolean, api: any}} props */
export function Scale({ now, launch, levers, may, api }) {
  const { owner, standbys } = launch;
  const { fleet } = now;
  return html`<section class="card" aria-labelledby="scale-title">
    <h2 id="scale-title">Who decides</h2>
    <dl class="lines">
      <div><dt>owner</dt><dd>${owner ? html`${owner.process}<small>${owner.host && owner.host !== owner.process.split(/[:/]/)[0] ? ` on ${owner.host}` : ""}, heard ${owner.renewed_seconds_ago < 2 ? "just now" : `${spell(owner.renewed_seconds_ago)} ago`}; owner number ${owner.epoch} of this event</small>` : "nobody"}</dd></div>
      ${standbys?.length ? standbys.map((one) => html`<div key=${one.process}><dt>stands by</dt><dd>${one.process}<small>${one.warm ? " ready to take over at once" : " still reading up"}</small></dd></div>`) : html`<div><dt>stands by</dt><dd>nobody</dd></div>`}
    </dl>
    <p class="quiet-text">Wanted: ${scaleWords(fleet)}. ${fleet.hot ? "It is hot: it has workers of its own." : "It is cold: it shares workers."}</p>
    ${may && html`<${ScaleForm} key=${fleet.edition} fleet=${fleet} levers=${levers} />`}
    ${may && html`<${Fold} title="Move it to another host">${() => html`<${Reading} api=${api} path="/v1/operator/fleet" rows=${1}>${({ hosts }) => html`<${MoveForm} hosts=${hosts} owner=${owner} levers=${levers} />`}<//>`}<//>`}
    <p><a href="/console/fleet">See the whole fleet</a></p>
  </section>`;
}

/** @extends {Component<{fleet: any, levers: import("./moves.js").Levers}>} */
class ScaleForm extends Component {
  constructor(props) {
    super(props);
    this.state = { workers: props.fleet.workers, mode: props.fleet.mode };
  }

  render({ fleet, levers }, { workers, mode }) {
    const same = workers === fleet.workers && mode === fleet.mode;
    const set = (submitted) => {
      submitted.preventDefault();
      levers.scale({ workers, mode }, fleet);
    };
    return html`<form class="field-row" onSubmit=${set}>
      <label class="field">Workers<select value=${workers} onChange=${(event) => this.setState({ workers: Number(event.target.value) })}>
        ${Array.from({ length: WORKERS_MAX }, (_, index) => html`<option key=${index} value=${index + 1} selected=${workers === index + 1}>${index + 1}${index === 0 ? ": nobody stands by" : ""}</option>`)}</select></label>
      <label class="field">Of its own or shared<select value=${mode} onChange=${(event) => this.setState({ mode: event.target.value })}>
        <option value="auto" selected=${mode === "auto"}>as its load says</option><option value="hot" selected=${mode === "hot"}>of its own, always</option><option value="cold" selected=${mode === "cold"}>shared, always</option></select></label>
      <button class="button main" disabled=${same || Boolean(levers.sending)}>Scale</button>
    </form>`;
  }
}

function MoveForm({ hosts, owner, levers }) {
  const others = hosts.filter((host) => host.alive && !host.draining && host.name !== owner?.host);
  if (!others.length) return html`<p class="quiet-text">There is no other host that takes events.</p>`;
  const move = (submitted) => {
    submitted.preventDefault();
    levers.toHost(new FormData(submitted.target).get("host"));
  };
  return html`<form class="field-row" onSubmit=${move}>
    <label class="field">Host<select name="host">${others.map((host) => html`<option key=${host.name} value=${host.name}>${host.name} (${host.used} of ${host.slots} slots used)</option>`)}</select></label>
    <button class="button quiet" disabled=${Boolean(levers.sending)}>Move</button>
  </form>`;
}
