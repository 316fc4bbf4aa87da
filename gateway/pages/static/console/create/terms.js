// Fees and tax as people fill them in, where an event is made and where they are changed afterwards.

import { html } from "../../html.js";
import { Check, Line } from "./fields.js";

/** @param {{terms: {fee: string, fee_percent: string, tax_percent: string, tax_included: boolean}, currency: string, put: (more: any) => void, errors: Record<string, string>}} props `errors` by the API's names */
export function Terms({ terms, currency, put, errors }) {
  return html`<div class="field-row"><${Line} name="fee" label="Fee for each ticket" mode="decimal" unit=${currency} value=${terms.fee} change=${(fee) => put({ fee })} error=${errors.fee_minor} says="On top of the price; none unless you say." />
      <${Line} name="fee-percent" label="And of the price" mode="decimal" unit="%" value=${terms.fee_percent} change=${(fee_percent) => put({ fee_percent })} error=${errors.fee_basis_points} />
      <${Line} name="tax" label="Tax" mode="decimal" unit="%" value=${terms.tax_percent} change=${(tax_percent) => put({ tax_percent })} error=${errors.tax_basis_points} /></div>
    <${Check} name="tax-included" label="The tax is in the prices" value=${terms.tax_included} change=${(tax_included) => put({ tax_included })} says="Otherwise it is added, and buyers see what they pay in all." />`;
}
