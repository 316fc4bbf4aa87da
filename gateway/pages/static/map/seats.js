// Seats in bulk: one path per look, so a house of 20,000 is a handful of fills. Each state has a shape
// of its own (free: disc; held: ring with a bar; sold: cross; not for sale: dot), colour comes on top.

import { BLOCKED, FREE, HELD, SOLD } from "../core/plan.js";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const DETAILS_FROM_PX = 2.6;
const NUMBERS_FROM_PX = 8.5;

/** Radius of a seat on screen. */
export const radiusOf = (venue, camera) => Math.min(venue.pitch * 0.4 * camera.view.scale, 17);

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {import("../core/plan.js").Venue} venue
 * @param {Uint8Array} states
 * @param {{has(seat: number): boolean}} apart seats that are drawn elsewhere
 * @returns {number} how many were in view
 */
export function paintSeats(ctx, venue, states, apart, camera, palette) {
  const radius = radiusOf(venue, camera);
  const looks = gather(venue, states, apart, camera, radius);
  looks.free.forEach((seats, category) => {
    ctx.fillStyle = palette.categories[category];
    fillDiscs(ctx, seats, radius);
  });
  if (radius < DETAILS_FROM_PX) paintSmall(ctx, looks, radius, palette);
  else paintDetailed(ctx, looks, radius, palette);
  if (radius >= NUMBERS_FROM_PX) paintNumbers(ctx, venue, looks, radius, palette);
  const lists = [...looks.free, looks.held, looks.sold, looks.blocked];
  return lists.reduce((total, list) => total + list.length / 3, 0);
}

/** Seats in view by look, as flat lists [x, y, seat, …] in screen pixels. */
function gather(venue, states, apart, camera, radius) {
  const { scale, x: left, y: top } = camera.view;
  const looks = { free: venue.categories.map(() => []), held: [], sold: [], blocked: [] };
  const others = { [HELD]: looks.held, [SOLD]: looks.sold, [BLOCKED]: looks.blocked };
  for (let seat = 0; seat < venue.count; seat += 1) {
    const x = (venue.x[seat] - left) * scale;
    const y = (venue.y[seat] - top) * scale;
    if (x < -radius || y < -radius || x > camera.width + radius || y > camera.height + radius) continue;
    if (apart.has(seat)) continue;
    const list = states[seat] === FREE ? looks.free[venue.category[seat]] : others[states[seat]];
    list.push(x, y, seat);
  }
  return looks;
}

function fillDiscs(ctx, seats, radius) {
  if (!seats.length) return;
  ctx.beginPath();
  for (let at = 0; at < seats.length; at += 3) {
    if (radius < 2) {
      ctx.rect(seats[at] - radius, seats[at + 1] - radius, radius * 2, radius * 2);
    } else {
      ctx.moveTo(seats[at] + radius, seats[at + 1]);
      ctx.arc(seats[at], seats[at + 1], radius, 0, 2 * Math.PI);
    }
  }
  ctx.fill();
}

/** Too small for rings and crosses: held is a smaller square, sold a dot. */
function paintSmall(ctx, looks, radius, palette) {
  ctx.fillStyle = palette.held;
  fillDiscs(ctx, looks.held, radius * 0.7);
  ctx.fillStyle = palette.sold;
  fillDiscs(ctx, looks.sold, radius * 0.5);
  fillDiscs(ctx, looks.blocked, radius * 0.35);
}

function paintDetailed(ctx, looks, radius, palette) {
  ctx.lineWidth = Math.max(1, radius * 0.2);
  ctx.lineCap = "round";
  ctx.strokeStyle = palette.held;
  ctx.beginPath();
  const ring = radius * 0.82;
  for (let at = 0; at < looks.held.length; at += 3) {
    const [x, y] = [looks.held[at], looks.held[at + 1]];
    ctx.moveTo(x + ring, y);
    ctx.arc(x, y, ring, 0, 2 * Math.PI);
    ctx.moveTo(x - ring * 0.4, y + ring * 0.4);
    ctx.lineTo(x + ring * 0.4, y - ring * 0.4);
  }
  ctx.stroke();
  ctx.strokeStyle = palette.sold;
  ctx.beginPath();
  const arm = radius * 0.45;
  for (let at = 0; at < looks.sold.length; at += 3) {
    const [x, y] = [looks.sold[at], looks.sold[at + 1]];
    ctx.moveTo(x - arm, y - arm);
    ctx.lineTo(x + arm, y + arm);
    ctx.moveTo(x - arm, y + arm);
    ctx.lineTo(x + arm, y - arm);
  }
  ctx.stroke();
  ctx.fillStyle = palette.sold;
  fillDiscs(ctx, looks.blocked, radius * 0.3);
}

