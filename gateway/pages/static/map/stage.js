// The stage: at the focal point, facing the middle of the house; a disc where people sit all around.

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

/**
 * @typedef {object} Stage
 * @property {number} x
 * @property {number} y
 * @property {number} half its width, halved
 * @property {number} front how far it reaches toward the house
 * @property {number} back how far it reaches away from it
 * @property {boolean} round
 * @property {number} angle 0 when the house is below it
 */

/** @param {import("../core/plan.js").Venue} venue @returns {Stage} */
export function stageOf(venue) {
  const { x, y } = venue.focal;
  const parts = housesOf(venue);
  const near = Math.min(...parts.map(({ distance }) => distance));
  const middle = parts.reduce((sum, part) => ({ x: sum.x + part.x * part.weight, y: sum.y + part.y * part.weight }), { x: 0, y: 0 });
  const away = Math.hypot(middle.x - x, middle.y - y);
  const size = Math.min(Math.max(near, venue.pitch * 1.5), venue.pitch * 14);
  const round = away < size * 0.8;
  const floor = Math.max(0, ...venue.areas.map((area) => area.width)) * 0.3;
  const half = round ? size * 0.6 : Math.max(size * 1.15, floor);
  const back = round ? half : Math.max(size * 0.22, half * 0.28);
  return { x, y, half, front: round ? half : size * 0.42, back, round, angle: Math.atan2(middle.y - y, middle.x - x) - Math.PI / 2 };
}

/** Seats together and each area: where they are, how near to the focal point, how much they count. */
function housesOf(venue) {
  const { x, y } = venue.focal;
  const areas = venue.areas.map((area) => ({
    x: area.x + area.width / 2,
    y: area.y + area.height / 2,
    distance: Math.hypot(Math.max(area.x - x, 0, x - area.x - area.width), Math.max(area.y - y, 0, y - area.y - area.height)),
  }));
  const seats = { x: 0, y: 0, distance: Infinity };
  for (let seat = 0; seat < venue.count; seat += 1) {
    seats.x += venue.x[seat] / venue.count;
    seats.y += venue.y[seat] / venue.count;
    seats.distance = Math.min(seats.distance, Math.hypot(venue.x[seat] - x, venue.y[seat] - y));
  }
  const parts = venue.count ? [seats, ...areas] : areas;
  return parts.map((part) => ({ ...part, weight: 1 / parts.length }));
}

/** Bounds of the venue with its stage. @param {import("../core/plan.js").Bounds} bounds @param {Stage} stage */
export function withStage(bounds, { x, y, half, front, back }) {
  const reach = Math.max(front, back);
  const sideways = Math.max(half, reach);
  return {
    left: Math.min(bounds.left, x - sideways),
    right: Math.max(bounds.right, x + sideways),
    top: Math.min(bounds.top, y - reach * 1.2),
    bottom: Math.max(bounds.bottom, y + reach),
  };
}

/** In plan units: the context is already moved and scaled. @param {CanvasRenderingContext2D} ctx @param {Stage} stage */
export function paintStage(ctx, { x, y, half, front, back, round, angle }, palette, scale) {
  ctx.save();
  ctx.translate(x, y);
  ctx.fillStyle = palette.stage;
  ctx.beginPath();
  if (round) {
    ctx.arc(0, 0, half, 0, 2 * Math.PI);
  } else {
    ctx.rotate(angle);
    ctx.moveTo(-half, -back);
    ctx.lineTo(half, -back);
    ctx.lineTo(half * 0.88, front * 0.4);
    ctx.quadraticCurveTo(0, front * 1.6, -half * 0.88, front * 0.4);
    ctx.closePath();
  }
  ctx.fill();
  const upside = !round && Math.cos(angle) < 0;
  if (upside) ctx.rotate(Math.PI);
  const font_px = Math.min(15, (front + back) * scale * 0.42);
  if (font_px >= 8) {
    ctx.font = `600 ${font_px / scale}px ${FONT}`;
    ctx.letterSpacing = `${(font_px * 0.12) / scale}px`;
    ctx.fillStyle = palette["stage-text"];
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    const middle = round ? 0 : (front * 0.8 - back) / 2;
    ctx.fillText("STAGE", 0, upside ? -middle : middle);
  }
  ctx.restore();
}
