"""`event export`: a sale's orders, decisions, buyers, seats or seats' history as one file.

`onsale.commands.event` makes it its own subcommand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from onsale.commands.event_seats import DataDirOption, SlugArgument
from onsale.commands.plainly import told_plainly, with_engines
from store.console.export import Format, What
from store.console.export import export as pieces_of
from store.errors import BadRequest
from store.events import get_event


def export(
    slug: SlugArgument,
    what: Annotated[What, typer.Option("--what", help="What to take away.")],
    kind: Annotated[Format, typer.Option("--format", help="CSV, or an array of objects.")] = Format.CSV,
    out: Annotated[Path | None, typer.Option("--out", help="The file to write. Default: to here.")] = None,
    data_dir: DataDirOption = None,
) -> None:
    """Write a sale's orders, decisions, buyers, seats or history to a file; orders and buyers name people."""
    with told_plainly(False), with_engines(data_dir) as (conn, _):
        number = get_event(conn, slug).id
        with _writing(out) as file:
            for piece in pieces_of(conn, number, what, kind):
                file.write(piece)


@contextmanager
def _writing(out: Path | None) -> Iterator[BinaryIO]:
    if out is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        file = out.open("wb")
    except OSError as error:
        raise BadRequest("not_written", f"{out} cannot be written: {error.strerror}.") from None
    with file:
        yield file
