// The rules of an event, or of its waiting room: a field for each that can be changed now, in words what cannot, and why.

import { Component, createRef, html } from "../../html.js";
import { counted } from "../../core/money.js";
import { Check, Choice, Line } from "../create/fields.js";
import { keptFocus } from "../focus.js";
import { besideOf } from "./beside.js";
import { groupsOf, valueOf } from "./terms.js";
import { inItsUnits, KINDS, saidOf, wantedOf } from "./written.js";

/** @extends {Component<{kind: "policy" | "room", now: any, may: boolean, busy: boolean, saving: import("./saving.js").Saving}>} */
export class RulesForm extends Component {
  #form = createRef();
  state = { filled: {}, errors: {}, story: "" };

  /** What is filled in: those that are other now than they are, and what is wrong with the others. */
  #changes() {
    const { kind, now } = this.props;
    const changes = [];
    const wrong = {};
    for (const rule of groupsOf(kind, now).flatMap(([, rules]) => rules)) {
      if (rule.settled?.(now)) continue;
      const from = valueOf(kind, rule, now);
      const { value: to, wrong: why } = wantedOf(rule, this.state.filled[rule.name], from);
      if (why) wrong[rule.name] = why;
      else if (to !== from) changes.push({ rule, from, to });
    }
    return { changes, wrong };
  }

  #fill = (rule, value) => this.setState(({ filled, errors }) => {
    const { [rule.name]: _, limits, ...others } = errors;
    return { filled: { ...filled, [rule.name]: value }, errors: limits && rule.category === undefined ? { ...others, limits } : others, story: "" };
  });

  /** The button that did it is off then. */
  #forget(giveBack = keptFocus()) {
    this.setState({ filled: {}, errors: {}, story: "" }, giveBack);
  }

  #wrong(errors) {
    const count = Object.keys(errors).length;
    const story = `Nothing was changed. ${count === 1 ? "One thing is" : `${count} things are`} to be mended.`;
    this.setState({ errors, story }, () => this.#form.current?.querySelector("[aria-invalid=true]")?.focus());
  }

  #save = async (submitted) => {
    submitted.preventDefault();
    const { changes, wrong } = this.#changes();
    if (Object.keys(wrong).length) return this.#wrong(wrong);
    if (!changes.length || this.props.busy) return;
    const giveBack = keptFocus();
    const { done, errors } = await this.props.saving.save(changes, this.props.now);
    if (errors) this.#wrong(Object.fromEntries(Object.entries(errors).map(([name, says]) => [name, inItsUnits(changes.find(({ rule }) => rule.name === name)?.rule, says)])));
    else if (done) this.#forget(giveBack);
    else giveBack();
  };

  render({ kind, now, may, busy }, { story }) {
    const { changes, wrong } = this.#changes();
    const filled = changes.length + Object.keys(wrong).length;
    const groups = groupsOf(kind, now);
    const some = may && groups.some(([, rules]) => rules.some((rule) => !rule.settled?.(now)));
    return html`<form ref=${this.#form} class="stack" onSubmit=${this.#save} autocomplete="off" novalidate>
      ${groups.map(([title, rules]) => this.#group(title, rules))}
      ${some && html`<div class=${`rules-save ${filled ? "look-save" : ""}`}>
        ${story && html`<p class="create-problem" role="alert">${story}</p>`}
        <p class="card-end"><button class="button main" disabled=${busy || !filled}>${busy ? "Sending…" : filled ? `Save ${counted(filled, "change")}…` : "Nothing is changed"}</button>
        ${filled > 0 && html`<button type="button" class="button quiet" disabled=${busy} onClick=${() => this.#forget()}>As it is now</button>`}</p></div>`}
    </form>`;
  }

  #group(title, rules) {
    const { kind, now, may } = this.props;
    const id = `rules-${title.toLowerCase().replace(/\W+/g, "-")}`;
    const settled = (rule) => rule.settled?.(now) || "";
    const open = rules.filter((rule) => may && !settled(rule));
    const said = rules.filter((rule) => !open.includes(rule)).map((rule) => [rule.label, [rule.says, settled(rule)].filter(Boolean).join(" "), saidOf(rule, valueOf(kind, rule, now))]);
    const lines = [...said, ...besideOf(title, now)];
    return html`<section class="card" aria-labelledby=${id}><h2 id=${id}>${title}</h2>
      ${open.length > 0 && html`<div class="rules-fields">${open.map((rule) => this.#field(rule))}</div>`}
      ${lines.length > 0 && html`<dl class="lines rules-said">${lines.map(([label, says, value]) => html`<div key=${label}><dt><b>${label}</b><small>${says}</small></dt><dd>${value}</dd></div>`)}</dl>`}
    </section>`;
  }

  #field(rule) {
    const { kind, now } = this.props;
    const { filled, errors } = this.state;
    const from = valueOf(kind, rule, now);
    const { unit, mode, type, written } = KINDS[rule.kind];
    const other = rule.name in filled && wantedOf(rule, filled[rule.name], from).value !== from;
    const error = errors[rule.name] ?? (rule.category === undefined ? undefined : errors.limits);
    const shared = {
      key: rule.name, name: `rule-${rule.name}`, label: rule.label, change: (value) => this.#fill(rule, value),
      says: [rule.says, rule.hint, other && `Now: ${saidOf(rule, from)}.`].filter(Boolean).join(" "), error,
    };
    if (rule.kind === "allowed") return html`<${Check} ...${shared} value=${filled[rule.name] ?? from} />`;
    if (rule.kind === "choice") return html`<${Choice} ...${shared} value=${filled[rule.name] ?? from} choices=${rule.choices} />`;
    return html`<${Line} ...${shared} value=${filled[rule.name] ?? written(from)} unit=${unit} mode=${mode} type=${type} />`;
  }
}
