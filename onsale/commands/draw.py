"""`draw`: the waiting room's draw: check a list, show the commitment and the seed, write a list down.

`verify` needs no database: a list and this program, or ten lines of anybody's (docs/waiting-room.md). Exit
code 0 when the list stands, 1 when something is wrong with it, 2 when it cannot be read.
"""

from __future__ import annotations

import contextlib
import http.client
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, Any
from uuid import UUID

import typer
from rich.console import Console

from onsale.commands import room_view as view
from onsale.commands.event_seats import DataDirOption, JsonOption, SlugArgument
from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from store.errors import BadRequest, Conflicted
from store.events import Event, get_event
from store.room import draw, published, rooms
from store.room.published import Checked, Head
from store.room.rooms import Conn
from store.room.standing import shown
from store.room.words import Room

LIST_BYTES_MAX = 1 << 30
FETCH_SECONDS_MAX = 60
"""Without a byte."""
PIECE_BYTES = 1 << 20

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The waiting room's draw: verify a list, show, export.",
)


@app.command("verify")
def verify(
    source: Annotated[str, typer.Argument(metavar="FILE_OR_URL", help="The list, such as places.csv.")],
    place: Annotated[str | None, typer.Option("--place", help="Say where this place stands, too.")] = None,
    commitment: Annotated[
        str | None, typer.Option("--commitment", help="The seed's SHA-256, as you wrote it down before.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a published list: each place stands where the promised seed puts it. Needs no database."""
    try:
        with told_plainly(as_json):
            checked = _check(source, place, commitment)
    except typer.Exit:
        raise typer.Exit(2) from None
    missing = place is not None and checked.found is None
    if as_json:
        print_json(_as_json(checked))
    else:
        _say(checked, place)
    raise typer.Exit(1 if checked.faults or missing else 0)


@app.command("show")
def show(slug: SlugArgument, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """What is promised before the draw, and told after it."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        event, room = _room(conn, slug)
    told = shown(room, slug, event.state)
    if as_json:
        names = ("event", "seed_sha256", "seed", "drawn", "drawn_at")
        print_json({name: getattr(told, name) for name in names} | {"policy": told.terms.policy})
    else:
        print_plainly(view.draw(told))


@app.command("export")
def export(
    slug: SlugArgument,
    out: Annotated[Path | None, typer.Option("--out", help="A file; else it is printed.")] = None,
    data_dir: DataDirOption = None,
) -> None:
    """The list that anybody can check: every place of the draw, with the seed."""
    with told_plainly(False), with_engines(data_dir) as (conn, _):
        event, room = _room(conn, slug)
        if room.seed is None or room.drawn is None:
            raise Conflicted("not_drawn", f"{slug} is not drawn yet; its list is there when it is.")
        head = Head(slug, room.seed_sha256, room.seed, room.drawn)
        with contextlib.ExitStack() as open_now:
            file: Any = typer.get_text_stream("stdout")
            if out is not None:
                file = open_now.enter_context(_opened(out))
            file.write(published.head_lines(head))
            for one in draw.export(conn, event.id):
                file.write(f"{one.lane},{one.position},{one.place}\n")
    if out is not None:
        print_plainly(f"{out}: {room.drawn:,} places. Check it with: ./run draw verify {out}")


def _room(conn: Conn, slug: str) -> tuple[Event, Room]:
    event = get_event(conn, slug)
    return event, rooms.read(conn, event.id)


def _opened(path: Path) -> IO[str]:
    try:
        return path.open("w", encoding="ascii")
    except OSError as error:
        raise BadRequest("invalid_list", f"{path} cannot be written: {error.strerror}.") from None


def _check(source: str, place: str | None, commitment: str | None) -> Checked:
    wanted = None if place is None else _uuid(place)
    promised = None if commitment is None else published.of_hex("--commitment", commitment)
    with contextlib.ExitStack() as open_now:
        file = open_now.enter_context(_fetched(source) if "://" in source else _read(Path(source)))

        def lines() -> Iterator[str]:
            file.seek(0)
            while line := file.readline(published.LINE_LENGTH_MAX + 1):
                yield line.decode("ascii", "replace")

        return published.check(lines, commitment=promised, place=wanted)


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        story = f"--place takes a place's id, such as 0f8fad5b-d9cb-469f-a165-70867728950e, not {text!r}."
        raise BadRequest("invalid_list", story) from None


def _read(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise BadRequest("invalid_list", f"{path} cannot be read: {error.strerror}.") from None


def _fetched(url: str) -> IO[bytes]:
    """The list in a file of its own, for it may have to be read twice."""
    if not url.startswith(("https://", "http://")):
        raise BadRequest("invalid_list", f"{url} is no address of the web. Begin it with https://.")
    file = tempfile.TemporaryFile()  # noqa: SIM115 (whoever asked closes it)
    try:
        with urllib.request.urlopen(url, timeout=FETCH_SECONDS_MAX) as answer:
            while piece := answer.read(PIECE_BYTES):
                file.write(piece)
                if file.tell() > LIST_BYTES_MAX:
                    raise BadRequest("invalid_list", f"{url} has more than {LIST_BYTES_MAX:,} bytes.")
    except (OSError, ValueError, http.client.HTTPException) as error:
        file.close()
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise BadRequest("invalid_list", f"{url} cannot be fetched: {error}.") from None
    return file


def _as_json(checked: Checked) -> dict[str, object]:
    head = checked.head
    return {
        "stands": not checked.faults,
        "event": head.event,
        "places": checked.places,
        "seed_sha256": head.seed_sha256.hex(),
        "seed": head.seed.hex(),
        "place": checked.found,
        "faults": checked.faults,
    }


def _say(checked: Checked, place: str | None) -> None:
    console = Console(highlight=False)
    head = checked.head
    if checked.faults:
        console.print(f"[red]✗[/] The draw of {head.event} does not stand:", soft_wrap=True)
        for fault in checked.faults:
            console.print(f"  {fault.story}", markup=False, soft_wrap=True)
    else:
        told = f"each of {checked.places:,} places stands where the seed puts it."
        console.print(f"[green]✓[/] The draw of {head.event}: {told}", soft_wrap=True)
        console.print("  The seed is the one whose SHA-256 the list gives:", soft_wrap=True)
        console.print(f"  {head.seed_sha256.hex()}", soft_wrap=True)
        console.print("  Compare it with what was published before the lobby began, or give --commitment.")
    if checked.found is not None:
        console.print(f"  Place {place} stands at {checked.found.lane} {checked.found.position:,}.")
    elif place is not None:
        console.print(
            f"[red]✗[/] Place {place} is not in the list: who joined before the sale began must be."
        )
