// One webhook: how it stands, what was sent lately, what was not delivered, and what can be done about that.

import { counted } from "../../core/money.js";
import { Component, html } from "../../html.js";
import { Acting, whyOf } from "../acting.js";
import { newKey } from "../api.js";
import { Empty, Reading } from "../states.js";
import { ago, count, latency, moment } from "../words.js";
import { kindsWords } from "./kinds.js";
import { PATH, SecretOf, Standing } from "./page.js";

const EVERY_MS = 3_000;
const SAYS = { add: "added it", rotate: "gave it a new secret", disable: "switched it off", enable: "switched it on", replay: "sent messages again", test: "sent a test", remove: "removed it" };
const OUTCOMES = { delivered: ["good", "delivered"], failed: ["held", "failed"], set_aside: ["held", "set aside"], dead: ["gone", "given up"] };

/** @extends {Component<{webhook: string, api: any, ask: any, tell: any, session: any, go: any}>} */
export class WebhookPage extends Component {
  constructor(props) {
    super(props);
    this.state = { made: null };
    this.acting = new Acting(this);
  }

  #post = (does, body, done, options, undo) => this.acting.do(() => this.props.api.post(`${PATH}/${encodeURIComponent(this.props.webhook)}/${does}`, body, options), done, { undo });

  #turn = async (on) => {
    const says = on ? "It goes on where it was left: what became true meanwhile is sent in order." : "It is told nothing until it is switched on again. What becomes true meanwhile is kept for it for 30 days.";
    const said = await this.props.ask({ title: on ? "Switch it on?" : "Switch it off?", says, act: on ? "Switch it on" : "Switch it off", reason: true });
    if (said) await this.#post(on ? "enable" : "disable", { why: whyOf(said) }, on ? "It is told again." : "It is told nothing any more.", undefined, { words: on ? "Switch it off" : "Switch it on", act: () => this.#turn(!on) });
  };

  #again = async (message, dead) => {
    const what = message ? `message ${message}` : `all given-up messages (${count(dead)})`;
    const said = await this.props.ask({ title: `Send ${what} again?`, says: "Now, and with all its tries. Who took it already drops it by its id.", act: "Send again", reason: true });
    if (said) await this.#post("replay", { ...(message && { message }), why: whyOf(said) }, ({ messages }) => (messages.length ? `${counted(messages.length, "message")} will be sent again.` : "Nothing was left to send again."));
  };

  #rotate = async () => {
    const hours = html`<label class="field">The secret before signs too for<select name="hours"><option value="0">no time</option><option value="1">1 hour</option><option value="24" selected>1 day</option><option value="168">7 days</option></select></label>`;
    const said = await this.props.ask({ title: "A new secret?", says: "The new secret is shown once. While both count, messages have two signatures.", act: "Make a new secret", more: hours, reason: true });
    const made = said && (await this.#post("rotate", { overlap_hours: Number(said.hours), why: whyOf(said) }, "It has a new secret.", { key: newKey() }));
    if (made) this.setState({ made });
  };

  #remove = async (webhook) => {
    const says = ["It is told nothing any more; its log and what was not delivered are forgotten. Who did this stays in the audit.", "This cannot be taken back."];
    const said = await this.props.ask({ title: "Remove this webhook?", says: [webhook.url, ...says], act: "Remove it", danger: true, type: new URL(webhook.url).host, reason: true });
    if (said && (await this.#post("remove", { why: whyOf(said) }, `${webhook.url} was removed.`))) this.props.go("/console/webhooks");
  };

  render({ webhook, api, session }, { made, busy, turn }) {
    return html`<main class="page" id="content">
      <p><a href="/console/webhooks">Webhooks</a></p>
      <h1 tabindex="-1">Webhook ${webhook}</h1>
      ${made && html`<${SecretOf} key=${made.secret} made=${made} done=${() => this.setState({ made: null })} />`}
      <${Reading} key=${turn} api=${api} path=${`${PATH}/${encodeURIComponent(webhook)}`} every_ms=${EVERY_MS}>${({ subscriber, log, undelivered, audit }) => html`
        ${this.#head(subscriber, busy, session)}
        <${Failing} rows=${undelivered} busy=${busy} again=${subscriber.state === "active" ? (message) => this.#again(message, subscriber.dead) : null} dead=${subscriber.dead} />
        <${Log} rows=${log} />
        <${Changes} rows=${audit} />`}<//>
    </main>`;
  }

  #head(one, busy, session) {
    const owner = session.may("owner");
    const active = one.state === "active";
    return html`<section class="card" aria-label="How it stands">
      <p class="webhook-url">${one.url}</p>
      <dl class="lines"><div><dt>state</dt><dd><${Standing} webhook=${one} /></dd></div><div><dt>told of</dt><dd>${one.event ?? "all events"}: ${kindsWords(one.kinds)}</dd></div>
        <div><dt>last delivered</dt><dd>${one.delivered_at ? ago(one.delivered_at) : "never"}</dd></div>
        ${one.previous_secret_until && html`<div><dt>the secret before counts until</dt><dd>${moment(one.previous_secret_until)}</dd></div>`}</dl>
      <p class="card-end">${active && html`<button type="button" class="button main" disabled=${busy} onClick=${() => this.#post("test", { why: whyOf() }, ({ message }) => `A test goes out as ${message}; the log says what became of it.`, { key: newKey() })}>Send a test</button>`}
        <button type="button" class="button quiet" disabled=${busy} onClick=${() => this.#turn(!active)}>${active ? "Switch it off…" : "Switch it on…"}</button>
        ${owner && html`<button type="button" class="button quiet" disabled=${busy} onClick=${this.#rotate}>New secret…</button><button type="button" class="button quiet closes" disabled=${busy} onClick=${() => this.#remove(one)}>Remove…</button>`}</p>
      ${!owner && html`<p class="quiet-text">A new secret and removing it need the role owner.</p>`}</section>`;
  }
}

function Failing({ rows, dead, busy, again }) {
  return html`<section class="card" aria-labelledby="failing-title"><div class="page-head"><h2 id="failing-title">Not delivered</h2>
      ${dead > 0 && again && html`<button type="button" class="button quiet small" disabled=${busy} onClick=${() => again(null)}>Send all given-up ones again…</button>`}</div>
    ${!rows.length ? html`<p class="quiet-text">Everything arrived.</p>` : html`<table class="table"><thead><tr><th scope="col">Message</th><th scope="col">What became of it</th><th scope="col">Last answer</th><th scope="col"><span class="unseen">Change</span></th></tr></thead>
      <tbody>${rows.map((one) => html`<tr key=${one.message}><th scope="row">${one.message}<small class="below">${one.kind}${one.event ? ` of ${one.event}` : ""}</small></th>
        <td data-label="State">${one.state === "dead" ? html`<span class="standing gone">given up</span>` : html`<span class="standing held">tried again ${moment(one.next_at)}</span>`}<small class="below">${counted(one.attempts, "try", "tries")} since ${moment(one.first_at)}</small></td>
        <td data-label="Last answer">${one.status ?? "none"}${one.error ? html`<small class="below">${one.error}</small>` : ""}</td>
        <td>${again && html`<div class="cell-buttons"><button type="button" class="button quiet small" disabled=${busy} onClick=${() => again(one.message)}>Send again…<span class="unseen"> ${one.message}</span></button></div>`}</td></tr>`)}</tbody></table>`}</section>`;
}

function Log({ rows }) {
  return html`<section class="card" aria-labelledby="log-title"><h2 id="log-title">Sent lately</h2>
    ${!rows.length ? html`<${Empty} title="Nothing was sent yet"><p>Send a test to try it.</p><//>` : html`<table class="table"><thead><tr><th scope="col">Message</th><th scope="col">When</th><th scope="col">Outcome</th><th scope="col">Answer</th></tr></thead>
      <tbody>${rows.map((one) => html`<tr key=${`${one.message} ${one.attempt} ${one.at}`}><th scope="row">${one.message}<small class="below">${one.kind}${one.event ? ` of ${one.event}` : ""}</small></th><td data-label="When">${moment(one.at)}</td>
        <td data-label="Outcome"><span class=${`standing ${OUTCOMES[one.outcome]?.[0] ?? ""}`}>${OUTCOMES[one.outcome]?.[1] ?? one.outcome}</span>${one.attempt > 1 ? html`<small class="below">try ${one.attempt}</small>` : ""}</td>
        <td data-label="Answer">${one.status ?? "none"} in ${latency(one.took_ms)}${one.error ? html`<small class="below">${one.error}</small>` : ""}</td></tr>`)}</tbody></table>`}</section>`;
}

function Changes({ rows }) {
  return html`<section class="card" aria-labelledby="changes-title"><h2 id="changes-title">Who changed it</h2>
    <ol class="story-rows">${rows.map((row) => html`<li key=${row.id}><p><b>${row.who}</b> ${SAYS[row.what.change] ?? row.what.change}: “${row.why}”</p><small>${moment(row.at)}</small></li>`)}</ol></section>`;
}
