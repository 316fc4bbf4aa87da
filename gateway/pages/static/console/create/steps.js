// The steps after the plan: prices, times, rules, the waiting room, texts. Each setting says what it does.

import { html } from "../../html.js";
import { counted } from "../../core/money.js";
import { houseOf, writtenOf } from "./body.js";
import { Check, Choice, Line, Text } from "./fields.js";
import { Terms } from "./terms.js";
import { money } from "../words.js";

export function PricesStep({ draft, set, seen, errors }) {
  const { prices } = draft;
  const put = (more) => set("prices", { ...prices, ...more });
  if (!seen) return html`<p class="quiet-text">Choose a plan first: its categories are priced here.</p>`;
  const { holds } = seen;
  const house = houseOf(holds, prices, holds.currency);
  return html`<div class="fields">
    ${holds.categories.map((one) => html`<${Line} key=${one.name} name=${`price-${one.name}`} label=${one.name} mode="decimal" unit=${holds.currency}
      value=${prices.categories[one.name] ?? writtenOf(one.price_minor, holds.currency)} change=${(value) => put({ categories: { ...prices.categories, [one.name]: value } })}
      error=${errors[`prices.categories.${one.name}`] ?? errors["prices.categories"]} says=${`${counted(one.seats + one.places, "place")} of this category.`} />`)}
    <${Terms} terms=${prices} currency=${holds.currency} put=${put} errors=${Object.fromEntries(["fee_minor", "fee_basis_points", "tax_basis_points"].map((name) => [name, errors[`prices.${name}`]]))} />
    <p class="create-sum" role="status">${house ? html`A sold-out house brings <b class="money">${money(house.net, holds.currency)}</b>${house.paid !== house.net && html`; buyers pay <b class="money">${money(house.paid, holds.currency)}</b> in all`}.` : "Write prices as 49.90, to see what a sold-out house brings."}</p>
  </div>`;
}

export function TimesStep({ draft, set, errors }) {
  const { times } = draft;
  const put = (more) => set("times", { ...times, ...more });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return html`<div class="fields"><div class="field-row">
    <${Line} name="opens-at" label="The sale opens" type="datetime-local" value=${times.opens_at} change=${(opens_at) => put({ opens_at })} error=${errors["event.opens_at"]} says=${`It opens by itself then, in your time (${zone}). Left out, you open it by hand.`} />
    ${draft.room.wanted && html`<${Line} name="lobby-opens-at" label="Its lobby opens" type="datetime-local" value=${times.lobby_opens_at} change=${(lobby_opens_at) => put({ lobby_opens_at })} error=${errors["event.lobby_opens_at"]} says="Before the sale: buyers may join its waiting room from then on. Left out, you open it by hand." />`}
    <${Line} name="starts-at" label="It takes place" type="datetime-local" value=${times.starts_at} change=${(starts_at) => put({ starts_at })} error=${errors["event.starts_at"]} says="Printed on tickets." /></div></div>`;
}

export function RulesStep({ draft, set, seen, errors }) {
  const { rules } = draft;
  const put = (more) => set("rules", { ...rules, ...more });
  const error = (name) => errors[`event.${name}`];
  return html`<div class="fields">
    <div class="field-row"><${Line} name="hold" label="Seats are held for" unit="minutes" mode="numeric" value=${rules.hold_minutes} change=${(hold_minutes) => put({ hold_minutes })} error=${error("hold_ttl_seconds")} says="So long a buyer has to pay." />
      <${Line} name="most" label="Most tickets a buyer" mode="numeric" value=${rules.seats_per_buyer_max} change=${(seats_per_buyer_max) => put({ seats_per_buyer_max })} error=${error("seats_per_buyer_max")} says="Of all categories together." />
      <${Line} name="offer" label="An offer is kept for" unit="minutes" mode="numeric" value=${rules.offer_minutes} change=${(offer_minutes) => put({ offer_minutes })} error=${error("offer_ttl_seconds")} says="What comes back is offered to who waits." /></div>
    ${seen && html`<fieldset class="create-group"><legend>Limits by category</legend><p class="quiet-text">Most of a category one buyer may have; empty: no limit of its own, 0: not for buyers.</p>
      <div class="field-row">${seen.holds.categories.map((one) => html`<${Line} key=${one.name} name=${`limit-${one.name}`} label=${one.name} mode="numeric" value=${rules.limits[one.name] ?? ""}
        change=${(value) => put({ limits: { ...rules.limits, [one.name]: value } })} error=${error(`limits.${one.name}`) ?? error("limits")} />`)}</div></fieldset>`}
    <div class="field-row"><${Choice} name="payment" label="How it is bought" value=${rules.payment} change=${(payment) => put({ payment })} error=${error("payment")} choices=${[["required", "By paying"], ["none", "By saying so (free)"]]} says="Settled once the sale begins." />
      <${Choice} name="late" label="Money that comes too late" value=${rules.late_payment} change=${(late_payment) => put({ late_payment })} choices=${[["refund", "Goes back"], ["reacquire", "Tries for the same seats"]]} says="Where a hold ran out before it was paid." />
      <${Line} name="extensions" label="Buyers may extend a hold" unit="times" mode="numeric" value=${rules.extensions_max} change=${(extensions_max) => put({ extensions_max })} error=${error("extensions_max")} says="" />
      <${Line} name="extension" label="Each time by" unit="seconds" mode="numeric" value=${rules.extension_seconds} change=${(extension_seconds) => put({ extension_seconds })} error=${error("extension_seconds")} /></div>
    <${Check} name="gate" label="Refuse at once what is known to be gone" value=${rules.fast_gate} change=${(fast_gate) => put({ fast_gate })} says="Faster when everybody wants the same seats. Nothing is sold twice either way." />
    <${Check} name="returns" label="Buyers may return tickets" value=${rules.returns_allowed} change=${(returns_allowed) => put({ returns_allowed })} says="For their money; what comes back is sold again." />
    <${Check} name="transfers" label="Buyers may give tickets to somebody else" value=${rules.transfers_allowed} change=${(transfers_allowed) => put({ transfers_allowed })} />
    <${Check} name="figures" label="The page says how much is sold" value=${rules.figures_on_page} change=${(figures_on_page) => put({ figures_on_page })} />
  </div>`;
}

