"""`room refused`: who was turned away from a waiting room, by minute and reason, and from how many addresses.

`onsale.commands.room` makes it its own subcommand. Addresses are keyed hashes: whoever has the room's key can
tell whether one they know is among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table

from onsale.chores.trim import REFUSED_DAYS
from onsale.commands.event_seats import DataDirOption, JsonOption, SlugArgument
from onsale.commands.plainly import instant, print_json, print_plainly, told_plainly, with_engines
from store.events import get_event
from store.room import refused as evidence
from store.room import rooms
from store.room.refused import ADDRESSES_MAX, READ_MAX, Refused

ADDRESSES_SHOWN = 3
"""Of one row, to people; scripts get all that were kept."""


def refused(
    slug: SlugArgument,
    since: Annotated[
        str | None, typer.Option("--since", help="From this minute on, such as 2030-05-01T10:00+02:00.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="Up to this minute, and not in it.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=READ_MAX, help="Most minutes and reasons, the newest.")
    ] = 100,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Who was turned away, by minute and reason, newest first; which addresses most, as keyed hashes."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        begins = instant(since, "--since", "invalid_range")
        ends = instant(until, "--until", "invalid_range")
        event = get_event(conn, slug).id
        rooms.read(conn, event)  # says so where there is no room
        rows = evidence.read(conn, event, limit, since=begins, until=ends)
    if as_json:
        print_json({"refused": rows})
    else:
        print_plainly(_shown(slug, rows, limit, ranged=bool(since or until)))


def _shown(slug: str, rows: Sequence[Refused], limit: int, *, ranged: bool) -> RenderableType:
    if not rows:
        when = "in that time" if ranged else f"in the last {REFUSED_DAYS} days"
        return f"Nobody was turned away from the waiting room of {slug} {when}."
    table = Table("minute (UTC)", "reason", box=None)
    table.add_column("refused", justify="right")
    table.add_column("addresses", justify="right")
    table.add_column("most from")
    for row in rows:
        most = sorted(row.addresses.items(), key=lambda one: (-one[1], one[0]))
        named = ", ".join(f"{address} {times:,}" for address, times in most[:ADDRESSES_SHOWN])
        minute = f"{row.minute.astimezone(UTC):%Y-%m-%d %H:%M}"
        table.add_row(minute, row.reason, f"{row.count:,}", _addresses(len(most)), named)
    refusals, told = sum(row.count for row in rows), f"The waiting room of {slug} turned away"
    lines: list[RenderableType] = [f"{told} {refusals:,} attempts in these minutes.", "", table]
    if len(rows) == limit:
        lines += ["", "There may be more before: say --until, or a higher --limit."]
    return Group(*lines)


def _addresses(kept: int) -> str:
    return f"{ADDRESSES_MAX} or more" if kept == ADDRESSES_MAX else str(kept)
