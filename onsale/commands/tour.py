"""`tour`: dates of one show that share a limit per buyer. Make one, add drafts to it, see it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table

from onsale.commands.event_seats import (
    DataDirOption,
    JsonOption,
    MayWhyOption,
    WhoOption,
    WhyOption,
    name_of,
    said_here,
)
from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from store import audit, tours
from store.stream.wake import wake

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Tours, whose dates share a limit per buyer: create, add, show, list.",
)

TourArgument = Annotated[str, typer.Argument(help="The tour's name in addresses, such as summer-2030.")]


@app.command("create")
def create(
    tour: TourArgument,
    seats_per_buyer: Annotated[
        int, typer.Option(help="Most seats and places one buyer may have on all dates together; for good.")
    ],
    name: Annotated[str | None, typer.Option("--name", help="What buyers read. Default: the slug.")] = None,
    who: WhoOption = None,
    why: MayWhyOption = "",
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a tour without dates."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        said = said_here(who, why, "made a tour")
        made = tours.create_tour(conn, tour, name or tour, seats_per_buyer, said)
    if as_json:
        print_json(made)
    else:
        told = f"{made.name} ({made.slug}): {made.seats_per_buyer_max} seats a buyer on all dates together."
        print_plainly(f'{told}\nAdd drafts to it with: ./run tour add {made.slug} EVENT --why "…"')


@app.command("add")
def add(
    tour: TourArgument,
    event: Annotated[str, typer.Argument(help="The slug of an event that is a draft.")],
    why: WhyOption,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a draft a date of the tour; it stays that."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, urls):
        added = tours.add_event(conn, tour, event, audit.said(name_of(who), why))
        wake(urls.redis_url, event)
    if as_json:
        print_json(added)
    else:
        print_plainly(f"{added.name} ({added.slug}) is a date of {tour}.")


@app.command("show")
def show(tour: TourArgument, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """A tour, its limit and its dates."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        found = tours.get_tour(conn, tour)
        dates = tours.dates_of(conn, found)
    if as_json:
        print_json({"tour": found, "events": dates})
    else:
        print_plainly(_shown(found, dates))


@app.command("list")
def list_all(data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """List the tours there are."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        there = tours.list_tours(conn)
    if as_json:
        print_json(there)
    elif there:
        table = Table("slug", "name", "seats a buyer", box=None)
        for one in there:
            table.add_row(one.slug, one.name, str(one.seats_per_buyer_max))
        print_plainly(table)
    else:
        print_plainly("No tours yet. Make one: ./run tour create my-tour --seats-per-buyer 4")


def _shown(tour: tours.Tour, dates: list[tours.Date]) -> RenderableType:
    head = f"{tour.name} ({tour.slug}): {tour.seats_per_buyer_max} seats a buyer on all dates together."
    if not dates:
        return f'{head}\nNo dates yet. Add drafts with: ./run tour add {tour.slug} EVENT --why "…"'
    table = Table("slug", "name", "state", box=None)
    for date in dates:
        table.add_row(date.slug, date.name, date.state)
    return Group(head, "", table)
