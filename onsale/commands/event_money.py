"""`event figures`, `settlement`: what a sale has come to, and whether its money balances.

`onsale.commands.event` makes them its own subcommands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table

from onsale.commands.event_seats import DataDirOption, JsonOption, SlugArgument
from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from store.errors import BadRequest
from store.events import get_event
from store.figures import read as reading
from store.figures.project import rebuild as count_anew
from store.figures.project import step
from store.figures.read import EventFigures
from store.payments import settlement_csv
from store.payments.settlement import Entry, Settlement, settlement
from store.venues.reading import amount_shown

IMBALANCES_SHOWN: int = 20


def figures(
    slug: SlugArgument,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Count all of it anew, from the first order.")
    ] = False,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Percent sold, revenue, orders per minute, how fast holds become orders; counted up to now."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        event_id = get_event(conn, slug).id
        plan = reading.plan_of(conn, event_id)
        if rebuild:
            count_anew(conn, event_id, plan)
        while step(conn, event_id, plan):
            pass
        told = reading.read(conn, slug)
    if as_json:
        print_json(told)
    else:
        print_plainly(_figures(told))


def settle(
    slug: SlugArgument,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write a line for each payment and order to this file.")
    ] = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """What came in, what for, what goes back and what is paid out; exit code 1 where it does not balance."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _), _writing(csv) as write:
        told = settlement(conn, slug, write)
    if as_json:
        print_json(told)
    else:
        print_plainly(_settlement(told))
    raise typer.Exit(0 if told.balances else 1)


@contextmanager
def _writing(path: Path | None) -> Iterator[Callable[[Entry], None] | None]:
    """What writes an entry's line to the file; None without one."""
    if path is None:
        yield None
        return
    try:
        file = path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise BadRequest("csv_not_written", f"{path} cannot be written: {error.strerror}.") from None
    with file:
        file.write(settlement_csv.header())

        def write(entry: Entry) -> None:
            file.write(settlement_csv.line(entry))

        yield write


def _figures(told: EventFigures) -> RenderableType:
    orders, holds, refunds = told.orders, told.holds, told.refunds
    head = (
        f"{told.event}: {told.percent_sold:g} % sold, {told.sold:,} of {told.capacity:,}. "
        f"Counted up to {told.age_ms:,} ms ago.\n"
        f"Orders: {orders.paid:,} paid, {orders.free:,} free, {orders.by_hand:,} by hand, "
        f"{orders.moved_in:,} moved here, {orders.taken_back:,} taken back.\n"
        f"Holds: {holds.given:,} given, {holds.offered:,} offered, {holds.moved:,} moved, "
        f"{holds.released:,} given back, {holds.expired:,} run out.\n"
        f"Refunds: {_money(refunds.owed_minor, told.currency)} owed so far, "
        f"{_money(refunds.given_minor, told.currency)} of it given."
    )
    table = Table("category", box=None)
    for heading in ("places", "paid", "fees in it", "tax in it", "refunded", "moved away"):
        table.add_column(heading, justify="right")
    for one in told.revenue:
        parts = (one.gross_minor, one.fee_minor, one.tax_minor, one.refunded_minor, one.moved_minor)
        shown = [_money(part, told.currency) for part in parts]
        table.add_row(one.category or "-", f"{one.places:,}", *shown)
    speed = Table("became orders within", box=None)
    speed.add_column("holds", justify="right")
    for bucket in told.conversion.buckets:
        within = "longer" if bucket.seconds_max is None else f"{bucket.seconds_max} s"
        speed.add_row(within, f"{bucket.orders:,}")
    return Group(head, "", table, "", speed)


def _settlement(told: Settlement) -> RenderableType:
    def money(amount: int) -> str:
        return _money(amount, told.currency)

    lines = Table(box=None, show_header=False)
    lines.add_column()
    lines.add_column(justify="right")
    for name, amount in (
        ("money in", told.money_in_minor), ("refunded", -told.refunded_minor),
        ("refunds still owed", -told.refund_due_minor), ("", None),
        ("= orders that stand", told.standing_minor), ("    of that fees", told.fee_minor),
        ("    of that tax", told.tax_minor), ("+ late, for seats not had yet", told.open.late.amount_minor),
        ("provider's fees", -told.provider_fee_minor), ("= payout", told.payout_minor),
    ):  # fmt: skip
        lines.add_row(name, "" if amount is None else money(amount))
    table = Table("category", box=None)
    for heading in ("places", "came in", "returned", "stands", "fees in it", "tax in it"):
        table.add_column(heading, justify="right")
    for one in told.categories:
        parts = (one.gross_minor, one.returned_minor, one.net_minor, one.fee_minor, one.tax_minor)
        table.add_row(one.category, f"{one.places:,}", *[money(part) for part in parts])
    late, due, unresolved = told.open.late, told.open.refund_due, told.open.unresolved
    still_open = (
        f"Still due to buyers: {money(due.amount_minor)}, of {due.count:,} payments.\n"
        f"Still open: {late.count:,} late payments ({money(late.amount_minor)}), for seats or to go back; "
        f"{unresolved.count:,} begun ({money(unresolved.amount_minor)}) for which money may still come."
    )
    apart = [f"{one.orders:,} {one.kind} ({one.places:,} places)" for one in told.apart]
    told_apart = f"Without a payment: {', '.join(apart) or 'none'}."
    moved = (
        f"Moved away: {told.moved_out.count:,} ({money(told.moved_out.amount_minor)}); "
        f"moved here: {told.moved_in.count:,} ({money(told.moved_in.amount_minor)})."
    )
    head = f"{told.event}: orders that were paid for and stand: {told.orders:,}."
    return Group(head, "", lines, "", table, "", still_open, told_apart, moved, _balance(told))


def _balance(told: Settlement) -> str:
    if told.balances:
        return "It balances: money in = refunded + owed + orders + late, payment by payment."
    shown = told.imbalances[:IMBALANCES_SHOWN]
    whose = ["in all" if one.payment is None else f"payment {one.payment}" for one in shown]
    rows = [f"  {name}: {one.story}" for name, one in zip(whose, shown, strict=True)]
    more = len(told.imbalances) - len(shown)
    return "\n".join(["It does NOT balance:", *rows, *([f"  and {more} more"] if more else [])])


def _money(minor: int, currency: str) -> str:
    return amount_shown(minor, currency)
