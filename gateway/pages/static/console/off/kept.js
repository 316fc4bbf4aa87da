// Which sold seats another plan has, too: by their ids, in a category of the same name, and free there. Pure.

import { counted, listed } from "../../core/money.js";
import { readPlan } from "../../core/plan.js";

const SOLD = "s";
const FREE = "a";

/**
 * @param {{plan: any, seats: {states: string}, to_plan: any, to_seats: {states: string}}} read
 * @returns {{kept: number, lost: number, areas: string[], currency: string}} `areas`: standing areas that are not there; `currency`: why it cannot be moved at all, or nothing
 */
export function keptBy({ plan, seats, to_plan, to_seats }) {
  const [from, to] = [readPlan(plan), readPlan(to_plan)];
  const categories = new Set(to.categories.map(({ name }) => name));
  const areas = new Set(to.areas.map(({ guid }) => guid));
  const there = (one) => to.seatByGuid.get(one);
  const stays = (seat) => {
    const number = there(from.guid[seat]);
    return number !== undefined && to_seats.states[number] === FREE && categories.has(from.categories[from.category[seat]].name);
  };
  const sold = from.guid.map((_, seat) => seat).filter((seat) => seats.states[seat] === SOLD);
  const kept = sold.filter(stays).length;
  const away = from.areas.filter(({ guid, category }) => !areas.has(guid) || !categories.has(from.categories[category].name)).map(({ name }) => name);
  const currency = from.currency === to.currency ? "" : `This event is sold in ${from.currency} and the other in ${to.currency}: orders cannot be moved there. Cancel it instead.`;
  return { kept, lost: sold.length - kept, areas: away, currency };
}

/** @param {{kept: number, lost: number, areas: string[]}} kept */
export function keptWords({ kept, lost, areas }) {
  const sold = kept + lost;
  const seats = lost === 0 ? `All sold seats (${counted(sold, "seat")}) are free in the other event, too.` : `${kept.toLocaleString("en")} of ${counted(sold, "sold seat")} are free in the other event, too. Orders with one of the others are refunded whole.`;
  return areas.length ? `${seats} It has no ${listed(areas)}: orders with places there are refunded whole.` : seats;
}
