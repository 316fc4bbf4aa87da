"""`event launch`: an event with everything it needs out of one file, made whole or not at all.

The file is what `POST /v1/operator/launches` takes, so what the console made can be kept and made again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from onsale.commands.event_seats import name_of
from onsale.commands.event_view import created
from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from store import audit
from store.errors import BadRequest
from store.events import find_venue
from store.launches.checking import checked
from store.launches.making import make
from store.launches.reading import LAUNCH_BYTES_MAX, NotLaunched, Read, read
from store.launches.words import Launched
from store.stream.wake import wake
from store.venues.reading import as_text, read_bytes


def launch(
    file: Annotated[Path, typer.Argument(help="JSON: event, venue or plan or make, prices, room, look …")],
    plan: Annotated[
        Path | None, typer.Option("--plan", help="The seating plan's file, in place of one in the JSON.")
    ] = None,
    who: Annotated[str | None, typer.Option("--who", help="Your name, for the audit.")] = None,
    why: Annotated[str, typer.Option("--why", help="Why, for the audit.")] = "made in one sitting",
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", help="Where the embedded engines live. Default: .data")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON, for scripts.")] = False,
) -> None:
    """Make an event with plan, prices, terms, waiting room, look and codes: all of it, or nothing."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, urls):
        found = _read(file, plan)
        said = audit.said(found.plain.get("who") or name_of(who), found.plain.get("why") or why)
        try:
            made = make(conn, checked(conn, found), said)
        except NotLaunched as error:
            _say_all(error, as_json)
            raise typer.Exit(1) from None
        wake(urls.redis_url, made.event.slug)
        if as_json:
            print_json(made)
        else:
            print_plainly("\n".join([created(made.event, find_venue(conn, made.venue)[1]), *_more(made)]))


def _read(file: Path, plan: Path | None) -> Read:
    raw = read_bytes(file)
    if len(raw) > LAUNCH_BYTES_MAX:
        raise BadRequest("invalid_launch", f"{file} is larger than {LAUNCH_BYTES_MAX // 2**20} MiB.")
    found = read(raw)
    if plan is not None:
        text = as_text(read_bytes(plan))
        found.parts["plan"] = {"name": plan.stem} | found.parts.get("plan", {}) | {"text": text}
        found.errors = [one for one in found.errors if one.field != "plan.text"]
    return found


def _say_all(error: NotLaunched, as_json: bool) -> None:
    if as_json:
        print_json({"error": str(error), "code": error.code, "errors": msgspec.to_builtins(error.errors)})
        return
    out = Console(stderr=True, highlight=False)
    out.print("Nothing was made. Mend these, then launch again:", markup=False)
    for one in error.errors:
        out.print(f"  {one.field}: {one.says}", markup=False, soft_wrap=True)


def _more(made: Launched) -> list[str]:
    lines = []
    if made.room is not None:
        pace = "as many as may be inside" if made.room.pace is None else f"{made.room.pace:,} a minute"
        lines.append(f"Its waiting room ({made.room.policy}) admits {pace}.")
    for one in made.codes:
        lines += [f"Codes for {one.label}, each for {one.uses:,}, told this once:", *one.codes]
    return lines
