// How the waiting room looks and speaks: name, colour, language, texts, beside the room as buyers will see it.

import { Component, html } from "../../html.js";
import { Acting, EventHead, NeedsRole, WHY } from "../acting.js";
import { ofEvent } from "../api.js";
import { allTheSame, changedBy } from "../quicker.js";
import { Bones, Empty, Failed } from "../states.js";
import { Preview } from "./preview.js";
import { Texts } from "./texts.js";

const COLOUR = /^#[0-9a-f]{6}$/i;
/** What the picker shows while there is no colour: the pages' own. */
const OWN_COLOUR = "#2f4fc4";
const empty = { name: "", accent: "", lang: "", texts: {} };

/** Without what is left empty, as it is kept. */
const kept = ({ texts, ...look }) => {
  const own = Object.fromEntries(Object.entries(texts).filter(([, text]) => text.trim()));
  return { ...Object.fromEntries(Object.entries(look).map(([name, value]) => [name, value.trim()]).filter(([, value]) => value)), ...(Object.keys(own).length && { texts: own }) };
};
const same = (one, other) => JSON.stringify(sorted(kept({ ...empty, ...one }))) === JSON.stringify(sorted(kept({ ...empty, ...other })));
const sorted = ({ name, accent, lang, texts = {} }) => [name, accent, lang, Object.entries(texts).sort()];

/** @extends {Component<{event: string, api: any, ask: any, tell: any, session: any}>} */
export class LookPage extends Component {
  constructor(props) {
    super(props);
    this.state = { now: null, look: empty, problem: null, missing: false, wrong: "" };
    this.acting = new Acting(this);
  }

  componentDidMount() {
    this.#read(true);
  }

  /** How it stands, and its edition; `all`: what is filled in becomes that. */
  #read = async (all) => {
    const { api, event } = this.props;
    try {
      const { room } = await api.get(ofEvent(event, "/launch"));
      if (!room) return this.setState({ missing: true });
      const now = await api.get(ofEvent(event, "/room"));
      this.setState({ now, problem: null, ...(all && { look: { ...empty, ...now.look } }) });
      return now;
    } catch (problem) {
      this.setState({ problem });
      return null;
    }
  };

  #set = (patch) => this.setState(({ look }) => ({ look: { ...look, ...patch }, wrong: "" }));

  #send = async (submitted) => {
    submitted.preventDefault();
    const { look, now } = this.state;
    if (look.accent && !COLOUR.test(look.accent.trim())) return this.setState({ wrong: "Write the colour as #2f4fc4: six digits or letters a to f." });
    await this.#save(kept(look), now.room.edition, now.look);
  };

  /** Who was slower is shown who changed the room, and may save all the same. */
  #save = async (look, edition, before) => {
    const { api, event } = this.props;
    const send = async () => {
      try {
        return { room: await api.put(ofEvent(event, "/room/look"), { look, edition, why: WHY }) };
      } catch (problem) {
        if (problem.code === "room_changed") return { changed: true };
        throw problem;
      }
    };
    const undo = { words: "As it was before", act: () => this.#back(before) };
    const done = await this.acting.do(send, ({ changed }) => (changed ? "" : "Buyers see it so within a second."), { undo });
    if (done?.changed) return this.#asked(look);
    if (done) await this.#read(true);
  };

  #back = async (before) => {
    const now = await this.#read(false);
    if (now) await this.#save(before, now.room.edition, now.look);
  };

  #asked = async (look) => {
    const { api, ask, event } = this.props;
    const [now, by] = await Promise.all([this.#read(false), changedBy(api, event)]);
    if (!now) return;
    const how = same(now.look, look) ? "It looks now as you want it." : "If you save yours all the same, the look they gave it is gone.";
    const said = await allTheSame(ask, [by, how, "Yours was not saved."], { act: "Save mine all the same" });
    if (said) await this.#save(look, now.room.edition, now.look);
  };

  render({ event, session }, { now, look, problem, missing, wrong, busy }) {
    const may = session.may("operator");
    return html`<main class="page" id="content">
      <${EventHead} event=${event} title="Look of the waiting room">Your name, colour and words. Buyers who wait see a change within a second.<//>
      ${missing ? html`<${Empty} title="It has no waiting room"><p>There is nothing to give a look to. A waiting room is made with the event.</p><//>`
        : !now ? (problem ? html`<${Failed} problem=${problem} again=${() => this.#read(true)} />` : html`<${Bones} rows=${2} />`)
        : html`<div class="look">
          <form class="look-form" onSubmit=${this.#send} autocomplete="off">
            <section class="card" aria-labelledby="look-title"><h2 id="look-title">Name and colour</h2>
              <label class="field"><span>Your name <small>(above your messages)</small></span><input value=${look.name} readonly=${!may} maxlength="100" onInput=${(event) => this.#set({ name: event.target.value })} /></label>
              <div class="field-row"><label class="field"><span>Your colour <small>(nothing: onsale's)</small></span><input value=${look.accent} readonly=${!may} placeholder=${OWN_COLOUR} maxlength="7" spellcheck=${false} aria-invalid=${Boolean(wrong)} onInput=${(event) => this.#set({ accent: event.target.value })} /></label>
                ${may && html`<label class="field look-picker">Pick it<input type="color" value=${COLOUR.test(look.accent) ? look.accent : OWN_COLOUR} onInput=${(event) => this.#set({ accent: event.target.value })} /></label>`}
                <label class="field"><span>Language <small>(such as de)</small></span><input value=${look.lang} readonly=${!may} placeholder="en" maxlength="12" spellcheck=${false} autocapitalize="off" onInput=${(event) => this.#set({ lang: event.target.value })} /></label></div>
              <p class="quiet-text">Pages darken or lighten the colour as far as it must be to be read.</p>
              <p role="alert" class="wrong-text">${wrong}</p></section>
            <${Texts} texts=${look.texts} may=${may} set=${(texts) => this.#set({ texts })} />
            ${may ? html`<p class="look-save"><button class="button main" disabled=${busy || same(now.look, look)}>${busy ? "Sending…" : "Save: buyers see it"}</button>
              ${!same(now.look, look) && html`<button type="button" class="button quiet" onClick=${() => this.setState({ look: { ...empty, ...now.look }, wrong: "" })}>As it is now</button>`}</p>` : html`<div class="look-save"><${NeedsRole} role="operator" what="Changing the look" /></div>`}
          </form>
          <${Preview} look=${look} room=${now.room} /></div>`}
    </main>`;
  }
}
