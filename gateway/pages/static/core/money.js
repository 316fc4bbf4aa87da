// Prices as people write them. `minor` counts the currency's smallest unit.

/** @type {Map<string, {format: Intl.NumberFormat, unit: number}>} */
const formats = new Map();

function formatOf(currency, locale) {
  const name = `${currency} ${locale}`;
  if (!formats.has(name)) {
    const format = new Intl.NumberFormat(locale, { style: "currency", currency });
    const unit = 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2);
    formats.set(name, { format, unit });
  }
  return formats.get(name);
}

/** As the reader's own country writes it, unless `locale` says otherwise. @param {number} minor @param {string} currency @param {string} [locale] @returns {string} */
export function price(minor, currency, locale) {
  const { format, unit } = formatOf(currency, locale);
  return format.format(minor / unit);
}

const inEnglish = new Intl.ListFormat("en", { type: "conjunction" });

/** `A, B and C`, at most `most` of them by name. @param {string[]} names @param {number} [most] */
export function listed(names, most = 6) {
  const shown = names.length > most ? [...names.slice(0, most), `${names.length - most} more`] : names;
  return inEnglish.format(shown);
}

/** @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

const SMALL = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/** Small numbers as words. @param {number} count */
export const inWords = (count) => SMALL[count] ?? count.toLocaleString("en");

/** With a capital at the front. @param {string} text */
export const titled = (text) => text.charAt(0).toUpperCase() + text.slice(1);
