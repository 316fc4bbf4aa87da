// Demo only: a crowd against a few seats, to see that nobody is overtaken and nothing is sold twice.
// The gate on and the gate off stand side by side, each with its last run.

import { counted } from "../core/money.js";
import { Component, createRef, html } from "../html.js";
import { Latency } from "./latency.js";

const ASK_EVERY_MS = 400;
const ROUNDS = { on: "Fast gate on", off: "Fast gate off" };

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const number = (value, digits = 0) => (value ?? 0).toLocaleString("en", { maximumFractionDigits: digits });

/** Runs live longer than the dialog: closing it does not lose a result. */
const results = { on: null, off: null };

/** @extends {Component<{close: () => void}>} */
export class Stampede extends Component {
  dialog = createRef();
  state = { buyers: 1000, seats: 1, running: "", trouble: "" };

  componentDidMount() {
    this.dialog.current.showModal();
  }

  componentWillUnmount() {
    this.gone = true;
  }

  async run(gates) {
    this.setState({ trouble: "" });
    for (const gate of gates) {
      results[gate] = null;
      this.setState({ running: gate });
      try {
        results[gate] = await this.#one(gate);
      } catch (error) {
        this.setState({ trouble: error.message });
        break;
      }
      if (this.gone) return;
    }
    this.setState({ running: "" });
  }

  async #one(gate) {
    const { buyers, seats } = this.state;
    const body = JSON.stringify({ buyers, seats, gate });
    const headers = { "Content-Type": "application/json" };
    let run = await this.#ask("/v1/demo/stampede", { method: "POST", headers, body });
    const { id } = run;
    while (run.state === "running" && !this.gone) {
      await pause(ASK_EVERY_MS);
      run = await this.#ask(`/v1/demo/stampede/${id}`, { cache: "no-store" });
    }
    if (run.state === "failed") throw new Error(run.message);
    return run.result;
  }

  async #ask(path, options) {
    const answer = await fetch(path, options);
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.detail ?? "The stampede could not be started. Try again in a moment.");
    return told;
  }

  render({ close }, { buyers, seats, running, trouble }) {
    const pick = (name, values, unit) => html`<label>${unit}
      <select value=${this.state[name]} disabled=${running !== ""} onChange=${(change) => this.setState({ [name]: Number(change.target.value) })}>
        ${values.map((value) => html`<option value=${value} selected=${value === this.state[name]}>${number(value)}</option>`)}</select></label>`;
    return html`<dialog ref=${this.dialog} class="stampede" aria-labelledby="stampede-title" onClose=${close}>
      <header><h2 id="stampede-title">Stampede</h2>
        <button type="button" class="remove" aria-label="Close" onClick=${() => this.dialog.current.close()}>×</button></header>
      <p>${counted(buyers, "buyer")} ask for ${seats === 1 ? "the same seat" : `the same ${number(seats)} seats`} in the same moment.</p>
      <div class="stampede-wish">
        ${pick("buyers", [100, 1000, 5000], "Buyers")}${pick("seats", [1, 10, 100], "Seats")}
        <button type="button" class="button main" disabled=${running !== ""} onClick=${() => this.run(["on", "off"])}>Start</button>
      </div>
      <p class="trouble" role="alert">${trouble}</p>
      <div class="rounds" aria-live="polite">
        ${Object.entries(ROUNDS).map(([gate, title]) => html`<section key=${gate} aria-label=${title}>
          <h3>${title}</h3>
          ${running === gate ? html`<${Running} />` : html`<${Result} result=${results[gate]} />`}
        </section>`)}
      </div>
      ${(results.on || results.off) && html`<${Latency} rounds=${Object.entries(ROUNDS).map(([gate, title]) => ({ title, result: results[gate] }))} />`}
      <p class="quiet-text">With the gate on, those who could only be refused are told at once, without a place in the order.
        With it off, every request is queued, decided and written down.</p>
    </dialog>`;
  }
}

function Running() {
  return html`<div class="running" role="status">
    <progress aria-label="Under way"></progress>
    <p class="quiet-text">The buyers come in, ask, and every law is checked…</p>
  </div>`;
}

function Result({ result }) {
  if (!result) return html`<p class="quiet-text nothing-yet">Not run yet.</p>`;
  const calm = result.oversold === 0 && result.order_violations === 0;
  return html`
    <dl class="big">
      <div><dt>got ${result.seats === 1 ? "the seat" : "a seat"}</dt><dd>${number(result.held)}</dd></div>
      <div class=${result.oversold ? "wrong" : ""}><dt>sold twice</dt><dd>${number(result.oversold)}</dd></div>
      <div class=${result.order_violations ? "wrong" : ""}><dt>overtaken</dt><dd>${number(result.order_violations)}</dd></div>
    </dl>
    <p class=${calm ? "verdict" : "verdict wrong"}>${calm ? "✓ Exact: nothing twice, nobody overtaken." : "Something is wrong. Keep the ledger and look into it."}</p>
    <dl class="small-numbers">
      <div><dt>told no, in order</dt><dd>${number(result.rejected)}</dd></div>
      <div><dt>told at the gate</dt><dd>${number(result.not_queued)}</dd></div>
      <div><dt>without an answer</dt><dd>${number(result.unanswered)}</dd></div>
      <div><dt>first to last</dt><dd>${number(result.seconds_first_to_last, 2)} s</dd></div>
      <div><dt>decisions a second</dt><dd>${number(result.decisions_per_second)}</dd></div>
    </dl>`;
}
