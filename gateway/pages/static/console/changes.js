// What an audit row changed, in words. Rows name what they did in `change`, and by what.

import { counted } from "../core/money.js";

const MODES = { auto: "shared or not by its load", hot: "always of its own", cold: "always shared" };
const SAYS = {
  "make room": () => "made the waiting room",
  room: ({ terms }) => `set ${listed(terms)}`,
  admission: ({ to }) => ({ running: "let people in again", paused: "paused letting in", stopped: "stopped letting in" })[to],
  message: ({ text }) => (text ? `told all who wait: “${text}”` : "took the message off"),
  look: () => "gave the room another look",
  codes: ({ count, label }) => `made ${counted(count, "presale code")} for ${label}`,
  "revoke codes": () => "revoked presale codes",
  block: (what) => `took ${places(what)} off sale`,
  unblock: (what) => `put ${places(what)} on sale again`,
  release: (what) => `took hold ${what.hold} from its buyer`,
  sell: (what) => `sold ${places(what)} by hand`,
  return: (what) => `took back ${places(what)} of order ${what.hold}`,
  recategorise: (what) => `moved ${places(what)} to ${what.category}`,
  prices: () => "set fees and tax",
  cancel: () => "canceled the event",
  "create event": () => "made the event",
  launch: ({ begin }) => `made the event with everything it needs, ${begin === "draft" ? "as a draft" : `and brought it to ${begin}`}`,
  rehearse: ({ buyers }) => `rehearsed it with ${counted(buyers, "buyer")}`,
  "save venue": ({ name, seats }) => `kept the plan ${name}: ${counted(seats, "seat")}`,
  state: ({ from, to }) => `brought the sale from ${from} to ${to}`,
  policy: ({ terms }) => `set ${listed(terms)}`,
  login: () => "logged in",
  logout: () => "logged out",
  "create key": ({ name, role }) => `made the key ${name} with the role ${role}`,
  "rotate key": ({ name }) => `gave the key ${name} a new secret`,
  "revoke key": ({ name }) => `revoked the key ${name}`,
  move: ({ to }) => `moved the event to ${to}`,
  scale: ({ workers, mode }) => `wanted ${counted(workers, "worker")}, ${MODES[mode] ?? mode}`,
  "drain host": ({ host }) => `drained ${host}`,
  "keep host": ({ host }) => `kept ${host}: it takes events again`,
  export: ({ what }) => `took the ${what} out as a file`,
  "erase buyer": ({ pseudonym }) => `erased a buyer's personal data; they are ${pseudonym} now`,
  "run chore": ({ chore }) => `ran the chore ${chore}`,
};

const termInWords = (value) => ({ true: "on", false: "off", null: "no limit" })[String(value)] ?? (typeof value === "object" ? JSON.stringify(value) : value);
const listed = (terms) => Object.entries(terms ?? {}).map(([name, value]) => `${name.replaceAll("_", " ")} to ${termInWords(value)}`).join(", ");

function places({ seats = [], areas = {} }) {
  const standing = Object.values(areas).reduce((sum, each) => sum + each, 0);
  const few = seats.length && seats.length <= 4 ? ` (${seats.join(", ")})` : "";
  const parts = [seats.length && counted(seats.length, "seat") + few, standing && counted(standing, "standing place")].filter(Boolean);
  return parts.join(" and ") || "nothing";
}

/** @param {Record<string, any>} what */
export function changeInWords(what) {
  const says = SAYS[what.change]?.(what);
  if (says) return says;
  const rest = Object.entries(what).filter(([name, value]) => name !== "change" && value !== null && typeof value !== "object");
  return [what.change ?? "changed something", ...rest.map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`)].join(", ");
}
