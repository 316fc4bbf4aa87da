// Preact and htm put together once; everything else imports from here.
import { h } from "./vendor/preact.mjs";
import htm from "./vendor/htm.mjs";

export { Component, createRef, render } from "./vendor/preact.mjs";
export const html = htm.bind(h);
