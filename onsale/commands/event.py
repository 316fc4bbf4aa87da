"""`event`: put a plan on sale, begin its lobby, open, pause, resume and close it, change its terms and seats,
and see how it stands and who waits.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from onsale.commands import event_export as export
from onsale.commands import event_launch as sitting
from onsale.commands import event_money as money
from onsale.commands import event_off as off
from onsale.commands import event_sales as sales
from onsale.commands import event_seats as seats
from onsale.commands import event_view as view
from onsale.commands.event_seats import MayWhyOption, WhoOption
from onsale.commands.plainly import (
    instant,
    instant_or_by_hand,
    print_json,
    print_plainly,
    told_plainly,
    with_engines,
)
from store import events
from store.errors import BadRequest
from store.overview import read_overview
from store.room import operating
from store.room.words import RoomPolicy, RoomTerms
from store.schedule import TimesChange
from store.stream.wake import undecided, wake
from store.waiting_overview import read_waiting
from store.words import Arrival, EventState

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help=(
        "Events: create, launch, set, lobby, open, pause, resume, close, show, waiting, list; prices; "
        "their seats: block, unblock, release-hold, sell, return, recategorise; "
        "their money: figures, settlement; what to take away: export; and cancel, move."
    ),
)

SlugArgument = Annotated[str, typer.Argument(help="The event's name in addresses, such as spring-gala.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer as JSON, for scripts.")]
DataDirOption = Annotated[
    Path | None, typer.Option("--data-dir", help="Where the embedded engines live. Default: .data")
]
ReturnsOption = Annotated[
    bool | None, typer.Option("--returns/--no-returns", help="Buyers may return what they bought.")
]
TransfersOption = Annotated[
    bool | None, typer.Option("--transfers/--no-transfers", help="Who has a ticket may give it away.")
]
StartsAtOption = Annotated[
    str | None, typer.Option(help="When it takes place, such as 2030-05-01T20:00+02:00; buyers read it.")
]
LimitOption = Annotated[
    list[str] | None,
    typer.Option("--limit", help="Most of a category one buyer may have, such as Gold=4; 0: none."),
]
FiguresOption = Annotated[
    bool | None, typer.Option("--figures/--no-figures", help="Its page says how much is sold.")
]

LIMIT_DIGITS_MAX = 9


class Payment(StrEnum):
    """How a hold becomes an order."""

    none = "none"
    required = "required"


class LatePayment(StrEnum):
    """What becomes of money that comes when its hold has run out."""

    refund = "refund"
    reacquire = "reacquire"


class Gate(StrEnum):
    """Whether gateways may refuse at once what they know is gone."""

    on = "on"
    off = "off"


@app.command("create")
def create(
    slug: SlugArgument,
    venue: Annotated[str, typer.Option("--venue", help="The venue's slug; `venue list` shows them.")],
    name: Annotated[str | None, typer.Option("--name", help="What buyers read. Default: the slug.")] = None,
    hold_ttl_seconds: Annotated[int, typer.Option(help="How long a buyer may keep seats unpaid.")] = 480,
    seats_per_buyer: Annotated[int, typer.Option(help="Most seats and places one buyer may have.")] = 8,
    gate: Annotated[Gate, typer.Option(help="Refuse at once what is known to be gone.")] = Gate.on,
    opens_at: Annotated[
        str | None, typer.Option(help="When it opens by itself, such as 2030-05-01T10:00+02:00.")
    ] = None,
    lobby_opens_at: Annotated[
        str | None, typer.Option(help="When its lobby does, before that: buyers may join from then on.")
    ] = None,
    extensions: Annotated[int, typer.Option(help="How often a buyer may extend a hold, 0 to 20.")] = 1,
    extension_seconds: Annotated[int, typer.Option(help="By how much, each time.")] = 120,
    limit: LimitOption = None,
    offer_ttl_seconds: Annotated[
        int, typer.Option(help="How long what is offered to who waits is kept for them.")
    ] = 600,
    payment: Annotated[
        Payment, typer.Option(help="required: a hold is bought by paying for it. Fixed once the sale begins.")
    ] = Payment.none,
    late_payment: Annotated[
        LatePayment, typer.Option(help="Money that comes too late: refund it, or try for the same seats.")
    ] = LatePayment.refund,
    returns: ReturnsOption = False,
    transfers: TransfersOption = False,
    starts_at: StartsAtOption = None,
    figures: FiguresOption = False,
    room: Annotated[
        RoomPolicy | None, typer.Option("--room", help="Give it a waiting room; `./run room` changes it.")
    ] = None,
    open_now: Annotated[bool, typer.Option("--open", help="Open it at once.")] = False,
    who: WhoOption = None,
    why: MayWhyOption = "",
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put a venue's plan on sale; a draft until lobby or sale begin, by you or at the times you give."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, urls):
        when, limits = instant(opens_at, "--opens-at", "invalid_event"), _limits(limit or [])
        said = seats.said_here(who, why, "put on sale")
        with conn.transaction():
            venue_id, plan = events.find_venue(conn, venue)
            events.create_event(
                conn,
                slug,
                name or slug,
                venue_id,
                plan,
                hold_ttl_seconds=hold_ttl_seconds,
                seats_per_buyer_max=seats_per_buyer,
                fast_gate=gate is Gate.on,
                opens_at=when,
                lobby_opens_at=instant(lobby_opens_at, "--lobby-opens-at", "invalid_event"),
                said=said,
                extensions_max=extensions,
                extension_seconds=extension_seconds,
                limits=limits,
                offer_ttl_seconds=offer_ttl_seconds,
                payment=payment.value,
                late_payment=late_payment.value,
                returns_allowed=bool(returns),
                transfers_allowed=bool(transfers),
                starts_at=instant(starts_at, "--starts-at", "invalid_event"),
                figures_on_page=bool(figures),
            )
            if room is not None:
                operating.make(conn, slug, RoomTerms(policy=room), said)
            if open_now:
                events.set_state(conn, slug, EventState.OPEN, said=said)
        wake(urls.redis_url, slug)
        event = events.get_event(conn, slug)
        _say(event, as_json, view.created(event, plan))


@app.command("lobby")
def lobby(
    slug: SlugArgument,
    who: WhoOption = None,
    why: MayWhyOption = "",
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let buyers join its waiting room, before it opens."""
    _change(slug, EventState.LOBBY, (who, why, "began its lobby"), data_dir, as_json)


