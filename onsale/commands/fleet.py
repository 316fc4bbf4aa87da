"""`fleet`: hosts and workers, who runs what and why that changed; move an event, drain a host, take it back.
`scale`: how many workers an event has, and whether its own. Each change with who and why.
"""

from __future__ import annotations

import time
from typing import Annotated, Any

import msgspec
import psycopg
import typer
from rich.console import Console, RenderableType
from rich.live import Live

from onsale.commands import fleet_view as view
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
from store.events import get_event
from store.fleet import edit, log, read
from store.fleet.words import WORKERS_MAX, Mode

WATCH_SECONDS = 1.0

HostArgument = Annotated[str, typer.Argument(help="The host's name; ./run fleet lists them.")]

app = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Hosts and workers: show, log, move, drain, keep.",
)


@app.callback()
def show(
    context: typer.Context,
    watch: Annotated[bool, typer.Option("--watch", help="Show it anew each second, until Ctrl-C.")] = False,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hosts with their workers, events with who owns them, how far behind and how busy they are."""
    if context.invoked_subcommand is not None:
        return
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        if as_json:
            print_json(read.read(conn))
        elif watch:
            _watch(conn)
        else:
            print_plainly(view.fleet(read.read(conn)))


@app.command("log")
def show_log(
    event: Annotated[str | None, typer.Option("--event", help="Of this event.")] = None,
    host: Annotated[str | None, typer.Option("--host", help="Of this host.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=log.ROWS_MAX, help="Most rows to show.")] = 50,
    before: Annotated[int | None, typer.Option(min=1, help="Below this number.")] = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Each move with who wanted it and why, newest first."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        event_id = None if event is None else get_event(conn, event).id
        rows = log.read(conn, event_id=event_id, host=host, before=before, limit=limit)
    if as_json:
        print_json(rows)
    else:
        print_plainly(view.logged(rows))


@app.command("move")
def move(
    slug: SlugArgument,
    to: Annotated[str, typer.Option("--to", help="The host that is to own it.")],
    why: WhyOption,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """An event's owner is to be on that host; it hands over once the worker there is warm."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        moved = edit.move(conn, slug, to, audit.said(name_of(who), why))
    _answer(as_json, moved, view.moved(moved))


@app.command("drain")
def drain(
    host: HostArgument,
    why: WhyOption,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Events leave a host, few at a time, then its workers stop."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        edit.drain(conn, host, audit.said(name_of(who), why))
    told = f"Events leave {host}, few at a time; ./run fleet --watch shows when it is empty."
    _answer(as_json, {"host": host, "draining": True}, told)


@app.command("keep")
def keep(
    host: HostArgument,
    why: WhyOption = "it takes events again",
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """A host that was draining takes events again."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        edit.keep(conn, host, audit.said(name_of(who), why))
    _answer(as_json, {"host": host, "draining": False}, f"{host} takes events.")


def scale(
    slug: SlugArgument,
    workers: Annotated[
        int, typer.Option("--workers", help=f"1 to {WORKERS_MAX}: one owns it, the others stand by.")
    ],
    why: WhyOption,
    mode: Annotated[
        Mode | None,
        typer.Option("--mode", help="hot: workers of its own. cold: shared. auto: by its load."),
    ] = None,
    edition: Annotated[
        int | None, typer.Option("--edition", help="Refuse where somebody changed it since this one.")
    ] = None,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """How many workers an event has, and whether its own."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        said = audit.said(name_of(who), why)
        now = edit.scale(conn, slug, said, workers=workers, mode=mode, edition=edition)
    _answer(as_json, {"event": slug, **msgspec.structs.asdict(now)}, view.scaled(slug, now))


def _answer(as_json: bool, value: Any, told: RenderableType) -> None:
    if as_json:
        print_json(value)
    else:
        print_plainly(told)


def _watch(conn: psycopg.Connection[Any]) -> None:
    """Until Ctrl-C, which is how it is meant to end."""
    console = Console(highlight=False, markup=False)
    try:
        with Live(console=console, auto_refresh=False) as live:
            while True:
                live.update(view.fleet(read.read(conn)), refresh=True)
                time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:
        return
