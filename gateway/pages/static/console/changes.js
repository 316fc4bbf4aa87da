// What an audit row changed, in words. Rows name what they did in `change`, and by what.

import { counted } from "../core/money.js";
import { count, moment } from "./words.js";

const MODES = { auto: "shared or not by its load", hot: "always of its own", cold: "always shared" };
const ADMITS = { running: "let people in again", paused: "paused letting in", stopped: "stopped letting in" };
const SAYS = {
  "make room": () => "made the waiting room",
  room: ({ terms }) => `set ${listed(terms)}`,
  admission: ({ to }) => ADMITS[to],
  message: ({ text }) => (text ? `told all who wait: “${text}”` : "took the message off"),
  look: () => "gave the room another look",
  codes: ({ count, label }) => `made ${counted(count, "presale code")} for ${label}`,
  "revoke codes": ({ revoked = [] }) => `revoked presale codes${revoked.length ? ` (${revoked.map(({ label, codes }) => `${count(codes)} for ${label}`).join(", ")})` : ""}`,
  block: (what) => `took ${places(what)} off sale`,
  unblock: (what) => `put ${places(what)} on sale again`,
  release: (what) => `took hold ${what.hold} from its buyer`,
  sell: (what) => `sold ${places(what)} by hand`,
  return: (what) => `took back ${places(what)} of order ${what.hold}`,
  recategorise: (what) => `moved ${places(what)} to ${what.category}`,
  prices: () => "set fees and tax",
  cancel: () => "canceled the event: its orders are taken back and paid back",
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
  move: ({ to }) => `called the event off and moved its orders to ${to}`,
  "move to host": ({ to }) => `moved it to the host ${to}`,
  scale: ({ workers, mode }) => `wanted ${counted(workers, "worker")}, ${MODES[mode] ?? mode}`,
  "drain host": ({ host }) => `drained ${host}`,
  "keep host": ({ host }) => `kept ${host}: it takes events again`,
  export: ({ what }) => `took the ${what} out as a file`,
  "erase mails": ({ rows }) => `erased ${counted(rows.mail, "mail")} to addresses of a buyer`,
  "erase buyer": ({ pseudonym }) => `erased a buyer's personal data; they are ${pseudonym} now`,
  "run chore": ({ chore }) => `ran the chore ${chore}`,
  "create tour": ({ tour }) => `made the tour ${tour}`,
  "join tour": ({ tour }) => `made it a date of the tour ${tour}`,
  "add webhook": ({ webhook, url }) => `made webhook ${webhook}, which tells ${url}`,
  "remove webhook": ({ webhook, url }) => `removed webhook ${webhook}, which told ${url}`,
  "rotate webhook": ({ webhook }) => `gave webhook ${webhook} a new secret`,
  "disable webhook": ({ webhook }) => `stopped webhook ${webhook}`,
  "enable webhook": ({ webhook }) => `let webhook ${webhook} go on`,
  "replay webhook": ({ webhook, messages }) => `had ${counted(messages, "message")} of webhook ${webhook} tried again`,
  "test webhook": ({ webhook }) => `sent webhook ${webhook} a test`,
};

/** Terms of an event and of its waiting room, and what their values count in. @type {Record<string, [string, string?]>} */
const TERMS = {
  hold_ttl_seconds: ["time of a hold", "s"], offer_ttl_seconds: ["time of an offer", "s"], seats_per_buyer_max: ["most seats a buyer"], fast_gate: ["fast gate"],
  extensions_max: ["times a hold is extended"], extension_seconds: ["time of an extension", "s"], limits: ["limits by category"], payment: ["paying"],
  late_payment: ["late money"], returns_allowed: ["returning tickets"], transfers_allowed: ["giving tickets away"], starts_at: ["when it takes place"],
  lobby_opens_at: ["when its lobby opens"], opens_at: ["when the sale opens"],
  figures_on_page: ["figures on its page"], policy: ["who is first"], ballot: ["wishes before the sale"], pace: ["pace"], shopping_max: ["most inside"],
  begin_seconds: ["time to come in", "s"], shopping_seconds: ["time to choose", "s"], more_begin_max: ["times more to come in"],
  more_shopping_max: ["times more to choose"], proof: ["proof of work"], proof_above_per_minute: ["joins a minute that ask for proof"],
};
const VALUES = { true: "on", false: "off", null: "no limit", draw: "a draw", fifo: "who joins first", reacquire: "tries for the same seats", refund: "goes back" };

const byName = (of) => Object.entries(of).map(([name, most]) => `${name} ${most}`).join(", ") || "none";
function termInWords([name, value]) {
  const [words, unit] = TERMS[name] ?? [name.replaceAll("_", " ")];
  const said = value === null && name.endsWith("_at") ? "by hand" : VALUES[String(value)] ?? (typeof value === "number" ? count(value) : typeof value === "object" ? byName(value) : name.endsWith("_at") ? moment(value) : value);
  return `${words} to ${said}${unit && typeof value === "number" ? ` ${unit}` : ""}`;
}
const listed = (terms) => Object.entries(terms ?? {}).map(termInWords).join(", ");

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
