"""`event cancel`, `move`: an event that does not take place, with who and why.

`onsale.commands.event` makes them its own subcommands. Ended in the middle, the same command goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

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
from store.audit import Said
from store.blocks import Released
from store.calling_off import begin
from store.calling_off.state import CalledOff, Conn, read
from store.calling_off.steps import step_of
from store.errors import Unavailable
from store.sales import Order
from store.stream.wake import tell_holder, wake

IDLE_STEPS_MAX = 50
IDLE_SECONDS = 0.1


def cancel(
    slug: SlugArgument,
    why: WhyOption,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Close an event for good and take every order back; what was paid is owed to the buyers."""
    _call_off(slug, why, who, data_dir, as_json, lambda conn, said: begin.cancel(conn, slug, said))


def move(
    slug: SlugArgument,
    to: Annotated[str, typer.Option("--to", help="Another event that has not begun to sell.")],
    why: WhyOption,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Close an event for good and rebook its orders, before anybody can buy there; the rest is refunded."""
    _call_off(slug, why, who, data_dir, as_json, lambda conn, said: begin.move(conn, slug, to, said))


def _call_off(
    slug: str,
    why: str,
    who: str | None,
    data_dir: DataDirOption,
    as_json: bool,
    start: Callable[[Conn, Said], CalledOff],
) -> None:
    with told_plainly(as_json), with_engines(data_dir) as (conn, urls):
        begun = start(conn, audit.said(name_of(who), why))

        def tell(event: str, changed: Order | Released) -> None:
            tell_holder(urls.redis_url, event, changed)

        wake(urls.redis_url, slug)
        done = _go_on(conn, begun, tell, Console(stderr=True, quiet=as_json))
        for event in (slug, begun.to):
            if event is not None:
                wake(urls.redis_url, event)
        if as_json:
            print_json(done)
        else:
            print_plainly(_told(done))


def _go_on(
    conn: Conn, now: CalledOff, tell: Callable[[str, Order | Released], None], notes: Console
) -> CalledOff:
    """Takes steps until it is done; raises `Unavailable` when nothing goes on for a while."""
    columns = (TextColumn("holds, places in line and orders"), BarColumn(), MofNCompleteColumn())
    idle = 0
    with Progress(*columns, console=notes, transient=True) as progress:
        task = progress.add_task("")
        while now.done_at is None:
            idle = 0 if step_of(conn, now.event, tell) else idle + 1
            now = read(conn, now.event)
            left = now.left.holds + now.left.waiting + now.left.orders
            done = now.holds + now.waiting + now.refunded + now.rebooked
            progress.update(task, completed=done, total=done + left)
            if idle > IDLE_STEPS_MAX:
                story = f"{left:,} are left and cannot be changed just now. The same command goes on."
                raise Unavailable(f"{now.event} is closed, but {story}")
            if idle:
                time.sleep(IDLE_SECONDS)
    return now


def _told(done: CalledOff) -> str:
    what = "is canceled" if done.to is None else f"is moved to {done.to}"
    orders = f"{done.refunded:,} orders taken back"
    if done.to is not None:
        orders = f"{done.rebooked:,} orders rebooked, {orders}"
    return (
        f"{done.event} {what}: {orders}, {done.holds:,} holds ended, "
        f"{done.waiting:,} taken off the waiting list.\nWhat was paid is owed; refunds are given one by one: "
        f"./run event settlement {done.event}"
    )
