"""`erase`: a buyer's personal data, for good. See docs/erasure.md."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

from onsale.commands.event_seats import DataDirOption, JsonOption
from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from store import audit
from store.erasure.erase import Erased
from store.erasure.erase import erase as erase_buyer


def erase(
    buyer: Annotated[str | None, typer.Argument(help="The buyer's id, as in their tokens.")] = None,
    mail: Annotated[
        str | None, typer.Option("--mail", help="A mail address, instead of the id: whoever gave it.")
    ] = None,
    why: Annotated[str, typer.Option("--why", help="Why; kept in the audit. Name nobody in it.")] = "",
    who: Annotated[str | None, typer.Option("--who", help="Who you are. Default: your login name.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Erase all that is known of a buyer of closed events; every decision can still be verified."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, urls):
        said = audit.said(who or getpass.getuser(), why)
        if not yes and not as_json:
            typer.confirm("Erase all that is known of this buyer? Nobody can undo that.", abort=True)
        done = erase_buyer(conn, said, urls.redis_url, buyer=buyer, mail=mail)
    if as_json:
        print_json(done)
    else:
        print_plainly(_told(done))


def _told(done: Erased) -> str:
    rows = ", ".join(f"{count:,} of {table}" for table, count in done.rows.items())
    where = ", ".join(done.events) or "no event"
    return f"Erased, at {where}: {rows}.\nEvery decision still stands: ./run verify EVENT."
