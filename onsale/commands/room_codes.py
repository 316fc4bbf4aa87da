"""`room codes` and `room revoke`: presale codes are handed out, listed by their labels, and withdrawn.

`onsale.commands.room` makes them its own subcommands. A code is printed when it is made and never again; one
that is to be revoked is read from a file or stdin, so that none stands in a shell's history.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from onsale.commands import room_view as view
from onsale.commands.event_seats import (
    DataDirOption,
    JsonOption,
    SlugArgument,
    WhoOption,
    WhyOption,
    name_of,
)
from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from store import audit
from store.errors import BadRequest
from store.room import codes as store
from store.room import operating, standing
from store.room.codes import RevokedCodes

FILE_BYTES_MAX = 40 * store.COUNT_MAX
STDIN = Path("-")


def codes(
    slug: SlugArgument,
    listed: Annotated[bool, typer.Option("--list", help="Which there are, by label; make none.")] = False,
    label: Annotated[str | None, typer.Option("--label", help="For whom they are, in your words.")] = None,
    count: Annotated[int, typer.Option("--count", help=f"How many codes, up to {store.COUNT_MAX:,}.")] = 1,
    uses: Annotated[int, typer.Option("--uses", help="How many buyers each lets in.")] = 1,
    why: Annotated[str, typer.Option("--why", help="Kept with the change: at most 200 characters.")] = "",
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """New codes for the priority lane, one a line. They are shown this once: only hashes are kept."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        if listed:
            there = standing.read(conn, slug).codes
        else:
            said = audit.said(name_of(who), why)
            made = operating.issue_codes(conn, slug, said, label=label or "", count=count, uses=uses)
    if listed and as_json:
        print_json({"codes": there})
    elif listed:
        print_plainly(view.codes(there) if there else f"There are no codes for {slug}. Make some: --label.")
    elif as_json:
        print_json({"label": label, "uses": uses, "codes": made})
    else:
        print_plainly("\n".join(made))
        told = f"{count:,} codes for {label}, each for {uses:,} buyers. Keep them: they are not shown again."
        Console(stderr=True, highlight=False, markup=False).print(told, soft_wrap=True)


def revoke(
    slug: SlugArgument,
    why: WhyOption,
    label: Annotated[str | None, typer.Option("--label", help="All codes for these.")] = None,
    file: Annotated[
        Path | None,
        typer.Option("--codes", help="A file with codes, one a line; - reads them from standard input."),
    ] = None,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Codes let nobody in any more; who is in the line by one keeps their place and lane."""
    with told_plainly(as_json):
        shown = [] if file is None else _codes_in(file)
        with with_engines(data_dir) as (conn, _):
            said = audit.said(name_of(who), why)
            done = operating.revoke_codes(conn, slug, said, label=label, shown=shown)
    if as_json:
        print_json({"revoked": done})
    else:
        print_plainly("\n".join(_told(one) for one in done))


def _told(one: RevokedCodes) -> str:
    return f"{one.codes:,} codes for {one.label} let nobody in any more; {one.uses:,} uses were left."


def _codes_in(file: Path) -> Sequence[str]:
    try:
        if file == STDIN:
            raw = sys.stdin.buffer.read(FILE_BYTES_MAX + 1)
        else:
            with file.open("rb") as opened:
                raw = opened.read(FILE_BYTES_MAX + 1)
        if len(raw) > FILE_BYTES_MAX:
            raise BadRequest("invalid_codes", f"{file} has more than {store.COUNT_MAX:,} codes. Split it.")
        shown = raw.decode().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest("invalid_codes", f"{file} cannot be read: {error}.") from None
    shown = [one.strip() for one in shown if one.strip()]
    if not shown:
        raise BadRequest("invalid_codes", f"There is no code in {file}. Give one a line.")
    return shown
