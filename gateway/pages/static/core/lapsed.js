// Holds that ran out. After an outage the server gives them the lost time back and says so: then they are
// this buyer's again. So they are where a payment was answered after all.

/** @typedef {import("./holds.js").Hold} Hold */

/** So many are remembered. */
const LAPSED_MAX = 100;

export class Lapsed {
  /** @param {import("./orders.js").Orders} orders */
  constructor(orders) {
    this.orders = orders;
    /** @type {Hold[]} as they were */
    this.holds = [];
  }

  /** @param {Hold} hold @returns {string} its id */
  add(hold) {
    const kept = { ...hold, wish: /** @type {Hold["wish"]} */ (""), frame: undefined, unsure: false };
    this.holds = [...this.holds, kept].slice(-LAPSED_MAX);
    return hold.id;
  }

  /** A hold the server says of that it runs or is bought. @param {{hold: string, state: string}} frame @returns {Hold | undefined} */
  again({ hold: id, state }) {
    const hold = state === "active" || state === "paid" ? this.holds.find((one) => one.id === id) : undefined;
    if (!hold) return undefined;
    this.holds = this.holds.filter((one) => one !== hold);
    this.orders.over = this.orders.over.filter((one) => one !== id);
    this.orders.restore([...this.orders.holds, hold]);
    this.orders.sale.paying.runsAgain(hold);
    return hold;
  }
}
