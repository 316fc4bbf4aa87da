// The draft as `POST /v1/operator/launches` takes it, and the server's errors at the fields they are of. Pure.

import { priceOf } from "../prices/reckon.js";

/** So many decimals a currency's amounts have. @param {string} currency */
export function decimalsOf(currency) {
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits;
  } catch {
    return 2;
  }
}

export const NO_TERMS = { fee_minor: 0, fee_basis_points: 0, tax_basis_points: 0, tax_included: true };
const FEE_MINOR_MAX = 1_000_000_000;
const BASIS_POINTS_MAX = 10_000;

/** `49.90` or `49,90` in the smallest unit; null for nothing, NaN for what is no amount. @param {string} written */
export function minorOf(written, currency) {
  const plain = String(written).trim().replace(",", ".");
  if (!plain) return null;
  const decimals = decimalsOf(currency);
  if (!new RegExp(`^\\d{1,10}(\\.\\d{0,${decimals}})?$`).test(plain) || (!decimals && plain.includes("."))) return NaN;
  return Math.round(Number(plain) * 10 ** decimals);
}

/** The reverse, for a field. @param {number} minor */
export const writtenOf = (minor, currency) => (minor / 10 ** decimalsOf(currency)).toFixed(decimalsOf(currency));

/** A name as it can stand in an address. @param {string} name */
export function slugOf(name) {
  const plain = name.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  return plain.replace(/[^a-z0-9]+/g, "-").slice(0, 64).replace(/^-+|-+$/g, "");
}

/** A whole number of a field; text that is none stays text, so that the server names the field. */
const whole = (written, factor = 1) => {
  const plain = String(written).trim();
  if (!plain) return undefined;
  return /^-?\d{1,9}$/.test(plain) ? Number(plain) * factor : plain;
};
const basisPoints = (written) => {
  const plain = String(written).trim().replace(",", ".");
  if (!plain) return undefined;
  return /^\d{1,3}(\.\d{1,2})?$/.test(plain) ? Math.round(Number(plain) * 100) : plain;
};
const amount = (written, currency) => {
  const minor = minorOf(written, currency);
  return minor === null ? undefined : Number.isNaN(minor) ? String(written) : minor;
};
/** Fees and tax as the API takes them, from what was written; text that is no number stays text. @param {{fee: string, fee_percent: string, tax_percent: string, tax_included: boolean}} written */
export const termsOf = ({ fee, fee_percent, tax_percent, tax_included }, currency) => ({
  fee_minor: amount(fee, currency), fee_basis_points: basisPoints(fee_percent), tax_basis_points: basisPoints(tax_percent), tax_included,
});

/** What was written, whole; and what of it is no amount or too much. Empty is none. */
export function meantBy(fields, currency) {
  const given = termsOf(fields, currency);
  const terms = { ...NO_TERMS, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
  const wrong = (value, most) => typeof value === "string" || value > most;
  const decimals = decimalsOf(currency);
  const errors = {
    ...(wrong(terms.fee_minor, FEE_MINOR_MAX) && { fee_minor: decimals ? `must be an amount with at most ${decimals} decimals` : "must be a whole amount" }),
    ...Object.fromEntries(["fee_basis_points", "tax_basis_points"].filter((name) => wrong(terms[name], BASIS_POINTS_MAX)).map((name) => [name, "must be 0 to 100 with at most two decimals"])),
  };
  return { terms, errors };
}

/** A time of the browser's own zone, with its offset. @param {string} local `2030-05-01T10:00` */
const moment = (local) => (local ? new Date(local).toISOString() : undefined);
const given = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== ""));

const standingOf = (standing) => Object.fromEntries(Object.entries(standing)
  .filter(([, { capacity, category }]) => String(capacity).trim() && category)
  .map(([name, { capacity, category }]) => [name, { capacity: whole(capacity), category }]));

function sourceOf({ source, reading, name }) {
  if (source.kind === "venue") return { venue: source.venue };
  if (source.kind === "make") {
    const { kind, seats, standing } = source.made;
    return { make: given({ kind, seats: whole(seats), standing: kind === "theatre" ? undefined : whole(standing), name, currency: reading.currency }) };
  }
  const plan = { text: source.text, currency: reading.currency, name, default_price_minor: amount(reading.default_price, reading.currency), standing: standingOf(reading.standing) };
  return { plan: given(plan) };
}

