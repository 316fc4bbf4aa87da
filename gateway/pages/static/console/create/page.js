// Creating an event in one sitting: a few steps, the sum of it always in view, and all of it made at once or
// not at all. What is filled in is kept in this browser until then.

import { Component, createRef, html } from "../../html.js";
import { bodyOf, errorsOf, slugOf, stepOf } from "./body.js";
import { Kept, emptyDraft } from "./draft.js";
import { PlanStep } from "./plan.js";
import { Made, Review } from "./review.js";
import { PricesStep, RoomStep, RulesStep, TextsStep, TimesStep } from "./steps.js";
import { Summary } from "./summary.js";

const STEPS = [["Name and plan", PlanStep], ["Prices", PricesStep], ["Times", TimesStep], ["Rules", RulesStep], ["Waiting room", RoomStep], ["Texts", TextsStep], ["Look over", Review]];
const LOOK_MS = 350;

/** @extends {Component<{api: any, go: (path: string) => void}>} */
export class CreatePage extends Component {
  heading = createRef();
  state = { draft: null, step: 0, seen: null, wrong: "", looking: false, errors: {}, venues: [], refused: "", making: false, made: null, sure: false };
  kept = new Kept();
  look_number = 0;

  async componentDidMount() {
    const draft = (await this.kept.read()) ?? emptyDraft();
    this.setState({ draft }, () => this.#look());
    this.props.api.get("/v1/operator/venues").then(({ venues }) => this.setState({ venues }), () => {});
  }

  componentWillUnmount() {
    clearTimeout(this.timer);
    this.kept.leave();
  }

  /** A part of the draft is another one now; where that is the plan's, it is looked at anew. */
  #set = (part, value) => {
    const draft = { ...this.state.draft, [part]: value };
    this.kept.write(draft);
    this.setState({ draft, errors: forgotten(this.state.errors, part), refused: "" });
    if (part !== "source" && part !== "reading") return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#look(), LOOK_MS);
  };

