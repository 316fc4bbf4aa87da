// What a page changes: one call at a time, what came of it told in words, what it shows read anew.

import { html } from "../html.js";

/** Why something was done, where nobody said so. */
export const WHY = "in the console";

/** @param {{why?: string}} said */
export const whyOf = (said) => said?.why?.trim() || WHY;

/** Several paths read as one, for `Reading`: what they answered, by name. @param {any} api @param {Record<string, string>} paths */
export const together = (api, paths) => ({
  get: async (_, options) => Object.fromEntries(await Promise.all(Object.entries(paths).map(async ([name, path]) => [name, await api.get(path, options)]))),
});

/** Of one page; its state has `busy`, and `turn`, which grows with each change: what it read is read again by it. */
export class Acting {
  /** @param {import("../html.js").Component} page given `tell` */
  constructor(page) {
    this.page = page;
    page.state = { ...page.state, busy: false, turn: 0 };
  }

  /**
   * What the call answered, or null where it was refused: that is told, and stays until it is read.
   * @template T @param {() => Promise<T>} call @param {string | ((told: T) => string)} done @param {{undo?: {words: string, act: () => void}}} [how] @returns {Promise<T | null>}
   */
  async do(call, done, how = {}) {
    if (this.page.state.busy) return null;
    this.page.setState({ busy: true });
    try {
      const told = await call();
      const words = typeof done === "string" ? done : done(told);
      if (words) this.page.props.tell(words, how);
      return told;
    } catch (problem) {
      this.page.props.tell(problem.detail, { wrong: true });
      return null;
    } finally {
      this.page.setState(({ turn }) => ({ busy: false, turn: turn + 1 }));
    }
  }
}

/** Where a page of one event stands, and the way back. @param {{event: string, title: string, children?: any}} props */
export function EventHead({ event, title, children }) {
  return html`<p><a href=${`/console/e/${encodeURIComponent(event)}`}>${event}</a></p>
    <h1 tabindex="-1">${title}</h1>
    ${children && html`<p class="quiet-text">${children}</p>`}`;
}

/** A sentence for who may look and not act. @param {{role: string, what: string}} props */
export const NeedsRole = ({ role, what }) => html`<p class="quiet-text">${what} needs the role ${role}.</p>`;
