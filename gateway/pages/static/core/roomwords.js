// Every text of the waiting room, by its code: from the catalogue of a language, or the organiser's own. A text
// may have {names} that are filled in, and forms by number (as Intl.PluralRules names them).

import en from "./roomtexts/en.js";

const CATALOGUES = { en };
const TEXT_LENGTH_MAX = 500;

/**
 * What says a text: `words("line.ahead", { count: 3 })`.
 * @param {string} lang @param {Record<string, unknown>} own the organiser's texts, by code
 * @returns {(code: string, values?: Record<string, string | number>) => string}
 */
export function wordsIn(lang, own = {}) {
  const texts = CATALOGUES[lang] ?? en;
  const plural = new Intl.PluralRules(lang in CATALOGUES ? lang : "en");
  const number = new Intl.NumberFormat(lang in CATALOGUES ? lang : "en");
  const shown = (value) => (typeof value === "number" ? number.format(value) : value);
  return (code, values = {}) => {
    const given = typeof own[code] === "string" && own[code] ? own[code].slice(0, TEXT_LENGTH_MAX) : texts[code];
    const text = typeof given === "object" ? (given[plural.select(values.count)] ?? given.other) : (given ?? "");
    return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? shown(values[name]) : whole));
  };
}
