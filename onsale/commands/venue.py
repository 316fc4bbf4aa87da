"""`venue`: bring in a seating plan, make one, list what there is.

A plan is read and checked whole before anything is written: a wrong one names the place and the reason
and imports nothing.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from onsale.commands.event_seats import WhoOption, said_here
from onsale.commands.plainly import print_json, told_plainly, with_engines
from store.audit import Said
from store.plan import Plan, encode, fingerprint
from store.venues.checks import refuse_unless
from store.venues.csv_plan import read_csv
from store.venues.make import make as make_plan
from store.venues.options import slug_of, standing_of, terms_of
from store.venues.pretix import Standing, read_pretix
from store.venues.reading import Terms, amount_shown, read_bytes
from store.venues.rows import LISTED_MAX, newest_venues, save_venue

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Seating plans: import, make, list.",
)
_notes = Console(stderr=True)
NOTHING_SAVED = "Nothing was saved. "
MOST_MAX = 10_000


class FileFormat(StrEnum):
    """What a plan file is written in."""

    pretix = "pretix"
    csv = "csv"


class Kind(StrEnum):
    """What `venue make` can build."""

    theatre = "theatre"
    arena = "arena"
    hall = "hall"


NameOption = Annotated[str | None, typer.Option("--name", help="What the venue is called.")]
SlugOption = Annotated[
    str | None, typer.Option("--slug", help="Its name in addresses; made from the name unless given.")
]
CurrencyOption = Annotated[str, typer.Option("--currency", help="Three letters, such as EUR.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer as JSON, for scripts.")]
DataDirOption = Annotated[
    Path | None, typer.Option("--data-dir", help="Where the embedded engines live. Default: .data")
]


@app.command("import")
def import_venue(
    file: Annotated[Path, typer.Argument(help="A pretix seating plan (JSON) or a table (CSV).")],
    name: NameOption = None,
    slug: SlugOption = None,
    file_format: Annotated[
        FileFormat | None, typer.Option("--format", help="Told from the file's ending unless given.")
    ] = None,
    price: Annotated[
        list[str] | None,
        typer.Option(
            "--price", help="CATEGORY=AMOUNT, such as Stalls=49.90; or AMOUNT alone where there is no price."
        ),
    ] = None,
    area: Annotated[
        list[str] | None,
        typer.Option(
            "--area", help="NAME=CAPACITY:CATEGORY makes the pretix area with that text a standing area."
        ),
    ] = None,
    stage: Annotated[
        str | None, typer.Option("--stage", help="X,Y of the stage, from which seats are ranked.")
    ] = None,
    currency: CurrencyOption = "EUR",
    check_only: Annotated[bool, typer.Option("--check", help="Only read and check; save nothing.")] = False,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import a seating plan from a file."""
    with told_plainly(as_json, NOTHING_SAVED), _notes.status("Reading the plan …"):
        terms = terms_of(price or [], currency, stage)
        plan = _read(file, file_format, name, terms, standing_of(area or []))
        if check_only:
            _say(_summary(plan), as_json, "checked, nothing saved")
            return
        _save(plan, slug, said_here(who, "", "imported a plan"), data_dir, as_json)


@app.command("make")
def make_venue(
    kind: Annotated[Kind, typer.Argument(help="What to make.")],
    seats: Annotated[int, typer.Option("--seats", help="Numbered seats, at most 100,000.")],
    standing: Annotated[
        int | None, typer.Option("--standing", help="Places on the floor of an arena or a hall.")
    ] = None,
    name: NameOption = None,
    slug: SlugOption = None,
    currency: CurrencyOption = "EUR",
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a theatre, an arena or a standing hall of any size."""
    with told_plainly(as_json, NOTHING_SAVED), _notes.status("Making the plan …"):
        plan = make_plan(kind.value, seats, name=name, currency=currency, standing=standing)
        _save(plan, slug, said_here(who, "", f"made a plan: {kind.value}"), data_dir, as_json)


@app.command("list")
def list_newest(
    most: Annotated[
        int, typer.Option("--most", min=1, max=MOST_MAX, help="So many; each one's whole plan is read.")
    ] = LISTED_MAX,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the venues there are, the newest first."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        venues = newest_venues(conn, most)
    if as_json:
        print_json([venue._asdict() for venue in venues])
        return
    if not venues:
        Console().print("No venues yet. Make one: ./run venue make theatre --seats 1200")
        return
    table = Table("slug", "name", box=None)
    table.add_column("seats", justify="right")
    table.add_column("standing", justify="right")
    for venue in venues:
        table.add_row(venue.slug, venue.name, f"{venue.seats:,}", f"{venue.standing:,}")
    Console().print(table)
    if len(venues) == most:
        Console().print(f"These are the newest {most}; --most names another number.")


def _read(
    file: Path, file_format: FileFormat | None, name: str | None, terms: Terms, standing: dict[str, Standing]
) -> Plan:
    raw = read_bytes(file)
    if file_format is None:
        endings = {".csv": FileFormat.csv, ".tsv": FileFormat.csv, ".json": FileFormat.pretix}
        known = file.suffix.lower() in endings
        refuse_unless(known, str(file), "is neither .json nor .csv; say --format pretix or --format csv")
        file_format = endings[file.suffix.lower()]
    if file_format is FileFormat.pretix:
        return read_pretix(raw, name=name, terms=terms, standing=standing)
    refuse_unless(
        not standing, "--area", "is for pretix plans; in CSV a line with a capacity is a standing area"
    )
    return read_csv(raw, name=name or file.stem, terms=terms)


def _save(plan: Plan, slug: str | None, said: Said, data_dir: Path | None, as_json: bool) -> None:
    chosen = slug or slug_of(plan.name)
    with with_engines(data_dir) as (conn, _), conn.transaction():
        venue_id = save_venue(conn, chosen, plan, said)
    _say({"id": venue_id, "slug": chosen, **_summary(plan)}, as_json, f"saved as {chosen}")


def _summary(plan: Plan) -> dict[str, Any]:
    return {
        "name": plan.name,
        "seats": len(plan.seats),
        "standing": sum(area.capacity for area in plan.areas),
        "sections": len(plan.sections),
        "blocks": len(plan.blocks),
        "currency": plan.currency,
        "categories": [{"name": one.name, "price_minor": one.price_minor} for one in plan.categories],
        "plan_sha256": fingerprint(encode(plan)),
    }


def _say(summary: dict[str, Any], as_json: bool, done: str) -> None:
    if as_json:
        print_json(summary)
        return
    standing = f", {summary['standing']:,} standing places" if summary["standing"] else ""
    out = Console(highlight=False, soft_wrap=True)
    out.print(
        f"{summary['name']}: {summary['seats']:,} seats in {summary['sections']} sections{standing}; {done}."
    )
    for category in summary["categories"]:
        out.print(f"  {category['name']}: {amount_shown(category['price_minor'], summary['currency'])}")
