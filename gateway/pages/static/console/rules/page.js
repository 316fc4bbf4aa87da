// The rules of an event that is made, and the terms of its waiting room: what each does to buyers, and what can be
// changed of it now.

import { Component, html } from "../../html.js";
import { Acting, EventHead, NeedsRole, together } from "../acting.js";
import { ofEvent } from "../api.js";
import { Bones, Empty, Failed } from "../states.js";
import { RulesForm } from "./form.js";
import { Saving } from "./saving.js";

const AGAIN_MS = 20_000;

/** @extends {Component<{event: string, api: any, ask: any, tell: any, session: any}>} */
export class RulesPage extends Component {
  constructor(props) {
    super(props);
    this.state = { now: null, problem: null };
    this.acting = new Acting(this);
    const { event, api, ask, tell } = props;
    const shared = { event, api, ask, tell, acting: this.acting, look: this.look };
    this.saving = { policy: new Saving({ ...shared, kind: "policy" }), room: new Saving({ ...shared, kind: "room" }) };
  }

  componentDidMount() {
    this.look();
  }

  componentWillUnmount() {
    this.gone = true;
    clearTimeout(this.timer);
  }

  /** How it stands now, read again and again: what colleagues change is seen without asking; null where nothing answers. */
  look = async () => {
    clearTimeout(this.timer);
    const { event, api } = this.props;
    const paths = { live: ofEvent(event, "/launch"), prices: ofEvent(event, "/prices"), open: `/v1/events/${encodeURIComponent(event)}` };
    let now = null;
    let problem = null;
    try {
      const { live, prices, open } = await together(api, paths).get();
      const { state, policy, room, launch } = live;
      const { lobby_opens_at, opens_at } = state;
      now = { event, state: state.value, policy: { ...policy, lobby_opens_at, opens_at }, room, launch, tour: open.tour, categories: prices.categories.map(({ category }) => category) };
    } catch (refused) {
      problem = refused;
    }
    if (this.gone) return null;
    clearTimeout(this.timer);
    this.timer = setTimeout(this.look, AGAIN_MS);
    this.setState({ problem, ...(now && { now }) });
    return now;
  };

  render({ event, session }, { now, problem, busy }) {
    const may = session.may("operator");
    const shared = { now, may, busy };
    return html`<main class="page rules" id="content">
      <${EventHead} event=${event} title="Rules">What holds for buyers. A change counts from then on, and takes nothing from who has it.<//>
      ${!may && html`<${NeedsRole} role="operator" what="Changing a rule" />`}
      ${problem && now && html`<p class="notice warn" role="status">${problem.detail} What you see is what was there before.</p>`}
      ${!now ? (problem ? html`<${Failed} problem=${problem} again=${this.look} />` : html`<${Bones} rows=${3} />`)
        : html`<div class="columns">
          <${RulesForm} key="policy" kind="policy" ...${shared} saving=${this.saving.policy} />
          ${now.room ? html`<${RulesForm} key="room" kind="room" ...${shared} saving=${this.saving.room} />`
            : html`<${Empty} title="It has no waiting room"><p>Everybody comes in at once. A room is made while an event is a draft: with the event, or by <code>./run room make ${event} --why …</code></p><//>`}
        </div>`}
    </main>`;
  }
}