@app.command("open")
def open_event(
    slug: SlugArgument,
    who: WhoOption = None,
    why: MayWhyOption = "",
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start selling."""
    _change(slug, EventState.OPEN, (who, why, "opened the sale"), data_dir, as_json)


@app.command("pause")
def pause(
    slug: SlugArgument,
    who: WhoOption = None,
    why: MayWhyOption = "",
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop deciding; requests keep their order, running holds get the lost time back."""
    _change(slug, EventState.PAUSED, (who, why, "paused the sale"), data_dir, as_json)


@app.command("resume")
def resume(
    slug: SlugArgument,
    who: WhoOption = None,
    why: MayWhyOption = "",
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on after a pause."""
    _change(
        slug,
        EventState.OPEN,
        (who, why, "went on after a pause"),
        data_dir,
        as_json,
        leaving=(EventState.PAUSED,),
    )


@app.command("close")
def close(
    slug: SlugArgument,
    who: WhoOption = None,
    why: MayWhyOption = "",
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop selling for good; running holds can still be paid."""
    _change(slug, EventState.CLOSED, (who, why, "closed the sale"), data_dir, as_json)


@app.command("set")
def set_policy(
    slug: SlugArgument,
    hold_ttl_seconds: Annotated[
        int | None, typer.Option(help="How long a buyer may keep seats unpaid.")
    ] = None,
    seats_per_buyer: Annotated[
        int | None, typer.Option(help="Most seats and places one buyer may have.")
    ] = None,
    limit: LimitOption = None,
    no_limits: Annotated[bool, typer.Option("--no-limits", help="Categories have no limits.")] = False,
    gate: Annotated[Gate | None, typer.Option(help="Refuse at once what is known to be gone.")] = None,
    extensions: Annotated[
        int | None, typer.Option(help="How often a buyer may extend a hold, 0 to 20.")
    ] = None,
    extension_seconds: Annotated[int | None, typer.Option(help="By how much, each time.")] = None,
    offer_ttl_seconds: Annotated[
        int | None, typer.Option(help="How long what is offered to who waits is kept for them.")
    ] = None,
    payment: Annotated[Payment | None, typer.Option(help="Only before the sale begins.")] = None,
    late_payment: Annotated[
        LatePayment | None, typer.Option(help="Money that comes too late: refund it, or try for the seats.")
    ] = None,
    returns: ReturnsOption = None,
    transfers: TransfersOption = None,
    starts_at: StartsAtOption = None,
    opens_at: Annotated[
        str | None, typer.Option(help="When it opens by itself; by-hand: not at all. Until the sale begins.")
    ] = None,
    lobby_opens_at: Annotated[
        str | None, typer.Option(help="When its lobby does; by-hand: not at all. While it is a draft.")
    ] = None,
    figures: FiguresOption = None,
    who: WhoOption = None,
    why: MayWhyOption = "",
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the terms of a sale, for what is decided from now on; what is left out stays. Limits are told
    anew, all of them; which categories have one is settled when the sale begins."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, urls):
        if limit and no_limits:
            raise BadRequest("invalid_event", "Say either --limit or --no-limits.")
        event = events.set_policy(
            conn,
            slug,
            seats.said_here(who, why, "changed its terms"),
            TimesChange(
                opens_at=instant_or_by_hand(opens_at, "--opens-at", "invalid_event"),
                lobby_opens_at=instant_or_by_hand(lobby_opens_at, "--lobby-opens-at", "invalid_event"),
            ),
            hold_ttl_seconds=hold_ttl_seconds,
            seats_per_buyer_max=seats_per_buyer,
            limits=_limits(limit or []) if limit or no_limits else None,
            fast_gate=None if gate is None else gate is Gate.on,
            extensions_max=extensions,
            extension_seconds=extension_seconds,
            offer_ttl_seconds=offer_ttl_seconds,
            payment=None if payment is None else payment.value,
            late_payment=None if late_payment is None else late_payment.value,
            returns_allowed=returns,
            transfers_allowed=transfers,
            starts_at=instant(starts_at, "--starts-at", "invalid_event"),
            figures_on_page=figures,
        )
        wake(urls.redis_url, slug)
        _say(event, as_json, view.terms(event))


@app.command("waiting")
def waiting(slug: SlugArgument, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """The waiting list: how many wait, for what, since when, and what became of the offers."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        told = read_waiting(conn, slug)
    if as_json:
        print_json(told)
    else:
        print_plainly(view.waiting(told))


@app.command("show")
def show(slug: SlugArgument, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """How the sale stands: seats, requests, and how far decisions are."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, urls):
        overview = read_overview(conn, slug)
        behind = undecided(urls.redis_url, slug, Arrival(overview.progress.arrival))
    if as_json:
        print_json({**msgspec.to_builtins(overview), "undecided": behind})
    else:
        print_plainly(view.overview(overview, behind))


@app.command("list")
def list_all(data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """List the events there are."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        there = events.list_events(conn)
    if as_json:
        print_json(there)
    else:
        print_plainly(view.listing(there))


def _change(
    slug: str,
    to: EventState,
    said: tuple[str | None, str, str],
    data_dir: Path | None,
    as_json: bool,
    *,
    leaving: tuple[EventState, ...] | None = None,
) -> None:
    with told_plainly(as_json), with_engines(data_dir) as (conn, urls):
        event = events.set_state(conn, slug, to, leaving=leaving, said=seats.said_here(*said))
        wake(urls.redis_url, slug)
        _say(event, as_json, f"{event.name} ({event.slug}) is {event.state} now.")


def _limits(written: list[str]) -> dict[str, int]:
    limits: dict[str, int] = {}
    for one in written:
        category, _, most = one.rpartition("=")
        if not category or not most.isdecimal() or len(most) > LIMIT_DIGITS_MAX or category in limits:
            story = f"--limit takes a category once and how many, such as Gold=4, not {one!r}."
            raise BadRequest("invalid_event", story)
        limits[category] = int(most)
    return limits


def _say(event: events.Event, as_json: bool, sentence: str) -> None:
    if as_json:
        print_json(event)
    else:
        print_plainly(sentence)


app.command("launch")(sitting.launch)
app.command("block")(seats.block)
app.command("unblock")(seats.unblock)
app.command("release-hold")(seats.release_hold)
app.command("sell")(sales.sell)
app.command("return")(sales.take_back)
app.command("recategorise")(sales.recategorise)
app.command("prices")(sales.prices)
app.command("audit")(seats.read_audit)
app.command("figures")(money.figures)
app.command("settlement")(money.settle)
app.command("export")(export.export)
app.command("cancel")(off.cancel)
app.command("move")(off.move)
