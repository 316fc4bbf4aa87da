"""`audit`: who did what by hand, when and why, over the API and here alike; see docs/operators.md."""

from __future__ import annotations

from typing import Annotated

import typer

from onsale.commands.audit_view import all_audited
from onsale.commands.event_seats import DataDirOption, JsonOption
from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from store import audit as rows
from store.events import get_event


def audit(
    event: Annotated[str | None, typer.Argument(help="Of this event alone. Default: everything.")] = None,
    who: Annotated[str | None, typer.Option(help="What one key or name did.")] = None,
    before: Annotated[int | None, typer.Option(min=1, help="Below this id: the page after.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=rows.ROWS_MAX, help="Most rows to show.")] = 100,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Who did what by hand, when and why, newest first."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        event_id = None if event is None else get_event(conn, event).id
        found = rows.read_all(conn, event_id=event_id, who=who, before=before, limit=limit)
    if as_json:
        print_json(found)
    else:
        print_plainly(all_audited(found))
