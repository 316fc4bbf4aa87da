"""`event sell`, `return`, `prices`: sales by hand, orders taken back, fees and tax; with who and why.

`onsale.commands.event` makes them its own subcommands.
"""

from __future__ import annotations

import re
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

import typer
from msgspec.structs import replace

from onsale.commands import event_view as view
from onsale.commands.event_seats import (
    AreaOption,
    DataDirOption,
    JsonOption,
    SeatsArgument,
    SlugArgument,
    WhoOption,
    WhyOption,
    name_of,
    places_of,
)
from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from store import audit, blocks, event_prices, sales
from store.errors import BadRequest
from store.events import get_event
from store.prices import WHOLE
from store.recategorise import recategorise as move_categories
from store.stream.wake import tell_holder, wake
from store.venues.reading import amount_minor
from store.words import HoldKind


class Kind(StrEnum):
    """How an operator sells."""

    complimentary = "complimentary"
    box_office = "box-office"


def sell(
    slug: SlugArgument,
    to: Annotated[str, typer.Option("--to", help="The buyer, as in their tokens.")],
    kind: Annotated[Kind, typer.Option("--as", help="For nothing, or paid at the box office.")],
    why: WhyOption,
    seats: SeatsArgument = None,
    area: AreaOption = None,
    reference: Annotated[
        str, typer.Option("--reference", help="Tells apart two sales alike; the same again is the same sale.")
    ] = "",
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sell or give seats and places to a buyer at once, blocked or free. All of them or none."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, urls):
        said = audit.said(name_of(who), why)
        event_id, plan = blocks.event_and_plan(conn, slug)
        sold = HoldKind.COMPLIMENTARY if kind is Kind.complimentary else HoldKind.BOX_OFFICE
        what = (seats or [], places_of(area or []), to, sold)
        order = sales.sell(conn, event_id, plan, *what, said, reference=reference)
        wake(urls.redis_url, slug)
        if as_json:
            print_json(order)
        else:
            print_plainly(f"Order {order.hold} of {order.buyer} ({kind}): {view.named(order)}.")


def take_back(
    slug: SlugArgument,
    order: Annotated[int, typer.Argument(min=1, max=(1 << 63) - 1, help="The order's number.")],
    why: WhyOption,
    seat: Annotated[
        list[str] | None, typer.Option("--seats", help="Only this seat of it; may be repeated.")
    ] = None,
    area: AreaOption = None,
    of: Annotated[
        int | None, typer.Option("--of", help="How many seats and places it has; needed with --area.")
    ] = None,
    block: Annotated[bool, typer.Option("--block", help="What comes back stays off sale.")] = False,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take an order back, whole or in part; what it had is free at once."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, urls):
        said = audit.said(name_of(who), why)
        event_id, plan = blocks.event_and_plan(conn, slug)
        seats, areas = seat or [], places_of(area or [])
        left = sales.take_back(
            conn, event_id, plan, order, said, seats=seats, areas=areas, quantity=of, block=block
        )
        wake(urls.redis_url, slug)
        tell_holder(urls.redis_url, slug, left)
        if as_json:
            print_json(left)
        else:
            rest = f"; it still has {view.named(left)}" if left.seats or left.areas else ""
            print_plainly(f"Order {order} of {left.buyer} is {left.state}{rest}.")


def recategorise(
    slug: SlugArgument,
    to: Annotated[str, typer.Option("--to", help="A category of the plan, by name.")],
    why: WhyOption,
    seats: SeatsArgument = None,
    area: Annotated[list[str] | None, typer.Option("--area", help="A whole area; may be repeated.")] = None,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give seats and areas another category (price level), before the sale or while it runs."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, urls):
        said = audit.said(name_of(who), why)
        moved = move_categories(conn, slug, to, seats or [], area or [], said)
        wake(urls.redis_url, slug)
        if as_json:
            print_json(moved)
        else:
            names = [*moved.seats, *moved.areas]
            more = " …" if len(names) > view.SEATS_TOLD_MAX else ""
            print_plainly(f"{moved.category} now: {', '.join(names[: view.SEATS_TOLD_MAX])}{more}")


class Tax(StrEnum):
    """Where the tax is."""

    included = "included"
    added = "added"


def prices(
    slug: SlugArgument,
    fee: Annotated[str | None, typer.Option("--fee", help="For each seat, such as 1.50.")] = None,
    fee_percent: Annotated[str | None, typer.Option(help="Of the price, such as 2.5.")] = None,
    tax_percent: Annotated[str | None, typer.Option(help="Such as 19.")] = None,
    tax: Annotated[Tax | None, typer.Option(help="In the prices already, or on top.")] = None,
    why: Annotated[str, typer.Option("--why", help="Kept with a change: at most 200 characters.")] = "",
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """What seats cost with fees and tax; options settle these, until the sale begins."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        event_id = get_event(conn, slug).id
        now = event_prices.read(conn, event_id)
        terms = now.terms
        if fee is not None:
            terms = replace(terms, fee_minor=amount_minor(fee, now.currency, "--fee"))
        if fee_percent is not None:
            terms = replace(terms, fee_basis_points=_basis_points(fee_percent, "--fee-percent"))
        if tax_percent is not None:
            terms = replace(terms, tax_basis_points=_basis_points(tax_percent, "--tax-percent"))
        if tax is not None:
            terms = replace(terms, tax_included=tax is Tax.included)
        if terms != now.terms:
            now = event_prices.set_terms(conn, slug, terms, audit.said(name_of(who), why))
        if as_json:
            print_json(now)
        else:
            print_plainly(view.priced(now))


def _basis_points(written: str, option: str) -> int:
    """`2.5` as 250."""
    written = written.replace(",", ".")
    readable = re.fullmatch(r"\d{1,3}(\.\d{1,2})?", written)
    points = int(Decimal(written) * 100) if readable else WHOLE + 1
    if points > WHOLE:
        story = f"{option} must be 0 to 100 with at most two decimals, not {written!r}."
        raise BadRequest("invalid_prices", story)
    return points
