// Webhooks: who is told what becomes true, how that goes, and subscribing one more.

import { Component, html } from "../../html.js";
import { Acting, NeedsRole, whyOf } from "../acting.js";
import { newKey } from "../api.js";
import { Once } from "../once.js";
import { Empty, Reading } from "../states.js";
import { ago, count } from "../words.js";
import { kindsWords } from "./kinds.js";
import { NewWebhook } from "./new.js";

export const PATH = "/v1/operator/webhooks";
const EVERY_MS = 5_000;

/** @extends {Component<{api: any, ask: any, tell: any, session: any, search: URLSearchParams}>} */
export class WebhooksPage extends Component {
  constructor(props) {
    super(props);
    this.state = { made: null };
    this.acting = new Acting(this);
  }

  #add = async (wanted) => {
    const made = await this.acting.do(() => this.props.api.post(PATH, { ...wanted, why: whyOf(wanted) }, { key: newKey() }), ({ subscriber }) => `${subscriber.url} is told from now on.`);
    if (made) this.setState({ made });
    return Boolean(made);
  };

  render({ api, session, search }, { made, busy, turn }) {
    return html`<main class="page" id="content">
      <h1 tabindex="-1">Webhooks</h1>
      <p class="quiet-text">Other programs are told what became true: an order was paid, money goes back, an event was moved. Each message is signed, and sent until it is taken.</p>
      ${made && html`<${SecretOf} key=${made.secret} made=${made} done=${() => this.setState({ made: null })} />`}
      <${Reading} key=${turn} api=${api} path=${PATH} every_ms=${EVERY_MS}>${({ webhooks }) => (webhooks.length ? html`<div class="card"><table class="table">
        <thead><tr><th scope="col">Address</th><th scope="col">Of what</th><th scope="col">State</th><th scope="col">Delivered</th><th scope="col">Not delivered</th></tr></thead>
        <tbody>${webhooks.map((one) => html`<tr key=${one.id}><th scope="row"><a href=${`/console/webhooks/${one.id}`}>${one.url}</a></th>
          <td data-label="Of what">${one.event ?? "all events"}<small class="below">${kindsWords(one.kinds)}</small></td>
          <td data-label="State"><${Standing} webhook=${one} /></td><td data-label="Delivered">${one.delivered_at ? ago(one.delivered_at) : "never"}</td>
          <td data-label="Not delivered"><${Undelivered} webhook=${one} /></td></tr>`)}</tbody></table></div>`
        : html`<${Empty} title="Nobody is told anything"><p>Nothing is subscribed.</p><//>`)}<//>
      ${session.may("owner") ? html`<${NewWebhook} event=${search.get("event") ?? ""} add=${this.#add} busy=${busy} />` : html`<${NeedsRole} role="owner" what="Adding one" />`}
    </main>`;
  }
}

/** Its secret, told when it is made. */
export function SecretOf({ made, done }) {
  return html`<${Once} title=${`The secret of ${made.subscriber.url}`} label="Signing secret" text=${made.secret} done=${done}
    says="Copy it now and give it to who receives the messages: they verify signatures by it. It is shown this once." />`;
}

/** @param {{webhook: any}} props */
export function Standing({ webhook }) {
  const { state, disabled_why, dead, waiting } = webhook;
  if (state === "disabled") return html`<span class="standing gone">switched off</span><small class="below">${disabled_why}</small>`;
  if (dead) return html`<span class="standing gone">loses messages</span>`;
  return waiting ? html`<span class="standing held">fails, is tried again</span>` : html`<span class="standing good">on</span>`;
}

function Undelivered({ webhook: { waiting, dead } }) {
  if (!waiting && !dead) return "nothing";
  return [waiting && `${count(waiting)} tried again`, dead && `${count(dead)} given up`].filter(Boolean).join(", ");
}
