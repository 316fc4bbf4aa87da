// The fleet: machines and their workers, who decides for which event, and why that changed.

import { Component, html } from "../../html.js";
import { to } from "../api.js";
import { keptFocus } from "../focus.js";
import { Paged } from "../paged.js";
import { Empty, Reading } from "../states.js";
import { moment } from "../words.js";
import { Events } from "./events.js";
import { Hosts } from "./hosts.js";
import { moved } from "./moved.js";

const PATH = "/v1/operator/fleet";
const EVERY_MS = 2_000;
const WHY = "in the console";

/** @extends {Component<{api: any, ask: any, tell: any, session: any, go: any, search: URLSearchParams}>} */
export class FleetPage extends Component {
  constructor(props) {
    super(props);
    this.state = { busy: false, turn: 0 };
  }

  async #change(path, body, done, undo) {
    if (this.state.busy) return;
    const giveBack = keptFocus();
    this.setState({ busy: true });
    try {
      await this.props.api.post(path, { ...body, why: body.why || WHY });
      this.props.tell(done, { undo });
    } catch (problem) {
      this.props.tell(problem.detail, { wrong: true });
    }
    this.setState(({ turn }) => ({ busy: false, turn: turn + 1 }), giveBack);
  }

  async drain(host) {
    const says = ["Its events move to other hosts, one after the other, each after a finished batch; buyers notice nothing. It takes no new ones.", "You can keep it again at any moment."];
    const said = await this.props.ask({ title: `Drain ${host}?`, says, act: "Drain it", reason: true });
    if (said) this.#change(`${PATH}/hosts/${encodeURIComponent(host)}/drain`, said, `${host} gives its events away.`, { words: "Keep it", act: () => this.keep(host) });
  }

  async keep(host) {
    const said = await this.props.ask({ title: `Keep ${host}?`, says: "It takes events again.", act: "Keep it", reason: true });
    if (said) this.#change(`${PATH}/hosts/${encodeURIComponent(host)}/keep`, said, `${host} takes events again.`, { words: "Drain it", act: () => this.drain(host) });
  }

  async move(event, hosts) {
    const to_host = html`<label class="field">To<select name="to">${hosts.map(({ name, used, slots }) => html`<option key=${name} value=${name}>${name} (${used} of ${slots} slots used)</option>`)}</select></label>`;
    const said = await this.props.ask({ title: `Move ${event} to another host?`, says: "A worker there takes over after a finished batch; buyers notice nothing. You can move it again.", act: "Move it", more: to_host, reason: true });
    if (said) this.#change(`/v1/operator/events/${encodeURIComponent(event)}/fleet/move`, { to: said.to, why: said.why }, `${event} moves to ${said.to}.`);
  }

  render({ api, session, go, search }, { busy, turn }) {
    const may = session.may("operator");
    return html`<main class="page" id="content">
      <h1 tabindex="-1">Fleet</h1>
      <p class="quiet-text">A host is a machine; each of its slots runs one worker. Of the workers that attend to an event one owns it and decides; the others stand by and take over when it is gone.</p>
      <${Reading} api=${api} path=${PATH} every_ms=${EVERY_MS} turn=${turn}>${({ hosts, events, short }) => html`
        ${short && html`<p class="notice warn"><b>The fleet gives less than is wanted.</b>${short}</p>`}
        ${hosts.length ? html`<${Hosts} hosts=${hosts} may=${may} busy=${busy} drain=${(host) => this.drain(host)} keep=${(host) => this.keep(host)} />` : html`<${Empty} title="No machine has joined"><p>Start one with <code>./run worker --slots 4</code>. Until then whatever allocator runs decides for every event.</p><//>`}
        <${Events} events=${events} hosts=${hosts} may=${may} busy=${busy} move=${(event, free) => this.move(event, free)} />`}<//>
      <${Log} key=${turn} api=${api} go=${go} search=${search} />
    </main>`;
  }
}

function Log({ api, go, search }) {
  const asked = { event: search.get("event") ?? "", host: search.get("host") ?? "" };
  const filter = (submitted) => {
    submitted.preventDefault();
    const wanted = Object.fromEntries(new FormData(submitted.target));
    go(to("/console/fleet", { event: wanted.event.trim(), host: wanted.host.trim() }));
  };
  return html`<section class="card" aria-labelledby="log-title"><h2 id="log-title">What moved, and why</h2>
    <form class="field-row" onSubmit=${filter}>
      <label class="field">Event<input name="event" defaultValue=${asked.event} autocapitalize="off" spellcheck=${false} placeholder="all" /></label>
      <label class="field">Host<input name="host" defaultValue=${asked.host} autocapitalize="off" spellcheck=${false} placeholder="all" /></label>
      <button class="button quiet">Show</button></form>
    <${Paged} api=${api} path=${`${PATH}/log`} search=${asked} named="log" none=${html`<p class="quiet-text">Nothing has moved.</p>`}>${(rows) => html`<table class="table">
      <thead><tr><th scope="col">When</th><th scope="col">What</th><th scope="col">Why</th><th scope="col">By</th></tr></thead>
      <tbody>${rows.map((row) => html`<tr key=${row.id}><td data-label="When"><time datetime=${new Date(row.at).toISOString()}>${moment(row.at)}</time></td>
        <th scope="row">${moved(row)}</th><td data-label="Why">${row.why}</td><td data-label="By">${row.who}</td></tr>`)}</tbody></table>`}<//>
  </section>`;
}
