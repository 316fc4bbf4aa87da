// What a page shows while there is nothing to show: the shape of what comes, nothing there, refused.

import { Component, html } from "../html.js";

/** @param {{rows?: number}} props */
export function Bones({ rows = 3 }) {
  return html`<div class="bones" aria-busy="true"><p class="unseen">Loading</p>
    ${Array.from({ length: rows }, (_, row) => html`<div key=${row} class="card" aria-hidden="true"><i class="bone tall"></i><i class="bone"></i></div>`)}</div>`;
}

/** @param {{title: string, children: any}} props */
export function Empty({ title, children }) {
  return html`<div class="card empty"><h2>${title}</h2>${children}</div>`;
}

/** What was refused, and what to do. @param {{problem: import("./api.js").Problem, again?: () => void}} props */
export function Failed({ problem, again }) {
  const title = problem.status === 404 ? "There is no such thing" : problem.status === 403 ? "Your key may not see this" : problem.status ? "This could not be read" : "The server does not answer";
  return html`<div class="card empty" role="alert"><h2>${title}</h2><p>${problem.detail}</p>
    ${again && problem.status !== 403 && html`<p><button type="button" class="button quiet small" onClick=${again}>Ask again</button></p>`}</div>`;
}

/** The same name for one address, wherever it leads. */
export function NotFound() {
  return html`<main class="stop" id="content"><h1 tabindex="-1">There is no such page</h1>
    <p>The address may be mistyped, or the page has moved.</p><a class="button main" href="/console">See all launches</a></main>`;
}

/** A page that fails takes nothing else along: the way to other pages stays. @extends {Component<{title: string, children: any}>} */
export class Guarded extends Component {
  constructor(props) {
    super(props);
    this.state = { failed: null };
  }

  componentDidCatch(failed) {
    console.error(failed);
    this.setState({ failed });
  }

  render({ title, children }, { failed }) {
    if (!failed) return children;
    return html`<main class="stop" id="content"><h1 tabindex="-1">${title}</h1>
      <p role="alert">This page cannot show what it was told. Nothing was changed by that. Reload it; if it stays so, tell whoever keeps this installation: “${failed.message}”.</p>
      <button type="button" class="button main" onClick=${() => location.reload()}>Reload</button></main>`;
  }
}

/** What is folded away, and is not even made before somebody opens it. @extends {Component<{title: string, children: () => any}>} */
export class Fold extends Component {
  constructor(props) {
    super(props);
    this.state = { open: false };
  }

  render({ title, children }, { open }) {
    return html`<details onToggle=${(event) => this.setState({ open: event.target.open })}><summary>${title}</summary>${open && children()}</details>`;
  }
}

/**
 * Reads a path and shows what came: bones first, then what `children` makes of it; what was there stays while
 * it is asked again, also where nothing answers. `turn`: another one than before: something was changed, so it is
 * read at once. `children(data, again)`; `every_ms` may depend on what came.
 * @extends {Component<{api: import("./api.js").Api, path: string, every_ms?: number | ((data: any) => number), turn?: number, rows?: number, children: (data: any, again: () => void) => any}>}
 */
export class Reading extends Component {
  #cut = null;
  #timer = 0;

  constructor(props) {
    super(props);
    this.state = { data: null, problem: null };
  }

  componentDidMount() {
    this.read();
  }

  componentDidUpdate(before) {
    if (before.path !== this.props.path) {
      this.setState({ data: null, problem: null });
      this.read();
    } else if (before.turn !== this.props.turn) this.read();
  }

  componentWillUnmount() {
    this.#stop();
  }

  async read() {
    this.#stop();
    const cut = (this.#cut = new AbortController());
    const { api, path, every_ms } = this.props;
    let patch;
    try {
      patch = { data: await api.get(path, { signal: cut.signal }), problem: null };
    } catch (problem) {
      patch = { problem };
    }
    if (cut.signal.aborted) return;
    this.setState(patch);
    const shown = patch.data ?? this.state.data;
    const pause_ms = typeof every_ms === "function" ? shown && every_ms(shown) : every_ms;
    if (pause_ms) this.#timer = setTimeout(() => this.read(), pause_ms);
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#cut?.abort();
  }

  render({ children, rows }, { data, problem }) {
    const again = () => this.read();
    if (!data) return problem ? html`<${Failed} problem=${problem} again=${again} />` : html`<${Bones} rows=${rows} />`;
    return html`${problem && html`<p class="notice warn" role="status">${problem.detail} What you see is what was there before.</p>`}${children(data, again)}`;
  }
}