function paintNumbers(ctx, venue, looks, radius, palette) {
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.font = `600 ${Math.min(13, radius * 0.92)}px ${FONT}`;
  looks.free.forEach((seats, category) => {
    ctx.fillStyle = palette.onCategories[category];
    for (let at = 0; at < seats.length; at += 3) {
      const seat = seats[at + 2];
      ctx.fillText(venue.accessible[seat] === 1 ? "♿" : venue.number[seat], seats[at], seats[at + 1] + 0.5, radius * 1.7);
    }
  });
}

/**
 * The buyer's own: chosen (accent disc, outlined), asked for (not outlined yet), held (rounded square, outlined)
 * and bought (with a tick), never
 * smaller than can be seen, so a party stands out together.
 * @param {"chosen" | "asked" | "active" | "paid"} look
 */
export function paintOwn(ctx, venue, seats, look, camera, palette) {
  const radius = Math.max(radiusOf(venue, camera), 4);
  const chosen = look === "chosen" || look === "asked";
  const colour = chosen ? palette.accent : palette.yours;
  const shape = (x, y, size) => {
    ctx.beginPath();
    if (chosen) ctx.arc(x, y, size, 0, 2 * Math.PI);
    else ctx.roundRect(x - size, y - size, size * 2, size * 2, size * 0.4);
  };
  const places = seats.map((seat) => camera.toScreen(venue.x[seat], venue.y[seat]));
  // Wide, then a little less wide: neighbours get one outline around them all.
  const outline = { paid: [], asked: [[2.5, palette["map-floor"]]] }[look] ?? [[4, colour], [2.5, palette["map-floor"]]];
  for (const [more, fill] of outline) {
    ctx.fillStyle = fill;
    for (const { x, y } of places) {
      shape(x, y, radius + more);
      ctx.fill();
    }
  }
  for (const { x, y } of places) {
    shape(x, y, radius + 1);
    ctx.fillStyle = palette["map-floor"];
    ctx.fill();
    shape(x, y, radius);
    ctx.fillStyle = colour;
    ctx.fill();
    paintSign(ctx, x, y, radius, look, chosen ? palette["on-accent"] : palette["on-yours"]);
  }
}

function paintSign(ctx, x, y, radius, look, colour) {
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.lineCap = "round";
  ctx.lineJoin = "round";
  ctx.lineWidth = Math.max(1.4, radius * 0.2);
  ctx.beginPath();
  if (look === "active" || look === "asked") {
    ctx.arc(x, y, radius * 0.26, 0, 2 * Math.PI);
    ctx.fill();
    return;
  }
  ctx.moveTo(x - radius * 0.42, y + radius * 0.04);
  ctx.lineTo(x - radius * 0.1, y + radius * 0.36);
  ctx.lineTo(x + radius * 0.46, y - radius * 0.32);
  ctx.stroke();
}

/** A group that is offered: one outline around neighbours, and its number as on its button. */
export function paintOffer(ctx, venue, seats, number, camera, palette) {
  if (!seats.length) return;
  const radius = Math.max(radiusOf(venue, camera), 4);
  const places = seats.map((seat) => camera.toScreen(venue.x[seat], venue.y[seat]));
  ctx.lineJoin = "round";
  ctx.lineCap = "round";
  ctx.strokeStyle = palette.accent;
  ctx.lineWidth = 2.5;
  for (const { x, y } of places) {
    ctx.beginPath();
    ctx.arc(x, y, radius + 3, 0, 2 * Math.PI);
    ctx.stroke();
  }
  const [first] = places.sort((one, other) => one.x - other.x);
  const [x, y] = [first.x - radius - 2, first.y - radius - 2];
  ctx.beginPath();
  ctx.arc(x, y, 9, 0, 2 * Math.PI);
  ctx.lineWidth = 3;
  ctx.strokeStyle = palette["map-floor"];
  ctx.stroke();
  ctx.fillStyle = palette.accent;
  ctx.fill();
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.font = `600 12px ${FONT}`;
  ctx.fillStyle = palette["on-accent"];
  ctx.fillText(String(number), x, y + 0.5);
}

/** A ring around the seat or area (`box`, in plan units) that is hovered, focused, or named in a notice. */
export function paintRing(ctx, box, venue, camera, colour, dashed = false) {
  const { x, y } = camera.toScreen(box.x, box.y);
  const { scale } = camera.view;
  const more = box.width ? 4 : Math.max(radiusOf(venue, camera), 4) + 5;
  ctx.beginPath();
  ctx.roundRect(x - more, y - more, box.width * scale + 2 * more, box.height * scale + 2 * more, box.width ? 14 : more);
  ctx.strokeStyle = colour;
  ctx.lineWidth = 2.5;
  ctx.setLineDash(dashed ? [4, 3] : []);
  ctx.stroke();
  ctx.setLineDash([]);
}