export function RoomStep({ draft, set, errors }) {
  const { room } = draft;
  const put = (more) => set("room", { ...room, ...more });
  const error = (name) => errors[`room.${name}`];
  return html`<div class="fields">
    <${Check} name="room" label="It has a waiting room" value=${room.wanted} change=${(wanted) => put({ wanted })} says="Buyers come in at a pace you set, in a line nobody can jump. Only a draft can be given one." />
    ${room.wanted && html`<div class="field-row">
      <${Choice} name="policy" label="Who is first" value=${room.policy} change=${(policy) => put({ policy })} error=${error("policy")} choices=${[["draw", "A draw among all who joined"], ["fifo", "Who joins first"]]} says="A draw is fairer: being early gives nothing." />
      <${Line} name="pace" label="Pace" unit="a minute" mode="numeric" value=${room.pace} change=${(pace) => put({ pace })} error=${error("pace")} says="Most buyers let in a minute; a rehearsal says what your machines take. Empty: no limit." />
      <${Line} name="inside" label="Most inside at a time" mode="numeric" value=${room.shopping_max} change=${(shopping_max) => put({ shopping_max })} error=${error("shopping_max")} says="Empty: any number." /></div>
    <div class="field-row"><${Line} name="begin" label="Time to come in" unit="minutes" mode="numeric" value=${room.begin_minutes} change=${(begin_minutes) => put({ begin_minutes })} error=${error("begin_seconds")} says="Who is called and does not come keeps their place in line." />
      <${Line} name="shopping" label="Time to choose" unit="minutes" mode="numeric" value=${room.shopping_minutes} change=${(shopping_minutes) => put({ shopping_minutes })} error=${error("shopping_seconds")} /></div>
    ${room.policy === "draw" && html`<${Check} name="ballot" label="Buyers file a wish before, and it is decided when the sale opens" value=${room.ballot} change=${(ballot) => put({ ballot })} error=${error("ballot")} says="In the draw's order. For sales far larger than the house." />`}
    <fieldset class="create-group"><legend>Presale codes</legend><p class="quiet-text">For members or partners: they stand in a line of their own. Codes are shown once, when the event is made.</p>
      <div class="field-row"><${Line} name="label" label="For whom" value=${room.label} change=${(label) => put({ label })} error=${errors["codes.0"] ?? errors["codes.0.label"] ?? errors.codes} />
        <${Line} name="count" label="How many codes" mode="numeric" value=${room.count} change=${(count) => put({ count })} error=${errors["codes.0.count"]} />
        <${Line} name="uses" label="Buyers a code" mode="numeric" value=${room.uses} change=${(uses) => put({ uses })} error=${errors["codes.0.uses"]} /></div></fieldset>`}
  </div>`;
}

export function TextsStep({ draft, set, errors }) {
  const { texts } = draft;
  const put = (more) => set("texts", { ...texts, ...more });
  if (!draft.room.wanted) return html`<p class="quiet-text">These are the waiting room's, and this event has none.</p>`;
  return html`<div class="fields"><div class="field-row">
      <${Line} name="organiser" label="Your name" value=${texts.name} change=${(name) => put({ name })} error=${errors["look.name"]} maxlength="100" says="Above the waiting room." />
      <${Line} name="accent" label="Your colour" value=${texts.accent} placeholder="#2f4fc4" change=${(accent) => put({ accent })} error=${errors["look.accent"]} says="Pages keep it readable in light and dark." />
      <${Line} name="title" label="Title before it opens" value=${texts.title} placeholder="The sale begins soon" change=${(title) => put({ title })} error=${errors["look.texts.lobby.title"] ?? errors["look.texts"]} /></div>
    <${Text} name="message" label="A message to all who wait" value=${texts.message} change=${(message) => put({ message })} error=${errors.message} maxlength="500" says="You can change it at any time." /></div>`;
}