/** @param {ReturnType<typeof import("./draft.js").emptyDraft>} draft @param {string} currency of its plan @param {"draft" | "lobby" | "open"} begin */
export function bodyOf(draft, currency, begin) {
  const { prices, rules, room, texts, times } = draft;
  const amounts = given(Object.fromEntries(Object.entries(prices.categories).map(([name, written]) => [name, amount(written, currency)])));
  const limits = given(Object.fromEntries(Object.entries(rules.limits).map(([name, most]) => [name, whole(most)])));
  const body = {
    ...sourceOf(draft),
    event: given({
      slug: draft.slug || slugOf(draft.name), name: draft.name, lobby_opens_at: begin === "draft" && room.wanted ? moment(times.lobby_opens_at) : undefined,
      opens_at: begin === "open" ? undefined : moment(times.opens_at), starts_at: moment(times.starts_at),
      hold_ttl_seconds: whole(rules.hold_minutes, 60), offer_ttl_seconds: whole(rules.offer_minutes, 60),
      seats_per_buyer_max: whole(rules.seats_per_buyer_max), limits, fast_gate: rules.fast_gate, payment: rules.payment,
      late_payment: rules.late_payment, extensions_max: whole(rules.extensions_max), extension_seconds: whole(rules.extension_seconds),
      returns_allowed: rules.returns_allowed, transfers_allowed: rules.transfers_allowed, figures_on_page: rules.figures_on_page,
    }),
    prices: given({ currency, categories: amounts, ...termsOf(prices, currency) }),
    begin,
  };
  if (!room.wanted) return body;
  const terms = given({
    policy: room.policy, ballot: room.policy === "draw" && room.ballot, pace: whole(room.pace), shopping_max: whole(room.shopping_max),
    begin_seconds: whole(room.begin_minutes, 60), shopping_seconds: whole(room.shopping_minutes, 60),
  });
  const look = given({ name: texts.name, accent: texts.accent });
  if (texts.title) look.texts = { "lobby.title": texts.title };
  const codes = room.label ? [given({ label: room.label, count: whole(room.count) ?? 1, uses: whole(room.uses) ?? 1 })] : [];
  return { ...body, room: terms, ...(Object.keys(look).length ? { look } : {}), ...(texts.message ? { message: texts.message } : {}), codes };
}

/** Which step a field of the body is on. @type {[RegExp, number][]} */
const STEP_OF = [
  [/^event\.(slug|name)$|^(plan|make|venue)/, 0], [/^prices/, 1], [/^event\.(lobby_opens|opens|starts)_at/, 2], [/^room|^codes/, 4], [/^look|^message/, 5], [/^event/, 3],
];

/** @param {string} field */
export const stepOf = (field) => STEP_OF.find(([pattern]) => pattern.test(field))?.[1] ?? 6;

/** What the server refused, by field. @param {any} problem @returns {Record<string, string>} */
export function errorsOf(problem) {
  const errors = problem.told?.errors ?? problem.errors;
  if (errors?.length) return Object.fromEntries(errors.map(({ field, says }) => [field, says]));
  if (problem.code === "event_exists") return { "event.slug": "is an event's already; choose another" };
  return {};
}

/** What a sold-out house brings: (without anything added, with fees and tax), in the smallest unit; null where a price is no amount. */
export function houseOf(holds, prices, currency) {
  const { terms, errors } = meantBy(prices, currency);
  if (Object.keys(errors).length) return null;
  let [net, paid] = [0, 0];
  for (const one of holds.categories) {
    const minor = prices.categories[one.name] === undefined ? one.price_minor : minorOf(prices.categories[one.name], currency);
    if (minor === null || Number.isNaN(minor)) return null;
    net += minor * (one.seats + one.places);
    paid += priceOf(minor, terms).total_minor * (one.seats + one.places);
  }
  return { net, paid };
}
