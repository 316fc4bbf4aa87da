// Presale codes of an event's waiting room: how many there are and were used, making more, withdrawing some.

import { counted } from "../../core/money.js";
import { Component, html } from "../../html.js";
import { Acting, EventHead, NeedsRole, whyOf } from "../acting.js";
import { ofEvent } from "../api.js";
import { Once } from "../once.js";
import { Empty, Reading } from "../states.js";
import { count } from "../words.js";

const COUNT_MAX = 10_000;
const USES_MAX = 1_000_000;
/** So many can be named in one call. */
const NAMED_MAX = 500;
/** Of what an organiser's own site signs, not of codes. */
const INVITATION = "invitation";

/** @extends {Component<{event: string, api: any, ask: any, tell: any, session: any}>} */
export class CodesPage extends Component {
  constructor(props) {
    super(props);
    this.state = { made: null };
    this.acting = new Acting(this);
  }

  #path = (below = "") => ofEvent(this.props.event, `/room/codes${below}`);

  #make = async (submitted) => {
    submitted.preventDefault();
    const form = submitted.target;
    const said = Object.fromEntries(new FormData(form));
    const body = { label: said.label.trim(), count: Number(said.count), uses: Number(said.uses), why: whyOf(said) };
    const made = await this.acting.do(() => this.props.api.post(this.#path(), body), ({ codes, label }) => `${counted(codes.length, "code")} for ${label} ${codes.length === 1 ? "was" : "were"} made.`);
    if (!made) return;
    form.reset();
    this.setState({ made });
  };

  #revoke = async ({ label, codes, revoked, uses, uses_max }) => {
    const says = [
      `${counted(codes - revoked, "code")} let nobody in any more; ${counted(uses_max - uses, "use")} were left. Who is in line by one keeps their place and lane.`,
      "This cannot be taken back: make new ones instead.",
    ];
    const said = await this.props.ask({ title: `Withdraw the codes for ${label}?`, says, act: "Withdraw them", danger: true, type: label, reason: true });
    if (said) await this.acting.do(() => this.props.api.post(this.#path("/revoke"), { label, why: whyOf(said) }), revokedWords);
  };

  #revokeSome = async (submitted) => {
    submitted.preventDefault();
    const form = submitted.target;
    const codes = new FormData(form).get("codes").split("\n").map((one) => one.trim()).filter(Boolean);
    if (!codes.length || codes.length > NAMED_MAX) return this.props.tell(`Write 1 to ${NAMED_MAX} codes, one a line; you wrote ${count(codes.length)}.`, { wrong: true });
    const says = ["They let nobody in any more. Who is in line by one keeps their place and lane. If one of them is unknown, none is withdrawn.", "This cannot be taken back."];
    const said = await this.props.ask({ title: `Withdraw ${counted(codes.length, "code")}?`, says, act: "Withdraw them", danger: true, reason: true });
    const done = said && (await this.acting.do(() => this.props.api.post(this.#path("/revoke"), { codes, why: whyOf(said) }), revokedWords));
    if (done) form.reset();
  };

  render({ event, api, session }, { made, busy, turn }) {
    const may = session.may("operator");
    return html`<main class="page" id="content">
      <${EventHead} event=${event} title="Presale codes">Who joins the waiting room with a code stands in a line of its own. Only what codes are made of is kept, so nobody can look one up again.<//>
      <${Reading} api=${api} path=${ofEvent(event, "/launch")} rows=${1}>${({ room }) => (room ? html`
        ${made && html`<${Once} key=${made.codes[0]} title=${`${counted(made.codes.length, "code")} for ${made.label}`} label=${`Each lets in ${counted(made.uses, "buyer")}`} text=${made.codes.join("\n")} file=${`codes-${event}.txt`}
          says="Keep them now: they are shown this once. Nobody can read them again." done=${() => this.setState({ made: null })} />`}
        <${Reading} key=${turn} api=${api} path=${ofEvent(event, "/room")} rows=${2}>${({ codes }) => html`<${Labels} codes=${codes} busy=${busy} revoke=${may ? this.#revoke : null} />`}<//>
        ${may ? this.#forms(busy) : html`<${NeedsRole} role="operator" what="Making and withdrawing codes" />`}` : html`<${Empty} title="It has no waiting room"><p>Codes let buyers into a line of their own, and there is no line here. A waiting room is made with the event.</p><//>`)}<//>
    </main>`;
  }

  #forms(busy) {
    return html`<div class="columns">
      <section class="card" aria-labelledby="more-codes"><h2 id="more-codes">Make codes</h2>
        <form class="fields" onSubmit=${this.#make} autocomplete="off">
          <label class="field">For whom<input name="label" required maxlength="100" /></label>
          <div class="field-row"><label class="field">How many codes<input name="count" type="number" required min="1" max=${COUNT_MAX} defaultValue="50" /></label>
            <label class="field">Buyers a code lets in<input name="uses" type="number" required min="1" max=${USES_MAX} defaultValue="1" /></label></div>
          <label class="field"><span>Reason for the log <small>(may be left out)</small></span><input name="why" maxlength="200" /></label>
          <p class="card-end"><button class="button main" disabled=${busy}>${busy ? "Sending…" : "Make them"}</button></p></form></section>
      <section class="card" aria-labelledby="leaked"><h2 id="leaked">Withdraw single codes</h2>
        <p class="quiet-text">For codes that leaked. All of a label are withdrawn in the table.</p>
        <form class="fields" onSubmit=${this.#revokeSome}>
          <label class="field">Codes, one a line<textarea name="codes" required rows="4" spellcheck=${false} autocapitalize="characters"></textarea></label>
          <p class="card-end"><button class="button quiet closes" disabled=${busy}>Withdraw them…</button></p></form></section></div>`;
  }
}

function Labels({ codes, busy, revoke }) {
  if (!codes.length) return html`<${Empty} title="There are no codes"><p>Nobody can come in by one yet.</p><//>`;
  return html`<div class="card"><table class="table"><thead><tr><th scope="col">For</th><th scope="col" class="number">Codes</th><th scope="col" class="number">Used</th><th scope="col" class="number">Of</th><th scope="col">Withdrawn</th><th scope="col"><span class="unseen">Change</span></th></tr></thead>
    <tbody>${codes.map((one) => html`<tr key=${one.label}><th scope="row">${one.label}</th><td class="number" data-label="Codes">${count(one.codes)}</td><td class="number" data-label="Used">${count(one.uses)}</td><td class="number" data-label="Of">${count(one.uses_max)}</td>
      <td data-label="Withdrawn">${one.revoked === 0 ? "none" : one.revoked === one.codes ? "all" : `${count(one.revoked)}; ${count(one.uses_revoked)} uses were left`}</td>
      <td>${revoke && one.label !== INVITATION && one.revoked < one.codes && html`<div class="cell-buttons"><button type="button" class="button quiet small closes" disabled=${busy} onClick=${() => revoke(one)}>Withdraw<span class="unseen"> the codes for ${one.label}</span></button></div>`}</td></tr>`)}</tbody></table></div>`;
}

const revokedWords = ({ revoked }) => `${revoked.map(({ label, codes }) => `${counted(codes, "code")} for ${label}`).join("; ")}: withdrawn.`;
