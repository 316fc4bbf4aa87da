// Payments that stand for themselves, as no hold runs that they are for: what became of the money, in one card each.

import { listed } from "../core/money.js";
import { stageAlone } from "../core/payments.js";
import { html } from "../html.js";

/** Of these nothing more is to come that the buyer could miss. */
const CAN_CLOSE = new Set(["over", "nothing_charged", "refund_due", "refunded", "missing"]);

/** @param {{sale: import("../core/sale.js").Sale}} props */
export function Payments({ sale }) {
  const { alone } = sale.paying;
  if (!alone.length) return null;
  return html`<section class="payments" aria-label="Your payments">
    ${alone.map((payment) => html`<${OnePayment} key=${`${payment.hold} ${payment.payment}`} sale=${sale} payment=${payment} />`)}
  </section>`;
}

function OnePayment({ sale, payment }) {
  const notice = sale.paying.noticeOf(payment);
  const names = sale.orders.names(payment);
  const stage = stageAlone(payment);
  const waits = stage === "waiting" || stage === "late";
  return html`<article class=${`card payment ${notice.tone}`}>
    <h2 tabindex="-1">${notice.title}</h2>
    ${waits && html`<div class="in-line" aria-hidden="true"><i></i></div>`}
    <p>${notice.text}</p>
    ${names.length > 0 && html`<p class="quiet-text">It was for ${listed(names)}.</p>`}
    <${Ways} sale=${sale} payment=${payment} close=${CAN_CLOSE.has(stage)} />
  </article>`;
}

function Ways({ sale, payment, close }) {
  const { paying } = sale;
  const gaveUp = paying.looks.gaveUp(payment);
  if (!gaveUp && !close) return null;
  return html`<div class="others">
    ${gaveUp && html`<button type="button" class="button quiet small" onClick=${() => paying.look(payment)}>Ask again</button>`}
    ${close && html`<button type="button" class="button quiet small" onClick=${() => paying.close(payment)}>I have read this</button>`}
  </div>`;
}
