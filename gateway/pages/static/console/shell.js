// What every page of the console stands in: header, navigation, who is logged in, the page, what is asked and told.

import { Component, html } from "../html.js";
import { Asking } from "./dialog.js";
import { LoginAgain, LoginPage } from "./login.js";
import { find, Router } from "./router.js";
import { ROUTES } from "./routes.js";
import { Bones, Failed, Guarded, NotFound } from "./states.js";
import { Toasts } from "./toasts.js";
import { spell } from "./words.js";

const ROLE_SAYS = {
  viewer: "You may look at everything and change nothing.",
  operator: "You may change sales and the fleet.",
  owner: "You may change everything, keys and people's data too.",
};

/** @extends {Component<{api: import("./api.js").Api, session: import("./session.js").Session, live: import("./live.js").Live}>} */
export class Shell extends Component {
  /** @type {Asking} */
  #asking;
  /** @type {Toasts} */
  #toasts;

  constructor(props) {
    super(props);
    this.router = new Router(() => this.#moved());
    this.state = { View: null, of: null, problem: null };
    this.ask = (question) => this.#asking.ask(question);
    this.tell = (words, how) => this.#toasts.tell(words, how);
    this.go = (path) => this.router.go(path);
  }

  componentDidMount() {
    const { session, live } = this.props;
    let before = session.state.phase;
    session.changed = () => {
      const { phase } = session.state;
      this.setState({});
      if (phase === "in" && before !== "in") live.again();
      before = phase;
    };
    addEventListener("online", () => live.again());
    document.addEventListener("visibilitychange", () => document.hidden || live.again());
    live.changed = () => this.setState({});
    this.#load();
  }

  async #load() {
    const found = find(ROUTES, this.router.path);
    document.title = `${found ? (found.params.event ?? found.route.title) : "Not found"} · Console`;
    this.setState({ View: null, of: found, problem: null });
    if (!found) return;
    try {
      const View = await found.route.view();
      if (this.state.of === found) this.setState({ View: () => View });
    } catch {
      const detail = "A file of this page did not come. Is the server reachable? If it was renewed just now, reload the page.";
      if (this.state.of === found) this.setState({ problem: { status: 0, detail } });
    }
  }

  async #moved() {
    this.#asking.dismiss();
    await this.#load();
    requestAnimationFrame(() => document.querySelector("#content h1")?.focus({ preventScroll: true }));
  }

  async #leave() {
    try {
      await this.props.session.leave();
    } catch (problem) {
      this.tell(problem.detail, { wrong: true });
    }
  }

  render({ session, live }) {
    const { phase } = session.state;
    const inside = phase === "in" || phase === "ended";
    return html`
      <a class="skip" href="#content">Skip to the page</a>
      ${inside && this.#header()}
      ${inside && live.state.link === "away" && phase === "in" && html`<${Away} since=${live.state.heard_at} />`}
      ${phase === "asking" && html`<main class="stop" id="content"><h1>Operators' console</h1><p role="status">${session.state.story || "One moment."}</p></main>`}
      ${phase === "out" && html`<${LoginPage} session=${session} />`}
      ${inside && this.#page()}
      ${phase === "ended" && html`<${LoginAgain} session=${session} />`}
      <${Asking} there=${(asking) => (this.#asking = asking)} />
      <${Toasts} there=${(toasts) => (this.#toasts = toasts)} />`;
  }

  #header() {
    const { session } = this.props;
    const { name, role } = session.state;
    const here = this.state.of?.route.path;
    const shown = ROUTES.filter((route) => route.nav && session.may(route.needs));
    return html`<header class="top">
      <nav aria-label="Console"><ul>
        ${shown.map((route) => html`<li key=${route.path}><a href=${route.path} aria-current=${here === route.path ? "page" : undefined}>${route.nav}</a></li>`)}
      </ul></nav>
      <p class="who" title=${ROLE_SAYS[role]}><span class="unseen">Logged in as </span><b>${name}</b><span class="role">${role}</span><span class="unseen">. ${ROLE_SAYS[role]}</span></p>
      <button type="button" class="button quiet small" onClick=${() => this.#leave()}>Log out</button>
    </header>`;
  }

  #page() {
    const { api, session, live } = this.props;
    const { of, View, problem } = this.state;
    if (!of) return html`<${NotFound} />`;
    if (!session.may(of.route.needs)) return html`<${NotAllowed} route=${of.route} role=${session.state.role} />`;
    if (problem) return html`<main class="page" id="content"><h1>${of.route.title}</h1><${Failed} problem=${problem} again=${() => this.#load()} /></main>`;
    if (!View) return html`<main class="page" id="content"><h1 tabindex="-1">${of.route.title}</h1><${Bones} /></main>`;
    const Page = View();
    const { ask, tell, go } = this;
    const search = new URLSearchParams(location.search);
    return html`<${Guarded} key=${this.router.address} title=${of.route.title}><${Page} ...${of.params} ...${{ api, session, live, ask, tell, go, search }} /><//>`;
  }
}

function NotAllowed({ route, role }) {
  return html`<main class="stop" id="content"><h1 tabindex="-1">${route.title}</h1>
    <p>Your key has the role ${role}; this page needs ${route.needs}. Ask an owner for a key that may, and log in with it.</p>
    <a class="button main" href="/console">See all launches</a></main>`;
}

/** Calmly: nothing is lost, the sale goes on without this page. @extends {Component<{since: number}>} */
class Away extends Component {
  componentDidMount() {
    this.timer = setInterval(() => this.setState({}), 1000);
  }

  componentWillUnmount() {
    clearInterval(this.timer);
  }

  render({ since }) {
    const old = since ? ` What you see is ${spell(Math.max(1, (Date.now() - since) / 1000))} old.` : "";
    return html`<p class="away"><i class="pulse" aria-hidden="true"></i><span role="status">Reconnecting. The sale goes on without this page.</span><span>${old}</span></p>`;
  }
}
