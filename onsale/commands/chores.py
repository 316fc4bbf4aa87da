"""`chores`: how each chore stands, and run one now, here, without RQ.

Exit code 1 when one needs a hand, or when the one that was run failed.
"""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.table import Table

from onsale.chores.catalogue import chore_named, chores
from onsale.chores.run import run_once
from onsale.chores.settings import ChoreSettings
from onsale.commands.event_seats import DataDirOption, JsonOption, MayWhyOption, WhoOption, said_here
from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from onsale.engines import default_data_dir
from store import audit
from store.chores import runs
from store.chores.runs import ChoreRun
from store.errors import BadRequest, NotFound
from store.payments import stuck
from store.payments.stuck import StuckRefund

app = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="What is done beside the sale: list it, run one now.",
)


@app.callback()
def listed(context: typer.Context, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """How each chore stands: when it last ran, how long it took, what failed."""
    if context.invoked_subcommand is not None:
        return
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        found, by_hand = runs.read(conn), stuck.read(conn)
    if as_json:
        told = [{**msgspec.to_builtins(one), "trouble": one.trouble} for one in found]
        print_json({"chores": told, "stuck_refunds": by_hand})
    else:
        _show(found, by_hand)
    raise typer.Exit(1 if by_hand or any(one.trouble for one in found) else 0)


@app.command("run")
def run(
    name: Annotated[str, typer.Argument(help="The chore's name; ./run chores lists them.")],
    who: WhoOption = None,
    why: MayWhyOption = "",
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a chore once, now and here; safe while it runs elsewhere too."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, urls):
        chore = chore_named(name)
        if chore is None:
            known = ", ".join(one.name for one in chores() if not one.long)
            raise NotFound("chore_not_found", f"There is no chore {name!r}. There are: {known}.")
        if chore.long:
            raise BadRequest("chore_is_long", f"{name} runs until it is stopped; ./run up starts it.")
        where: Path = data_dir or default_data_dir()
        settings = ChoreSettings.from_env({**os.environ, **urls.as_env(), "ONSALE_DATA_DIR": str(where)})
        said = said_here(who, why, "run by hand")
        audit.write(conn, None, said, {"change": "run chore", "chore": chore.name})
        begun = time.monotonic()
        done = run_once(chore, settings, threading.Event())
    duration_ms = int((time.monotonic() - begun) * 1_000)
    if as_json:
        print_json({"chore": name, "done": done, "duration_ms": duration_ms})
    else:
        print_plainly(f"{name}: {done} done in {duration_ms} ms.")


def _show(found: list[ChoreRun], by_hand: list[StuckRefund]) -> None:
    if not found:
        print_plainly("No chore has run here yet. ./run up starts them.")
        return
    says = {chore.name: chore.says for chore in chores()}
    table = Table(box=None, pad_edge=False)
    for column in ("chore", "what it does", "last run", "ms", "done", "trouble"):
        table.add_column(column, overflow="fold")
    for one in found:
        table.add_row(one.chore, says.get(one.chore, "no longer here"), _when(one), *_how(one))
    print_plainly(table)
    for refund in by_hand:
        amount = f"{refund.amount_minor} {refund.currency} (smallest unit)"
        print_plainly(
            f"Refund {refund.refund} of {amount} for payment {refund.payment} in {refund.event}: "
            f"{refund.error} Give it at {refund.provider} by hand; its intent is {refund.intent}."
        )


def _when(one: ChoreRun) -> str:
    at: Any = one.alive_at if one.long else one.started_at
    return "never" if at is None else f"{datetime.fromtimestamp(at / 1_000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _how(one: ChoreRun) -> tuple[str, str, str]:
    numbers = ["" if number is None else f"{number:,}" for number in (one.duration_ms, one.done)]
    failed = f"{one.failures} failed: {one.last_error}" if one.failures else ""
    return numbers[0], numbers[1], one.trouble or failed
