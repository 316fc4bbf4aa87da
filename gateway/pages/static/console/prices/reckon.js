// What a seat costs with fees and tax, as the server reckons it (store/prices.py), and fees and tax in words. Pure.

import { money, percentOf } from "../words.js";

const WHOLE = 10_000n;

/** Rounded to a whole number, half upwards; neither is negative. */
const part = (numerator, denominator) => (2n * numerator + denominator) / (2n * denominator);

/**
 * @param {number} price_minor of the category
 * @param {{fee_minor: number, fee_basis_points: number, tax_basis_points: number, tax_included: boolean}} terms
 */
export function priceOf(price_minor, { fee_minor, fee_basis_points, tax_basis_points, tax_included }) {
  const fee = BigInt(fee_minor) + part(BigInt(price_minor) * BigInt(fee_basis_points), WHOLE);
  const asked = BigInt(price_minor) + fee;
  const points = BigInt(tax_basis_points);
  const tax = tax_included ? part(asked * points, WHOLE + points) : part(asked * points, WHOLE);
  return { price_minor, fee_minor: Number(fee), tax_minor: Number(tax), total_minor: Number(tax_included ? asked : asked + tax) };
}

/** @param {Parameters<typeof priceOf>[1]} terms @param {string} currency */
export function termsInWords({ fee_minor, fee_basis_points, tax_basis_points, tax_included }, currency) {
  const fees = [fee_minor && `${money(fee_minor, currency)} a ticket`, fee_basis_points && `${percentOf(fee_basis_points)} of the price`].filter(Boolean);
  const fee = fees.length ? `The fee is ${fees.join(" and ")}` : "There is no fee";
  const tax = tax_basis_points ? (tax_included ? `${percentOf(tax_basis_points)} tax is in what a buyer pays` : `${percentOf(tax_basis_points)} tax comes on top`) : "no tax is shown";
  return `${fee}; ${tax}.`;
}
