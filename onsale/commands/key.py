"""`key`: who may operate, by the gateways' API and the console: make, list, rotate and revoke keys.

It speaks to the database, as the other commands do: whoever has that has everything, so it needs no key, and
it is the way in where nobody has one. A key is printed when it is made and never again.
"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from onsale.commands.event_seats import DataDirOption, JsonOption, MayWhyOption, WhoOption, said_here
from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from store.operators import keys
from store.operators.keys import Key, KeyWithSecret
from store.operators.words import DAYS_MAX, GRACE_SECONDS, GRACE_SECONDS_MAX, Role

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Operators' keys: create, list, rotate, revoke.",
)
NameArgument = Annotated[str, typer.Argument(metavar="KEY", help="Its name or number, as in the list.")]


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="Whose it is: the audit says so of all that is done with it.")],
    role: Annotated[Role, typer.Option(help="What it may do; each may all that those before it may.")],
    event: Annotated[
        list[str] | None, typer.Option(help="Only for this event; may be repeated. Default: for all.")
    ] = None,
    days: Annotated[
        int | None, typer.Option(help=f"It runs out after so many days, up to {DAYS_MAX}. Default: never.")
    ] = None,
    who: WhoOption = None,
    why: MayWhyOption = "",
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key. It is shown this once."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        said = said_here(who, why, "a new key")
        made = keys.create(conn, name, role, said, events=event or None, expires_in_days=days)
    _told_once(made, as_json, f"{made.key.name} is {_may(made.key)}{_until(made.key)}.")


@app.command("list")
def list_all(
    revoked: Annotated[bool, typer.Option("--revoked", help="Also those that were revoked.")] = False,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Who has a key, what it may do, and when it was last used."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        there = keys.list_keys(conn, revoked=revoked)
    if as_json:
        print_json(there)
    elif there:
        print_plainly(_table(there))
    else:
        print_plainly("No keys yet. Make one: ./run key create NAME --role owner")


@app.command("rotate")
def rotate(
    key: NameArgument,
    grace_seconds: Annotated[
        int, typer.Option(help=f"How long the secret before counts too, up to {GRACE_SECONDS_MAX}.")
    ] = GRACE_SECONDS,
    who: WhoOption = None,
    why: MayWhyOption = "",
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """A new secret for a key. It is shown this once."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        said = said_here(who, why, "a new secret")
        made = keys.rotate(conn, keys.named(conn, key).id, said, grace_seconds=grace_seconds)
    before = f"counts for {grace_seconds:,} s more" if grace_seconds else "counts no longer"
    _told_once(made, as_json, f"The secret before {before}.")


@app.command("revoke")
def revoke(
    key: NameArgument,
    who: WhoOption = None,
    why: MayWhyOption = "",
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """It lets nobody in any more, anywhere, within a second or two; its sessions end."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        said = said_here(who, why, "revoked a key")
        # Whoever has the database can make another owner's, so here the last one may go.
        gone = keys.revoke(conn, keys.named(conn, key).id, said, keep_an_owner=False)
    if as_json:
        print_json(gone)
    else:
        print_plainly(f"{gone.name} is revoked.")


def _told_once(made: KeyWithSecret, as_json: bool, sentence: str) -> None:
    """The key alone goes to stdout, so that a script or a file has just that."""
    if as_json:
        print_json(made)
        return
    print_plainly(made.secret)
    told = f"{sentence} Keep the key: it is not shown again."
    Console(stderr=True, highlight=False, markup=False).print(told, soft_wrap=True)


def _table(there: list[Key]) -> Table:
    table = Table("id", "name", "role", "events", "state", "runs out", "last used", box=None)
    for key in there:
        events = "all" if key.events is None else ", ".join(key.events)
        ends = "never" if key.expires_at is None else key.expires_at.isoformat(" ", "minutes")
        used = "never" if key.last_used_at is None else key.last_used_at.isoformat(" ", "minutes")
        table.add_row(str(key.id), key.name, key.role, events, key.state, ends, used)
    return table


def _may(key: Key) -> str:
    one = {Role.VIEWER: "a viewer", Role.OPERATOR: "an operator", Role.OWNER: "an owner"}[key.role]
    return one if key.events is None else f"{one} of {', '.join(key.events)}"


def _until(key: Key) -> str:
    return "" if key.expires_at is None else f" until {key.expires_at.isoformat(' ', 'minutes')}"
