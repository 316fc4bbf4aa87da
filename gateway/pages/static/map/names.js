// Names on the map: of sections behind their last row, or in their middle while there is no room for
// that, and of rows at both of their ends as soon as they can be read.

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const TINY_PITCH_PX = 6;
const READABLE_PITCH_PX = 12;
const ROW_NAMES_FROM_PITCH_PX = 16;

/** Where names can stand, in plan units. @param {import("../core/plan.js").Venue} venue */
export const namesOf = (venue) => ({ sections: sectionNames(venue), rowEnds: rowEnds(venue) });

/** Each section's name has two places: behind its last row, and in its middle while seats are tiny. */
function sectionNames(venue) {
  const names = venue.sections.map((text) => ({
    text, far: -1, x: 0, y: 0, aside: 0, seats: 0, left: Infinity, right: -Infinity, middle_x: 0, middle_y: 0,
  }));
  for (let seat = 0; seat < venue.count; seat += 1) {
    const name = names[venue.section[seat]];
    name.seats += 1;
    name.middle_x += (venue.x[seat] - name.middle_x) / name.seats;
    name.middle_y += (venue.y[seat] - name.middle_y) / name.seats;
    name.left = Math.min(name.left, venue.x[seat]);
    name.right = Math.max(name.right, venue.x[seat]);
  }
  for (const { first, length, section } of venue.blocks) {
    const row_middle = first + (length >> 1);
    const dx = venue.x[row_middle] - venue.focal.x;
    const dy = venue.y[row_middle] - venue.focal.y;
    const away = Math.hypot(dx, dy) || 1;
    if (away <= names[section].far) continue;
    const out = venue.pitch * 2.1;
    const [x, y] = [venue.x[row_middle] + (dx / away) * out, venue.y[row_middle] + (dy / away) * out];
    Object.assign(names[section], { far: away, x, y, aside: dx / away });
  }
  return names.filter(({ seats }) => seats > 0);
}

function rowEnds(venue) {
  return venue.rows.flatMap(({ row, seats }) => {
    if (!row || seats.length < 3) return [];
    const ordered = [...seats].sort((a, b) => venue.x[a] - venue.x[b]);
    const ends = [[ordered[0], ordered[1]], [ordered.at(-1), ordered.at(-2)]];
    return ends.map(([end, inner]) => {
      const dx = venue.x[end] - venue.x[inner];
      const dy = venue.y[end] - venue.y[inner];
      const step = Math.hypot(dx, dy) || 1;
      return { text: row, x: venue.x[end] + (dx / step) * venue.pitch, y: venue.y[end] + (dy / step) * venue.pitch };
    });
  });
}

/** Names of sections and, where there is room, of rows: on top of the seats. */
export function paintNames(ctx, venue, names, finder, camera, palette) {
  const pitch_px = venue.pitch * camera.view.scale;
  const tiny = pitch_px < TINY_PITCH_PX;
  ctx.font = `600 ${tiny ? 11 : pitch_px < 10 ? 12 : 13}px ${FONT}`;
  const centred = tiny || (pitch_px < READABLE_PITCH_PX && names.sections.some((name) => collides(ctx, name, finder, camera)));
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.lineJoin = "round";
  ctx.lineWidth = 4;
  const inside = (at) => at.x > -60 && at.y > -20 && at.x < camera.width + 60 && at.y < camera.height + 20;
  ctx.fillStyle = palette.text;
  ctx.strokeStyle = palette[centred ? "map-floor" : "map-ground"];
  for (const { text, at } of placed(ctx, names.sections, camera, centred)) {
    if (!inside(at)) continue;
    ctx.strokeText(text, at.x, at.y);
    ctx.fillText(text, at.x, at.y);
  }
  if (pitch_px < ROW_NAMES_FROM_PITCH_PX) return;
  ctx.font = `${Math.min(13, pitch_px * 0.5)}px ${FONT}`;
  ctx.fillStyle = palette.muted;
  for (const { text, x, y } of names.rowEnds) {
    const at = camera.toScreen(x, y);
    if (inside(at)) ctx.fillText(text, at.x, at.y);
  }
}

function behind(name, half, camera) {
  const { x, y } = camera.toScreen(name.x, name.y);
  return { x: x + name.aside * half, y: y + 4 };
}

/** Whether a name behind its section would lie on seats or on an area. */
function collides(ctx, name, finder, camera) {
  const half = ctx.measureText(name.text).width / 2 + 4;
  const at = behind(name, half, camera);
  for (let step = -2; step <= 2; step += 1) {
    const { x, y } = camera.toPlan(at.x + (half * step) / 2, at.y);
    if (finder.at(x, y, 8 / camera.view.scale) >= 0 || finder.area(x, y) >= 0) return true;
  }
  return false;
}

/** Where names go: one that has no room is cut to its number (`Block 101` → `101`) or left out. */
function placed(ctx, names, camera, centred) {
  const found = [];
  for (const name of names) {
    const room = centred ? (name.right - name.left) * camera.view.scale + 24 : Infinity;
    const short = /\S*\d\S*$/.exec(name.text)?.[0];
    const text = [name.text, short].find((one) => one && ctx.measureText(one).width <= room);
    if (!text) continue;
    const half = ctx.measureText(text).width / 2 + 4;
    const at = centred ? camera.toScreen(name.middle_x, name.middle_y) : behind(name, half, camera);
    if (camera.isFitted) at.x = Math.min(Math.max(at.x, half), camera.width - half);
    const clear = found.every((one) => Math.abs(one.at.y - at.y) > 15 || Math.abs(one.at.x - at.x) > one.half + half);
    if (clear) found.push({ text, at, half });
  }
  return found;
}
