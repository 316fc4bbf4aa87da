// Rows that are read newest first, a page at a time, each page below the one before.

import { Component, html } from "../html.js";
import { to } from "./api.js";
import { Bones, Failed } from "./states.js";

const PAGE = 50;

/**
 * `children(rows)`; `named`: where the rows are in the answer; each row has an `id`.
 * @extends {Component<{api: any, path: string, search?: Record<string, string>, named: string, none: any, children: (rows: any[]) => any}>}
 */
export class Paged extends Component {
  constructor(props) {
    super(props);
    this.state = { rows: null, more: false, problem: null, reading: false };
  }

  componentDidMount() {
    this.read();
  }

  async read() {
    const { api, path, search, named } = this.props;
    const rows = this.state.rows ?? [];
    this.setState({ reading: true });
    try {
      const page = (await api.get(to(path, { ...search, before: rows[rows.length - 1]?.id, limit: PAGE })))[named];
      this.setState({ rows: [...rows, ...page], more: page.length === PAGE, problem: null, reading: false });
    } catch (problem) {
      this.setState({ problem, reading: false });
    }
  }

  render({ children, none }, { rows, more, problem, reading }) {
    return html`
      ${!rows && !problem && html`<${Bones} rows=${2} />`}
      ${rows?.length === 0 && none}
      ${rows?.length > 0 && children(rows)}
      ${problem && html`<${Failed} problem=${problem} again=${() => this.read()} />`}
      ${more && !problem && html`<p><button type="button" class="button quiet small" disabled=${reading} onClick=${() => this.read()}>Older ones</button></p>`}`;
  }
}
