// The organiser's own colour, made to be read on the pages' grounds in light and in dark.

import { channels, seenOn } from "../map/palette.js";

/** The lightest ground that text of the accent's colour stands on in dark, and the darkest in light (tokens.css). */
const GROUNDS = { light: [232, 236, 250], dark: [38, 42, 51] };
const TEXT_CONTRAST = 4.5;
const COLOUR = /^#[0-9a-f]{6}$/i;

/** What pages set in the organiser's colour, by its name; nothing for anything that is no `#rrggbb`. @param {unknown} accent @returns {[string, string][]} */
export function worn(accent) {
  if (typeof accent !== "string" || !COLOUR.test(accent)) return [];
  const [light, dark] = [GROUNDS.light, GROUNDS.dark].map((ground) => `rgb(${seenOn(channels(accent), ground, TEXT_CONTRAST).join(" ")})`);
  return [["--accent", `light-dark(${light}, ${dark})`], ["--on-accent", "light-dark(#ffffff, #0b0d14)"]];
}

/** Wears the organiser's colour; anything that is none leaves the page as it is. @param {unknown} accent */
export function wear(accent) {
  for (const [name, value] of worn(accent)) document.documentElement.style.setProperty(name, value);
}
