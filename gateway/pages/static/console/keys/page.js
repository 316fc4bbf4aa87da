// Operator keys: who may come in, as what, for which events, until when. A secret is shown once.

import { Component, html } from "../../html.js";
import { keptFocus } from "../focus.js";
import { Once } from "../once.js";
import { Empty, Reading } from "../states.js";
import { ago, moment } from "../words.js";
import { NewKey } from "./new.js";

const PATH = "/v1/operator/keys";
const HOUR_SECONDS = 3_600;

/** @extends {Component<{api: any, ask: any, tell: any, session: any}>} */
export class KeysPage extends Component {
  constructor(props) {
    super(props);
    this.state = { made: null, revoked: false, turn: 0, busy: false };
  }

  /** A change, then the list as it is by then. */
  async #change(call, done) {
    if (this.state.busy) return null;
    const giveBack = keptFocus();
    this.setState({ busy: true });
    try {
      const told = await call();
      this.props.tell(done);
      return told;
    } catch (problem) {
      this.props.tell(problem.detail, { wrong: true });
      return null;
    } finally {
      this.setState(({ turn }) => ({ busy: false, turn: turn + 1 }), giveBack);
    }
  }

  async #create(wanted) {
    const made = await this.#change(() => this.props.api.post(PATH, wanted), `The key ${wanted.name} was made.`);
    if (made) this.setState({ made });
    return Boolean(made);
  }

  async #rotate(key) {
    const grace = html`<label class="field">The secret before goes on for<select name="grace"><option value="0">no time: it ends at once</option><option value=${HOUR_SECONDS}>1 hour</option><option value=${24 * HOUR_SECONDS} selected>1 day</option></select></label>`;
    const said = await this.props.ask({ title: `A new secret for ${key.name}?`, says: "The new secret is shown once. Whoever uses the key must be given it before the one before ends.", act: "Make a new secret", more: grace, reason: true });
    if (!said) return;
    const made = await this.#change(() => this.props.api.post(`${PATH}/${key.id}/rotate`, { grace_seconds: Number(said.grace), ...why(said) }), `${key.name} has a new secret.`);
    if (made) this.setState({ made });
  }

  async #revoke(key) {
    const own = key.name === this.props.session.state.name ? ["This is the key you are logged in with: you will be logged out."] : [];
    const said = await this.props.ask({ title: `Revoke the key ${key.name}?`, says: ["It lets nobody in any more, within seconds; sessions begun with it end.", "This cannot be taken back. Make a new key instead.", ...own], act: "Revoke the key", danger: true, type: key.name, reason: true });
    if (said) await this.#change(() => this.props.api.post(`${PATH}/${key.id}/revoke`, why(said)), `${key.name} was revoked.`);
  }

  render({ api }, { made, revoked, turn, busy }) {
    return html`<main class="page" id="content">
      <div class="page-head"><h1 tabindex="-1">Keys</h1>
        <button type="button" class="button quiet small" aria-pressed=${revoked} onClick=${() => this.setState({ revoked: !revoked })}>${revoked ? "Hide revoked ones" : "Show revoked ones"}</button></div>
      ${made && html`<${Once} key=${made.secret} title=${`The key of ${made.key.name}`} label="Operator key" text=${made.secret} done=${() => this.setState({ made: null })}
        says="Copy it now and give it to whoever is to use it. It is shown this once: nobody can read it again." />`}
      <${Reading} turn=${turn} api=${api} path=${`${PATH}${revoked ? "?revoked=true" : ""}`}>${({ keys }) => (keys.length ? html`<div class="card"><table class="table">
        <thead><tr><th scope="col">Name</th><th scope="col">Role</th><th scope="col">For</th><th scope="col">Until</th><th scope="col">Used</th><th scope="col">Made</th><th scope="col"><span class="unseen">Change</span></th></tr></thead>
        <tbody>${keys.map((key) => html`<tr key=${key.id}><th scope="row">${key.name}</th><td data-label="Role">${key.role}</td>
          <td data-label="For">${key.events ? key.events.join(", ") : "all events"}</td>
          <td data-label="Until">${until(key)}</td><td data-label="Used">${key.last_used_at ? ago(key.last_used_at) : "never"}</td>
          <td data-label="Made">${moment(key.created_at)} by ${key.created_by}</td>
          <td><div class="cell-buttons">${key.state === "active" && html`<button type="button" class="button quiet small" disabled=${busy} onClick=${() => this.#rotate(key)}>New secret<span class="unseen"> for ${key.name}</span></button>`}
            ${key.state !== "revoked" && html`<button type="button" class="button quiet small closes" disabled=${busy} onClick=${() => this.#revoke(key)}>Revoke<span class="unseen"> ${key.name}</span></button>`}</div></td></tr>`)}</tbody></table></div>`
        : html`<${Empty} title="No keys"><p>You came in by the key the gateway was started with. Make one for each person.</p><//>`)}<//>
      <${NewKey} create=${(wanted) => this.#create(wanted)} busy=${busy} />
    </main>`;
  }
}

const why = (said) => (said.why ? { why: said.why } : {});

function until({ state, expires_at, revoked_at, revoked_by, previous_until }) {
  if (state === "revoked") return `revoked ${moment(revoked_at)} by ${revoked_by}`;
  if (state === "expired") return `ran out ${moment(expires_at)}`;
  const before = previous_until ? `; the secret before until ${moment(previous_until)}` : "";
  return `${expires_at ? moment(expires_at) : "no end"}${before}`;
}