  #file = async (file) => {
    const number = (this.look_number += 1);
    const { draft } = this.state;
    this.setState({ looking: true, wrong: "" });
    const options = this.#options(draft);
    try {
      const seen = await this.props.api.post(`/v1/operator/venues/preview?${options}`, new Blob([file]));
      if (number !== this.look_number) return;
      const source = { ...draft.source, kind: "file", text: await file.text(), file_name: file.name };
      const next = { ...this.state.draft, source, name: this.state.draft.name || seen.holds.name.replace(/^Seating plan$/, "") };
      this.kept.write(next);
      this.setState({ draft: next, seen, wrong: "", looking: false, errors: {} });
    } catch (problem) {
      if (number === this.look_number) this.setState({ wrong: problem.detail, looking: false });
    }
  };

  #tooLarge = (file) => this.setState({ wrong: `${file.name} has ${Math.ceil(file.size / 2 ** 20).toLocaleString("en")} MiB; a plan may have at most 8. Nothing was sent.` });

  #options({ reading, name }) {
    const options = new URLSearchParams({ currency: reading.currency });
    if (name) options.set("name", name.slice(0, 100));
    if (reading.default_price.trim()) options.append("price", reading.default_price.trim());
    for (const [area, { capacity, category }] of Object.entries(reading.standing)) {
      if (String(capacity).trim() && category) options.append("area", `${area}=${capacity}:${category}`);
    }
    return options;
  }

  async #look() {
    const number = (this.look_number += 1);
    this.setState({ looking: true });
    let patch = { seen: null, wrong: "" };
    try {
      patch = { seen: await this.#seen(this.state.draft), wrong: "" };
    } catch (problem) {
      patch = { seen: null, wrong: problem.detail };
    }
    if (number === this.look_number) this.setState({ ...patch, looking: false });
  }

  async #seen(draft) {
    const { api } = this.props;
    const { source } = draft;
    if (source.kind === "file") return source.text ? api.post(`/v1/operator/venues/preview?${this.#options(draft)}`, new Blob([source.text])) : null;
    if (source.kind === "venue") return source.venue ? api.get(`/v1/operator/venues/${encodeURIComponent(source.venue)}`) : null;
    const { make } = bodyOf(draft, draft.reading.currency, "draft");
    return api.post("/v1/operator/venues/make/preview", make);
  }

  #go(step) {
    this.setState({ step }, () => this.heading.current?.focus());
  }

  #make = async (begin) => {
    const { draft, seen, making } = this.state;
    if (making) return;
    this.setState({ making: true, refused: "" });
    try {
      const made = await this.props.api.post("/v1/operator/launches", bodyOf(draft, seen?.holds.currency ?? draft.reading.currency, begin));
      await this.kept.forget();
      this.setState({ made, making: false, errors: {} });
    } catch (problem) {
      const errors = errorsOf(problem);
      const steps = Object.keys(errors).map(stepOf);
      this.setState({ making: false, errors, refused: steps.length ? `Nothing was made. ${steps.length === 1 ? "One thing is" : `${steps.length} things are`} to be mended.` : problem.detail });
      if (steps.length) this.#go(Math.min(...steps));
    }
  };

  /** Asked once more before what was filled in is forgotten. */
  #anew = async () => {
    if (!this.state.sure) return this.setState({ sure: true });
    await this.kept.forget();
    this.look_number += 1;
    this.setState({ draft: emptyDraft(), step: 0, seen: null, wrong: "", errors: {}, refused: "", sure: false });
  };

  render({ go }, state) {
    const { draft, step, seen, errors, made, refused } = state;
    if (made) return html`<main class="page create" id="content"><${Made} made=${made} go=${go} /></main>`;
    if (!draft) return html`<main class="page create" id="content" aria-busy="true"><h1 tabindex="-1">Create an event</h1></main>`;
    const [title, Step] = STEPS[step];
    const wrongIn = (number) => Object.keys(errors).filter((field) => stepOf(field) === number).length;
    return html`<main class="page create" id="content">
      <div class="page-head"><h1 tabindex="-1">Create an event</h1>
        ${state.sure && html`<button type="button" class="button quiet small" onClick=${() => this.setState({ sure: false })}>Keep it</button>`}
        <button type="button" class="button quiet small" onClick=${this.#anew}>${state.sure ? "Forget all of this" : "Start over"}</button></div>
      <nav class="create-steps" aria-label="Steps"><ol>${STEPS.map(([words], number) => html`<li key=${words}><button type="button" aria-current=${number === step ? "step" : undefined} onClick=${() => this.#go(number)}>
        <span>${number + 1}</span> ${words}${wrongIn(number) > 0 && html` <b class="field-error">${wrongIn(number)} to mend</b>`}</button></li>`)}</ol></nav>
      ${refused && html`<p class="create-problem" role="alert">${refused}</p>`}
      <div class="create-body">
        <section class="card create-step" aria-labelledby="create-title"><h2 id="create-title" ref=${this.heading} tabindex="-1">${title}</h2>
          <${Step} ...${state} set=${this.#set} file=${this.#file} tooLarge=${this.#tooLarge} make=${this.#make} go=${(number) => this.#go(number)} />
          <p class="create-next">${step > 0 && html`<button type="button" class="button quiet" onClick=${() => this.#go(step - 1)}>Back</button>`}
            ${step < STEPS.length - 1 && html`<button type="button" class="button main" onClick=${() => this.#go(step + 1)}>Next: ${STEPS[step + 1][0]}</button>`}</p>
        </section>
        <${Summary} draft=${draft} seen=${seen} looking=${state.looking} slug=${draft.slug || slugOf(draft.name)} />
      </div></main>`;
  }
}

/** What was said about a part that is changed now is no longer so. */
function forgotten(errors, part) {
  const of = { name: /^event\.name|^event\.slug/, slug: /^event\.slug/, source: /^(plan|make|venue)/, reading: /^(plan|make)|currency/, prices: /^prices/, times: /^event\.(lobby_opens|opens|starts)_at/, room: /^(room|codes|look|message)/, texts: /^(look|message)/ }[part] ?? /^event\.(?!slug|name|lobby_opens_at|opens_at|starts_at)/;
  return Object.fromEntries(Object.entries(errors).filter(([field]) => !of.test(field)));
}
