// The numbers of a launch, before any chart: what was sold, how fast it goes, who waits, who decides.

import { html } from "../../html.js";
import { Bar } from "../../operator/plots.js";
import { count, latency, money, percent, perSecond, spell, waitingForAnswers } from "../words.js";

/** @param {{launch: any, point: Record<string, number | null>, room: any}} props `point`: the newest sample; before there is one, what the launch says */
export function Numbers({ launch, point, room }) {
  const of = (name) => (name in point ? point[name] : launch[name]) ?? null;
  const { capacity, currency, rate } = launch;
  const [sold, on_hold, revenue] = [of("sold"), of("on_hold"), of("revenue_minor")];
  const free = sold === null || on_hold === null ? null : Math.max(0, capacity - sold - on_hold);
  const [undecided, undecidedSays] = waitingForAnswers(launch, of("undecided"));
  const part = capacity && sold !== null ? sold / capacity : 0;
  return html`<section class="card numbers-card" aria-label="Numbers">
    <div class="sold-block"><p class="huge">${percent(sold === null ? launch.percent_sold : Math.floor(part * 1000) / 10)}</p><p>sold: ${count(sold)} of ${count(capacity)}</p><${Bar} part=${part} />
      <p class="revenue">${money(revenue, currency)} <small>revenue</small></p></div>
    <dl class="numbers">
      <${Number} what="on hold" value=${count(on_hold)} says="in somebody's hands, not paid yet" />
      <${Number} what="left" value=${count(free)} says="neither sold nor on hold; blocked ones are in it" />
      <${Number} what="arrive a second" value=${perSecond(of("arrived_per_second"))} says="requests for seats" />
      <${Number} what="decided a second" value=${perSecond(of("decided_per_second"))} says="requests answered" />
      <${Number} what="undecided" value=${undecided} says=${undecidedSays} />
      <${Number} what="decided within" value=${latency(of("latency_ms_p99"))} says=${of("latency_ms_p99") === null ? (launch.owner ? "nothing was decided lately" : "nobody decides just now") : `99 in 100; half within ${latency(of("latency_ms_p50"))}`} />
      ${room && html`<${Number} what="wait in line" value=${count(of("waiting"))} says=${waits(of("waiting"), rate)} />
        <${Number} what="let in so far" value=${count(of("admitted"))} says=${rate === null || rate === undefined ? "in all" : `${count(Math.round(rate))} a minute lately`} />
        <${Number} what="inside now" value=${count(of("inside"))} says=${room.shopping_max === null ? "any number may be" : `${count(room.shopping_max)} may be`} />`}
      <${Number} what="workers" value=${launch.workers_wanted === null ? count(of("workers")) : `${count(of("workers"))} of ${count(launch.workers_wanted)}`} says=${launch.owner ? `decides: ${launch.owner.process}` : "nobody decides just now"} />
    </dl>
  </section>`;
}

function Number({ what, value, says }) {
  return html`<div><dt>${what}</dt><dd>${value}<small>${says}</small></dd></div>`;
}

/** How long until the last in line is let in, as it goes now. */
const waits = (waiting, rate) => (waiting && rate > 0 ? `about ${spell((waiting / rate) * 60)} until the last is let in` : waiting && rate === 0 ? "nobody was let in lately" : waiting ? "how long that takes is not known yet" : "nobody waits");
