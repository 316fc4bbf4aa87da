// What a row of the fleet's log tells, as a sentence.

const OF_EVENT = {
  assigned: (event, host) => `a worker${at(host)} attends to ${event}`,
  unassigned: (event, host) => `a worker${at(host)} no longer attends to ${event}`,
  preferred: (event, host) => `${event} is to be decided${at(host)}`,
  hot: (event) => `${event} became hot: it gets workers of its own`,
  cold: (event) => `${event} became cold: it shares a worker`,
  scaled: (event) => `${event} was scaled`,
  moved: (event, host) => `${event} moves${host ? ` to ${host}` : ""}`,
};
const OF_HOST = {
  joined: (host) => `${host} joined`,
  left: (host) => `${host} left`,
  lost: (host) => `${host} or a worker on it was lost`,
  started: (host) => `a worker${at(host)} was started`,
  stopped: (host) => `a worker${at(host)} was stopped`,
  draining: (host) => `${host} drains: it gives its events away`,
  kept: (host) => `${host} takes events again`,
};

const at = (host) => (host ? ` on ${host}` : "");

/** @param {{what: string, event: string | null, host: string | null}} row */
export function moved({ what, event, host }) {
  if (what === "short") return "what the fleet is short of changed";
  if (event && OF_EVENT[what]) return OF_EVENT[what](event, host);
  if (host && OF_HOST[what]) return `${OF_HOST[what](host)}${event ? `, for ${event}` : ""}`;
  return [what, event, host].filter(Boolean).join(" ");
}
