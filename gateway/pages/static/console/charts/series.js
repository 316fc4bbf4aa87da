// The samples of one event: columns over one axis of time. Where nobody sampled there is a gap, and it stays one.

const ROWS_MAX = 6_000;
const GAP_STEPS = 3;
const STEP_MS_LEAST = 5_000;

export class Series {
  constructor() {
    /** @type {string[]} */
    this.columns = [];
    /** @type {(number | null)[][]} in order of time, which is each one's first */
    this.rows = [];
    this.step_ms = STEP_MS_LEAST;
  }

  /** @param {string[]} columns @param {(number | null)[][]} rows */
  reset(columns, rows) {
    this.columns = columns;
    this.rows = rows.slice(-ROWS_MAX);
    const steps = rows.slice(1).map(([at], index) => at - rows[index][0]).sort((a, b) => a - b);
    this.step_ms = Math.max(STEP_MS_LEAST, steps[steps.length >> 1] ?? 0);
  }

  /** The newest row; one of the same moment takes its place. @param {(number | null)[]} row */
  add(row) {
    const last = this.rows[this.rows.length - 1];
    if (last && row[0] < last[0]) return;
    if (last && row[0] === last[0]) this.rows.pop();
    this.rows.push(row);
    if (this.rows.length > ROWS_MAX) this.#thin();
  }

  /** Every second row of the older half goes. */
  #thin() {
    const half = this.rows.length >> 1;
    this.rows = this.rows.filter((_, index) => index >= half || index % 2 === 0);
  }

  /** The newest values by name; empty before there are any. @returns {Record<string, number | null>} */
  now() {
    const row = this.rows[this.rows.length - 1];
    return row ? Object.fromEntries(this.columns.map((name, index) => [name, row[index]])) : {};
  }

  /** From when to when, in seconds, the last so many ms are; all there is without. @param {number | null} window_ms @returns {[number, number]} */
  range(window_ms) {
    const last = this.rows[this.rows.length - 1]?.[0] ?? Date.now();
    const first = window_ms === null ? (this.rows[0]?.[0] ?? last) : last - window_ms;
    return [Math.min(first, last - 60_000) / 1000, last / 1000];
  }

  /** Rows within a range of seconds. @param {[number, number]} range */
  within([from, to]) {
    return this.rows.filter(([at]) => at >= from * 1000 && at <= to * 1000);
  }

  /** As a plot wants it: seconds, then a list for each name, with a row of nothing in each gap. @param {string[]} names @param {(number | null)[][]} rows */
  lists(names, rows) {
    const wanted = names.map((name) => this.columns.indexOf(name));
    const times = [];
    const lists = names.map(() => []);
    const push = (at, values) => {
      times.push(at / 1000);
      lists.forEach((list, index) => list.push(values ? (values[wanted[index]] ?? null) : null));
    };
    rows.forEach((row, index) => {
      const before = rows[index - 1];
      if (before && row[0] - before[0] > GAP_STEPS * this.step_ms) push(before[0] + this.step_ms, null);
      push(row[0], row);
    });
    return [times, ...lists];
  }
}
