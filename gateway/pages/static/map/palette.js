// The map's colours, out of the same tokens as the page: a probe element turns each token into the
// colour it has now, in light or dark. Price colours come from the organiser and are brought to a
// contrast of 3 to 1 with the map's ground (WCAG 1.4.11).

const TOKENS = [
  "map-ground", "map-floor", "map-edge", "stage", "stage-text", "text", "muted", "accent", "on-accent",
  "held", "sold", "yours", "on-yours", "surface",
];
const CONTRAST_MIN = 3;

/** @typedef {Record<string, string> & {categories: string[], onCategories: string[]}} Palette */

/** @param {string} colour `#rrggbb` or `rgb(…)` @returns {number[]} */
export function channels(colour) {
  if (colour.startsWith("#")) return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return colour.match(/[\d.]+/g).slice(0, 3).map(Number);
}

/** Relative luminance after WCAG 2. @param {number[]} rgb */
export function luminance(rgb) {
  const [r, g, b] = rgb.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((one, two) => one - two);
  return (high + 0.05) / (low + 0.05);
}

/** The nearest mix of `rgb` with black or white that is seen on `ground`. @param {number[]} rgb @param {number[]} ground @param {number} [least] contrast */
export function seenOn(rgb, ground, least = CONTRAST_MIN) {
  const toward = luminance(ground) > 0.3 ? 0 : 255;
  for (let part = 0; part < 1; part += 0.05) {
    const mixed = rgb.map((value) => Math.round(value + (toward - value) * part));
    if (contrast(mixed, ground) >= least) return mixed;
  }
  return [toward, toward, toward];
}

const css = (rgb) => `rgb(${rgb.join(" ")})`;

/** @param {import("../core/plan.js").Category[]} categories @param {HTMLElement} within @returns {Palette} */
export function readPalette(categories, within) {
  const probe = document.createElement("span");
  within.append(probe);
  const palette = {};
  for (const token of TOKENS) {
    probe.style.color = `var(--${token})`;
    palette[token] = getComputedStyle(probe).color;
  }
  probe.remove();
  const floor = channels(palette["map-floor"]);
  const seen = categories.map(({ colour }) => seenOn(channels(colour), floor));
  palette.categories = seen.map(css);
  palette.onCategories = seen.map((rgb) => (contrast(rgb, [255, 255, 255]) >= 3.2 ? "#ffffff" : "#111318"));
  return palette;
}
