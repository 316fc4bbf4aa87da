"""`backup` and `restore`: one file, checked when it is written; an empty database that goes on from it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import psycopg
import typer
from rich.console import Console

from allocator import replay
from onsale.backup.archive import Manifest
from onsale.backup.make import Progress, make
from onsale.backup.restore import restore as restore_from
from onsale.commands.event_seats import DataDirOption, JsonOption
from onsale.commands.plainly import print_json, print_plainly, told_plainly
from onsale.engines import attach_or_start
from store import invariant

LOST = (
    "What was decided, paid or told after the backup was taken is not in it and cannot be: those buyers were"
    " told of seats that are free now. Compare your payment provider's list of payments with what is here;"
    " let doors ask the server: tickets sold since then are good for nobody. Before you open, read"
    " docs/runbook.md, After a restore."
)


VerifyOption = Annotated[bool, typer.Option("--verify", help="Decide every event's ledger again as well.")]


def backup(
    to: Annotated[Path, typer.Option(help="A file that is not there yet, or a folder.")],
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write everything that is in Postgres into one file, while onsale runs, and check that file."""
    with told_plainly(as_json), attach_or_start(data_dir) as urls, _shown(as_json) as progress:
        path, manifest = make(urls.database_url, to, progress)
    if as_json:
        print_json({"file": str(path), **_told(manifest)})
    else:
        size, rows = manifest.dump_bytes, sum(manifest.tables.values())
        print_plainly(f"{path}: {size:,} bytes, {rows:,} rows of {len(manifest.tables)} tables, checked.")


def restore(
    file: Annotated[Path, typer.Argument(help="What ./run backup wrote.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Decide every event's ledger again as well.")
    ] = False,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring a backup back into an empty database, whole or not at all. Nothing is overwritten."""
    wrong: dict[str, str] = {}
    with told_plainly(as_json), attach_or_start(data_dir) as urls, _shown(as_json) as progress:
        manifest = restore_from(urls.database_url, file, progress)
        if verify:
            wrong = _verified(urls.database_url, manifest, progress)
    if as_json:
        print_json({"file": str(file), **_told(manifest), "verified": verify, "wrong": wrong, "lost": LOST})
    else:
        rows = sum(manifest.tables.values())
        print_plainly(f"Restored {rows:,} rows as of {manifest.taken_at}, {len(manifest.events)} events.")
        if verify and not wrong:
            print_plainly("Every ledger was decided again and comes out as it was, and everything adds up.")
        print_plainly(LOST)
    for event, story in wrong.items():
        print(f"{event}: {story}", file=sys.stderr)
    raise typer.Exit(1 if wrong else 0)


def _told(manifest: Manifest) -> dict[str, object]:
    return {
        "taken_at": manifest.taken_at, "revision": manifest.revision, "tables": manifest.tables,
        "bytes": manifest.dump_bytes, "sha256": manifest.dump_sha256,
        "events": [{"event": one.slug, "batch_no": one.batch_no} for one in manifest.events],
    }  # fmt: skip


def _verified(database_url: str, manifest: Manifest, progress: Progress) -> dict[str, str]:
    """Of each event that is not as it must be, why."""
    wrong = {}
    with psycopg.connect(database_url) as conn:
        for done, event in enumerate(manifest.events):
            progress(f"verifying {event.slug}", done)
            story = _finding(conn, event.id)
            if story:
                wrong[event.slug] = story
    return wrong


def _finding(conn: psycopg.Connection, event_id: int) -> str:
    """The first thing about an event that is not as it must be, or nothing."""
    for one in replay.verify(conn, event_id):
        if isinstance(one, replay.Finding):
            conn.rollback()
            return f"batch {one.batch_no}: {one.story}"
    conn.rollback()
    capacity = invariant.read_capacity(conn, event_id)
    conn.rollback()
    rows = invariant.mismatches(conn, event_id, capacity)
    return f"{rows[0].what} number {rows[0].number} {rows[0].story}" if rows else ""


@contextmanager
def _shown(as_json: bool) -> Iterator[Progress]:
    """How far it is: one line that is written over on a terminal, else a line for each kind of work."""
    console = Console(stderr=True, highlight=False)
    if as_json or not console.is_terminal:
        said: set[str] = set()

        def tell(what: str, _: int) -> None:
            if what not in said and not as_json:
                said.add(what)
                console.print(f"{what} …", markup=False)

        yield tell
        return
    with console.status("…") as status:
        yield lambda what, count: status.update(f"{what}: {count:,}")
