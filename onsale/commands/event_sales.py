"""`event sell`, `return`: an operator's sales by hand and orders taken back, with who and why.

`onsale.commands.event` makes them its own subcommands.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

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
from store import audit, blocks, sales
from store.stream.wake import wake
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
        if as_json:
            print_json(left)
        else:
            rest = f"; it still has {view.named(left)}" if left.seats or left.areas else ""
            print_plainly(f"Order {order} of {left.buyer} is {left.state}{rest}.")
