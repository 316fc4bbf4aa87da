// The venue itself: stage, the floor of each section, standing areas. It is drawn below the seats into
// the cached layer.

import { paintStage } from "./stage.js";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

/** @typedef {import("../core/plan.js").Venue} Venue */

/** What never changes for a venue: paths along its rows. @param {Venue} venue */
export function sceneryOf(venue, stage) {
  const floors = venue.sections.map(() => new Path2D());
  for (const { first, length, section } of venue.blocks) {
    const floor = floors[section];
    const last = first + length - 1;
    const [before, after] = [beyond(venue, first, first + 1, last), beyond(venue, last, last - 1, first)];
    floor.moveTo(before.x, before.y);
    for (let seat = first; seat <= last; seat += 1) floor.lineTo(venue.x[seat], venue.y[seat]);
    floor.lineTo(after.x, after.y);
  }
  return { floors, stage };
}

/** A little past the end of a row, away from its next seat: room for the row's name. */
function beyond(venue, end, inner, far) {
  if (end === far) return { x: venue.x[end] + venue.pitch * 0.01, y: venue.y[end] };
  const [dx, dy] = [venue.x[end] - venue.x[inner], venue.y[end] - venue.y[inner]];
  const part = (venue.pitch * 0.5) / (Math.hypot(dx, dy) || 1);
  return { x: venue.x[end] + dx * part, y: venue.y[end] + dy * part };
}

/** @param {CanvasRenderingContext2D} ctx @param {Venue} venue @param {ReturnType<typeof sceneryOf>} scenery */
export function paintScenery(ctx, venue, scenery, camera, palette) {
  const { scale, x, y } = camera.view;
  ctx.fillStyle = palette["map-ground"];
  ctx.fillRect(0, 0, camera.width, camera.height);
  ctx.save();
  ctx.scale(scale, scale);
  ctx.translate(-x, -y);
  ctx.lineCap = "round";
  ctx.lineJoin = "round";
  const wide = venue.pitch * 2.5;
  for (const floor of scenery.floors) {
    ctx.lineWidth = wide + 2 / scale;
    ctx.strokeStyle = palette["map-edge"];
    ctx.stroke(floor);
    ctx.lineWidth = wide;
    ctx.strokeStyle = palette["map-floor"];
    ctx.stroke(floor);
  }
  paintStage(ctx, scenery.stage, palette, scale);
  ctx.restore();
}

/** Standing areas: a rectangle each, with places left. Drawn with the seats as it changes with them. */
export function paintAreas(ctx, venue, free, wanted, camera, palette) {
  venue.areas.forEach((area, index) => {
    const at = camera.toScreen(area.x, area.y);
    const wide = area.width * camera.view.scale;
    const high = area.height * camera.view.scale;
    const left = free[index] ?? area.capacity;
    const colour = left ? palette.categories[area.category] : palette.sold;
    ctx.fillStyle = colour;
    ctx.strokeStyle = colour;
    ctx.globalAlpha = wanted[index] ? 0.32 : 0.14;
    ctx.beginPath();
    ctx.roundRect(at.x, at.y, wide, high, Math.min(12, high / 4));
    ctx.fill();
    ctx.globalAlpha = 1;
    ctx.lineWidth = wanted[index] ? 3 : 1.5;
    ctx.setLineDash(left ? [] : [5, 4]);
    ctx.stroke();
    ctx.setLineDash([]);
    if (wide < 60 || high < 24) return;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillStyle = palette.text;
    const lines = high >= 44 ? 9 : 0;
    ctx.font = `600 13px ${FONT}`;
    ctx.fillText(area.name, at.x + wide / 2, at.y + high / 2 - lines, wide - 12);
    if (!lines) return;
    ctx.font = `12px ${FONT}`;
    ctx.fillStyle = palette.muted;
    const places = left ? `${left.toLocaleString("en")} places left` : "none left";
    ctx.fillText(places, at.x + wide / 2, at.y + high / 2 + 9, wide - 12);
  });
}
