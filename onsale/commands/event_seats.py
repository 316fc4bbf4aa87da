"""`event block`, `unblock`, `release-hold`, `audit`: an operator's changes of seats, with who and why.

`onsale.commands.event` makes them its own subcommands.
"""

from __future__ import annotations

import getpass
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from onsale.commands.audit_view import audited, what_of
from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from store import audit, blocks
from store.audit import Audit, Said
from store.errors import BadRequest
from store.events import get_event
from store.stream.wake import tell_holder, wake

COUNT_DIGITS_MAX = 9
NOBODY = "command line"
"""Who changes something on a machine where nobody has a name."""

SlugArgument = Annotated[str, typer.Argument(help="The event's name in addresses, such as spring-gala.")]
SeatsArgument = Annotated[
    list[str] | None, typer.Argument(help="Seats by the plan's guids, such as stalls-C-12.")
]
AreaOption = Annotated[
    list[str] | None, typer.Option("--area", help="Standing places, such as floor=20; may be repeated.")
]
WhyOption = Annotated[str, typer.Option("--why", help="Kept with the change: at most 200 characters.")]
WhoOption = Annotated[
    str | None, typer.Option("--who", help="Kept with the change. Default: your name on this machine.")
]
MayWhyOption = Annotated[str, typer.Option("--why", help="Kept with the change: at most 200 characters.")]
"""Where a reason is not asked for."""
JsonOption = Annotated[bool, typer.Option("--json", help="Answer as JSON, for scripts.")]
DataDirOption = Annotated[
    Path | None, typer.Option("--data-dir", help="Where the embedded engines live. Default: .data")
]


def block(
    slug: SlugArgument,
    why: WhyOption,
    seats: SeatsArgument = None,
    area: AreaOption = None,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take free seats and places off sale: house seats, broken seats. All of them or none."""
    _turn(blocks.block, "off sale", slug, seats, area, who, why, data_dir, as_json)


def unblock(
    slug: SlugArgument,
    why: WhyOption,
    seats: SeatsArgument = None,
    area: AreaOption = None,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put blocked seats and places on sale again. All of them or none."""
    _turn(blocks.unblock, "on sale again", slug, seats, area, who, why, data_dir, as_json)


def release_hold(
    slug: SlugArgument,
    hold: Annotated[int, typer.Argument(min=1, max=(1 << 63) - 1, help="The hold's number.")],
    why: WhyOption,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a hold from its buyer; its seats are free at once."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, urls):
        said = audit.said(name_of(who), why)
        event_id, plan = blocks.event_and_plan(conn, slug)
        released = blocks.release_hold(conn, event_id, plan, hold, said)
        wake(urls.redis_url, slug)
        tell_holder(urls.redis_url, slug, released)
        if as_json:
            print_json({"hold": released.hold, "state": released.state})
        else:
            print_plainly(f"Hold {hold} of {released.buyer} is {released.state}.")


def read_audit(
    slug: SlugArgument,
    limit: Annotated[int, typer.Option(min=1, max=audit.ROWS_MAX, help="Most rows to show.")] = 100,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Who changed what by hand and why, newest first."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        rows = audit.read(conn, get_event(conn, slug).id, limit=limit)
    if as_json:
        print_json(rows)
    else:
        print_plainly(audited(rows))


def _turn(
    change: Callable[..., Audit],
    becomes: str,
    slug: str,
    seats: list[str] | None,
    areas: list[str] | None,
    who: str | None,
    why: str,
    data_dir: Path | None,
    as_json: bool,
) -> None:
    with told_plainly(as_json), with_engines(data_dir) as (conn, urls):
        said = audit.said(name_of(who), why)
        event_id, plan = blocks.event_and_plan(conn, slug)
        changed = change(conn, event_id, plan, seats or [], places_of(areas or []), said)
        wake(urls.redis_url, slug)
        if as_json:
            print_json(changed)
        else:
            print_plainly(f"{what_of(changed)}: {becomes}.")


def name_of(who: str | None) -> str:
    """Who is said to make a change: as given, or who is logged in here."""
    if who is not None:
        return who
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""  # nobody of a name; `audit.said` asks for one


def said_here(who: str | None, why: str, does: str) -> Said:
    """Who makes a change here, and why; `does` where no reason is given. For what asked for neither before,
    so a machine where nobody has a name changes it too."""
    return audit.by(name_of(who) or NOBODY, why=why, does=does)


def places_of(written: list[str]) -> dict[str, int]:
    """`floor=20` of each `--area`; raises `BadRequest`."""
    places: dict[str, int] = {}
    for one in written:
        area, _, count = one.rpartition("=")
        if not area or not count.isdecimal() or len(count) > COUNT_DIGITS_MAX or area in places:
            story = f"--area takes an area once and how many places, such as floor=20, not {one!r}."
            raise BadRequest("invalid_places", story)
        places[area] = int(count)
    return places
