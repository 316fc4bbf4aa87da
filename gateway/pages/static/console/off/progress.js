// How far calling off is: what was done, what is left, and how much of the money has gone back.

import { counted, price } from "../../core/money.js";
import { html } from "../../html.js";
import { Bar } from "../../operator/plots.js";
import { count, moment } from "../words.js";

/** @param {{off: any, busy: boolean, may: boolean, goOn: () => void}} props */
export function Progress({ off, busy, may, goOn }) {
  const left = off.left.holds + off.left.waiting + off.left.orders;
  const done = off.holds + off.waiting + off.refunded + off.rebooked;
  const part = done + left ? done / (done + left) : 1;
  return html`<section class="card" aria-labelledby="off-title">
    <h2 id="off-title">${off.to === null ? "It is canceled" : html`It is moved to <a href=${`/console/e/${encodeURIComponent(off.to)}`}>${off.to}</a>`}</h2>
    <p>${off.who}, ${moment(off.begun_at)}: “${off.why}”</p>
    <p role="status" class="large">${off.done_at === null ? `Under way: ${count(left)} of ${count(done + left)} left to do.` : `Done ${moment(off.done_at)}.`}</p>
    <${Bar} part=${part} />
    <dl class="lines">
      ${off.to !== null && html`<div><dt>orders rebooked in the other event</dt><dd>${count(off.rebooked)}</dd></div>`}
      <div><dt>orders taken back</dt><dd>${count(off.refunded)}</dd></div>
      <div><dt>holds ended</dt><dd>${count(off.holds)}</dd></div>
      <div><dt>taken off the waiting list</dt><dd>${count(off.waiting)}</dd></div>
      ${left > 0 && html`<div><dt>left</dt><dd>${counted(off.left.orders, "order")}, ${counted(off.left.holds, "hold")}, ${count(off.left.waiting)} on the list</dd></div>`}
    </dl>
    ${off.done_at === null && may && html`<p class="quiet-text">It goes on by itself while the chores run. Where they do not, do it piece by piece:</p>
      <p class="card-end"><button type="button" class="button quiet" disabled=${busy} onClick=${goOn}>${busy ? "Sending…" : "Do a piece now"}</button></p>`}
  </section>`;
}

/** @param {{money: any}} props */
export function Refunds({ money }) {
  const { refund_due } = money.open;
  return html`<section class="card" aria-labelledby="refunds-title"><h2 id="refunds-title">Money that goes back</h2>
    <dl class="lines">
      <div><dt>given back to buyers so far</dt><dd>${price(money.refunded_minor, money.currency)}</dd></div>
      <div><dt>still to be given back<small>by your payment provider, one by one</small></dt><dd>${refund_due.count ? `${price(money.refund_due_minor, money.currency)} in ${counted(refund_due.count, "refund")}` : "nothing"}</dd></div>
    </dl>
    <p class="quiet-text">A refund that its provider will never give is named under <a href="/console">what needs a hand</a>.</p>
  </section>`;
}
