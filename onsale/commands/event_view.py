"""What the `event` commands print for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table

from store.event_prices import EventPrices
from store.events import Event
from store.overview import Overview, Progress
from store.plan import Plan
from store.prices import PriceTerms
from store.sales import Order
from store.schedule import BEFORE
from store.stream.wake import LAG_COUNT_MAX
from store.venues.reading import amount_shown
from store.waiting_overview import WaitingOverview, in_words
from store.words import EventState, SeatState

SEATS_TOLD_MAX = 12
NEXT_STEP = {
    EventState.DRAFT: "Open it with: ./run event open {slug}",
    EventState.OPEN: "Buyers find it at /e/{slug}",
}


def created(event: Event, plan: Plan) -> str:
    """One or two lines after `event create`."""
    standing = sum(area.capacity for area in plan.areas)
    places = f" and {standing:,} standing places" if standing else ""
    next_step = NEXT_STEP[event.state].format(slug=event.slug)
    if by_itself := _by_itself(event):
        next_step = f"{by_itself} Sooner: {next_step}"
    return (
        f"{event.name} ({event.slug}): {len(plan.seats):,} seats{places} at {plan.name}; "
        f"it is {event.state}.\n{next_step}"
    )


def _by_itself(event: Event) -> str:
    """What is to begin without anybody, and when; nothing once it has begun."""
    told = []
    if event.lobby_opens_at is not None and event.state in BEFORE["lobby_opens_at"]:
        told.append(f"Its lobby opens by itself at {_moment(event.lobby_opens_at)}.")
    if event.opens_at is not None and event.state in BEFORE["opens_at"]:
        told.append(f"It opens by itself at {_moment(event.opens_at)}.")
    return " ".join(told)


def listing(events: list[Event]) -> RenderableType:
    """All events, newest first."""
    if not events:
        return "No events yet. Make one: ./run event create my-event --venue VENUE --open"
    table = Table("slug", "name", "state", "lobby", "opens", box=None)
    for event in events:
        lobby, opens = (_moment(when) if when else "" for when in (event.lobby_opens_at, event.opens_at))
        table.add_row(event.slug, event.name, event.state, lobby, opens)
    return table


def priced(prices: EventPrices) -> RenderableType:
    """What a seat of each category costs, and by which terms."""
    table = Table("category", box=None)
    for heading in ("price", "fee", "tax", "in all"):
        table.add_column(heading, justify="right")
    for one in prices.categories:
        parts = (one.price_minor, one.fee_minor, one.tax_minor, one.total_minor)
        table.add_row(one.category, *[amount_shown(part, prices.currency) for part in parts])
    return Group(terms_of(prices.terms, prices.currency), "", table)


def terms_of(terms: PriceTerms, currency: str = "") -> str:
    each = amount_shown(terms.fee_minor, currency) if currency else f"{terms.fee_minor:,} (smallest unit)"
    where = "in the prices" if terms.tax_included else "on top"
    part, tax = terms.fee_basis_points / 100, terms.tax_basis_points / 100
    return f"Fee of each seat {each} and {part:g} % of the price; tax {tax:g} %, {where}."


def named(order: Order) -> str:
    """The seats and places of an order; long lists are cut."""
    return seats_named(order.seats, order.areas)


def seats_named(seats: Sequence[str], areas: Mapping[str, int]) -> str:
    parts = [", ".join(seats[:SEATS_TOLD_MAX])] if seats else []
    if len(seats) > SEATS_TOLD_MAX:
        parts[0] += f" and {len(seats) - SEATS_TOLD_MAX} more seats"
    return " and ".join(parts + [f"{area} {places:,}" for area, places in areas.items()])


def _moment(when: datetime) -> str:
    return when.isoformat(" ", "minutes")


def overview(told: Overview, undecided: int | None) -> RenderableType:
    """One event: its state, its seats, its areas, its requests, who decides."""
    event = told.event
    head = f"{event.name} ({event.slug}) is {event.state}{_sold_out(told)}\n{terms(event)}"
    progress = _progress(told.progress, undecided)
    return Group(head, "", _places(told), "", priced(told.prices), "", _requests(told), "", progress)


def terms(event: Event) -> str:
    """What buyers may do, as the organiser decided."""
    gate = "on" if event.fast_gate else "off"
    return (
        f"Holds last {event.hold_ttl_seconds} s, {event.seats_per_buyer_max} seats a buyer, "
        f"fast gate {gate}.{_limits(event)}\n"
        f"A hold may be extended {event.extensions_max} times, by {event.extension_seconds} s each. "
        f"What is offered to who waits is kept {event.offer_ttl_seconds} s.{_back(event)}\n"
        f"{_payment(event)}{_told(event)}"
    )


def _told(event: Event) -> str:
    """What its page tells of it besides, if anything."""
    by_itself = _by_itself(event)
    told = [by_itself] if by_itself else []
    told += [] if event.starts_at is None else [f"It takes place on {_moment(event.starts_at)}."]
    told += ["Its page says how much is sold."] if event.figures_on_page else []
    return "\n" + " ".join(told) if told else ""


def _payment(event: Event) -> str:
    if event.payment == "none":
        return "A hold is bought by saying so; nobody is asked for money."
    late = "refunded" if event.late_payment == "refund" else "used for the same seats, if they are free"
    return f"A hold is bought by paying for it. Money that comes too late is {late}."


def _back(event: Event) -> str:
    """What buyers may do with what they bought, if anything."""
    may = ["return what they bought"] if event.returns_allowed else []
    may += ["give tickets away"] if event.transfers_allowed else []
    return f" Buyers may {' and '.join(may)}." if may else ""


def _limits(event: Event) -> str:
    """Other limits than that of all seats, if there are any."""
    limits = [f"{most} of {category}" for category, most in sorted(event.limits.items())]
    told = f"\nOf that at most {', '.join(limits)}." if limits else ""
    return f"{told}\nA date of the tour {event.tour}." if event.tour else told


def waiting(told: WaitingOverview) -> RenderableType:
    """The waiting list: how many, for what, and what became of the offers."""
    offers = told.offers
    so_far = (
        f"Offers so far: {offers.open:,} open, {offers.taken:,} taken, {offers.given_back:,} given back, "
        f"{offers.run_out:,} run out. {told.left:,} left the list."
    )
    if not told.requests:
        return f"Nobody waits for {told.event.name} ({told.event.slug}).\n{so_far}"
    since = f", the first since {told.oldest.isoformat(' ', 'seconds')}" if told.oldest else ""
    head = f"{told.requests:,} requests of {told.buyers:,} buyers wait{since}.\n{so_far}"
    table = Table("requests", "wait for", box=None)
    for wanted in told.wanted:
        table.add_row(f"{wanted.requests:,}", in_words(wanted.want))
    others = told.requests - sum(wanted.requests for wanted in told.wanted)
    if others:
        table.add_row(f"{others:,}", "something else")
    return Group(head, "", table)


def _sold_out(told: Overview) -> str:
    free = told.seats[SeatState.AVAILABLE] + sum(area.free for area in told.areas)
    held = told.seats[SeatState.HELD] + sum(area.held for area in told.areas)
    if free:
        return "."
    return f", sold out; {held:,} on hold." if held else ", sold out."


def _places(told: Overview) -> Table:
    table = Table(" ", box=None)
    for heading in ("free", "held", "sold", "blocked"):
        table.add_column(heading, justify="right")
    states = (SeatState.AVAILABLE, SeatState.HELD, SeatState.SOLD, SeatState.BLOCKED)
    table.add_row("seats", *[f"{told.seats[state]:,}" for state in states])
    for area in told.areas:
        table.add_row(area.name, f"{area.free:,}", f"{area.held:,}", f"{area.sold:,}", f"{area.blocked:,}")
    return table


def _requests(told: Overview) -> str:
    given = [f"{count:,} {outcome}" for outcome, count in told.requests.items() if count]
    return f"Requests decided: {', '.join(given)}." if given else "No request was decided yet."


def _progress(progress: Progress, undecided: int | None) -> str:
    if undecided is None:
        lag = "the stream does not answer, so how many wait is not known"
    elif undecided >= LAG_COUNT_MAX:
        lag = f"{LAG_COUNT_MAX:,} or more requests wait"
    else:
        lag = f"{undecided:,} requests wait"
    if progress.facts_waiting:
        lag += f", {progress.facts_waiting:,} changes by others to take in"
    owner = progress.worker or progress.owner
    if owner is None:
        by = "Nobody decides yet: no allocator has taken this event."
    elif progress.renewed_seconds_ago is None:
        by = f"Decided by {owner}, epoch {progress.epoch}."
    else:
        by = f"Decided by {owner}, epoch {progress.epoch}, heard of {progress.renewed_seconds_ago:.0f} s ago."
    return f"Batch {progress.batch_no:,}, decided up to {progress.arrival}; {lag}.\n{by}"
