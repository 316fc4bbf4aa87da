// The samples of one event: columns over one axis of time. Where nobody sampled there is a gap, and it stays one.
// What is old is kept as coarsely as a history tells it, so a page may be open for days.

const ROWS_MAX = 3_000;
/** Of them after the old ones were thinned. */
const KEPT_MAX = 2_500;
/** Rows of the last half hour are some seconds apart, older ones a stretch (docs/console-feed.md). */
const FINE_MS = 30 * 60_000;
const STEP_MS = 5_000;
const STRETCH_MS = 90_000;
/** So many steps without a row are a gap. */
const GAP_STEPS = 3;
const RANGE_MS_LEAST = 60_000;

export class Series {
  constructor() {
    /** @type {string[]} */
    this.columns = [];
    /** @type {(number | null)[][]} in order of time, which is each one's first */
    this.rows = [];
  }

  /** @param {string[]} columns @param {(number | null)[][]} rows */
  reset(columns, rows) {
    this.columns = columns;
    this.rows = rows.slice(-KEPT_MAX);
  }

  /** The newest row; one of the same moment takes its place. @param {(number | null)[]} row */
  add(row) {
    const last = this.rows[this.rows.length - 1];
    if (last && row[0] < last[0]) return;
    if (last && row[0] === last[0]) this.rows.pop();
    this.rows.push(row);
    if (this.rows.length > ROWS_MAX) this.#thin();
  }

  /** Of what is old the last of each stretch stays. */
  #thin() {
    const stretch = ([at]) => Math.floor(at / STRETCH_MS);
    const stays = (row, index) => !this.#isOld(row) || stretch(row) !== stretch(this.rows[index + 1]);
    this.rows = this.rows.filter(stays).slice(-KEPT_MAX);
  }

  #isOld([at]) {
    return at < this.rows[this.rows.length - 1][0] - FINE_MS;
  }

  /** The newest values by name; empty before there are any. @returns {Record<string, number | null>} */
  now() {
    const row = this.rows[this.rows.length - 1];
    return row ? Object.fromEntries(this.columns.map((name, index) => [name, row[index]])) : {};
  }

  /**
   * From when to when, in seconds: the last so many ms, or all there is; never from before there was anything.
   * @param {number | null} window_ms @returns {[number, number]}
   */
  range(window_ms) {
    const last = this.rows[this.rows.length - 1]?.[0] ?? Date.now();
    const first = Math.max(this.rows[0]?.[0] ?? last, last - (window_ms ?? Infinity));
    return [Math.min(first, last - RANGE_MS_LEAST) / 1000, last / 1000];
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
      const step_ms = before && this.#isOld(before) ? STRETCH_MS : STEP_MS;
      if (before && row[0] - before[0] > GAP_STEPS * step_ms) push(before[0] + step_ms, null);
      push(row[0], row);
    });
    return [times, ...lists];
  }
}
