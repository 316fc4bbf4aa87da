// Canceling: what comes of it, and the question, which wants the event's name and a reason.

import { counted, price } from "../../core/money.js";
import { html } from "../../html.js";
import { ordersOf } from "./cost.js";

/** Calling off says why: it is kept for good, and webhooks tell it. */
export const reasonField = () => html`<label class="field"><span>Why <small>(kept in the audit; webhooks tell it)</small></span><input name="reason" required maxlength="200" /></label>`;

/** @param {{event: string, name: string, money: any, ask: any, busy: boolean, begin: (path: string, body: any, done: string) => Promise<boolean>}} props */
export function Cancel({ event, name, money, ask, busy, begin }) {
  const cancel = async () => {
    const says = [
      `${counted(ordersOf(money), "order")} will be taken back, and ${price(money.standing_minor, money.currency)} goes back to buyers. All who paid are told by mail.`,
      "The sale is closed for good, holds end, the waiting list ends, tickets are worthless.",
      "This cannot be taken back.",
    ];
    const said = await ask({ title: `Cancel ${name} for good?`, says, act: "Cancel the event", keep: "Keep it", danger: true, type: event, more: reasonField() });
    if (said) await begin("/cancel", { why: said.reason.trim() }, `${name} is canceled. Its orders are taken back one by one.`);
  };
  return html`<section class="card" aria-labelledby="cancel-title"><h2 id="cancel-title">Cancel it</h2>
    <p>The sale is closed for good. Every order is taken back whole, and what was paid goes back by itself. Buyers read it on the event's page and by mail.</p>
    <p class="card-end"><button type="button" class="button quiet closes" disabled=${busy} onClick=${cancel}>Cancel the event…</button></p></section>`;
}
