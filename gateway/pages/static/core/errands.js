// What would be said on the socket, said over HTTP: each frame is one call, and its answer is the frame that the
// socket would have brought. Pure.

/** Of answers that come without a word when to ask again. */
const RETRY_SECONDS = 2;
const ANSWERS = {
  join: "place", begin: "place", more_time: "place", leave_line: "place", wish: "wish", waiting: "waiting", leave: "left",
  confirm: "hold", release: "hold", extend: "hold",
};
const ROOM = { join: "join", begin: "begin", more_time: "more-time", leave_line: "leave" };

/**
 * @typedef {{method: string, path: string, body?: any, headers?: Record<string, string>}} Call its path below the event's
 * @typedef {{status: number, body: any, retry_seconds: number}} Answer the body: what was read as JSON, or null
 */

/** @param {any} frame @returns {Call} */
export function callOf(frame) {
  const { type, id, hold, again: _, ...rest } = frame;
  const body = Object.keys(rest).length ? rest : undefined;
  if (type in ROOM) return { method: "POST", path: `/room/${ROOM[type]}`, body };
  if (type === "wish") return "want" in rest ? { method: "PUT", path: "/room/wish", body: rest.want } : { method: "GET", path: "/room/wish" };
  if (type === "request") return { method: "POST", path: "/requests", body, headers: { "Idempotency-Key": id } };
  if (type === "waiting") return { method: "GET", path: "/waiting" };
  if (type === "leave") return { method: "POST", path: `/waiting/${id}/leave` };
  return { method: "POST", path: `/holds/${hold}/${type}`, body };
}

/** What became of a request. @param {string} id @param {number} wait_ms so long the server waits for its decision @returns {Call} */
export const fateOf = (id, wait_ms) => ({ method: "GET", path: `/requests/${id}?wait_ms=${wait_ms}` });

/** The frame that this answer is; null where it says nothing to anybody. @param {any} frame @param {Answer} answer */
export function frameOf(frame, { status, body, retry_seconds }) {
  const { type, id, hold } = frame;
  if (status >= 400) return refusalOf(frame, status, body ?? {}, retry_seconds);
  if (type !== "request") return { ...body, type: ANSWERS[type] };
  return status === 202 ? { type: "accepted", id, arrival: body.arrival } : body;
}

function refusalOf({ type, id, hold, want }, status, { code, detail: message, ...more }, retry_seconds) {
  if (code === "not_queued") return { ...more, type: "not_queued", id };
  if (code === "unknown_request") return { type: "unknown", id };
  if (type === "waiting" || (type === "wish" && want === undefined)) return null; // it is asked again by itself
  const busy = status === 429 || status >= 500;
  const retry_after = retry_seconds || (busy ? RETRY_SECONDS : 0);
  return { type: "error", code, message, ...(id && { id }), ...(hold && { hold }), ...(retry_after && { retry_after }) };
}

/** Of two maps of the seats the frame that makes one of the other. @param {any} before @param {any} now */
export function changesOf(before, { batch_no, states, areas, held_until }) {
  const changed = [];
  for (let seat = 0; seat < states.length; seat += 1) if (states[seat] !== before?.states[seat]) changed.push([seat, states[seat]]);
  return { type: "seats", batch_no, changed, areas: areas.map((free, area) => [area, free]), held_until };
}
