"""`webhook`: who is told what becomes true, and what became of it. A relay sends; see docs/webhooks.md."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table

from onsale.commands.event_seats import DataDirOption, JsonOption, WhoOption, WhyOption, name_of
from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from store import audit
from store.outbox import Told
from store.subscribers import edit, show
from store.subscribers.addresses import private_allowed
from store.subscribers.show import Attempt, Shown, Subscriber

ANSWER_SECONDS_MAX = 15.0
LOOK_SECONDS = 0.1

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Webhooks: add, list, show, rotate, disable, enable, replay, test, remove.",
)
NumberArgument = Annotated[
    int, typer.Argument(metavar="WEBHOOK", min=1, max=(1 << 31) - 1, help="Its number, as in the list.")
]


@app.command("add")
def add(
    url: Annotated[str, typer.Argument(help="Where messages are sent: https://…")],
    why: WhyOption,
    event: Annotated[str | None, typer.Option(help="Of this event alone. Default: of all.")] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help=f"{', '.join(Told)}; may be repeated. Default: every kind.")
    ] = None,
    from_start: Annotated[bool, typer.Option(help="Also what is in the outbox already.")] = False,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Subscribe a URL. Its secret is told now and never again."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        made = edit.add(
            conn,
            url,
            audit.said(name_of(who), why),
            event=event,
            kinds=kind or (),
            from_start=from_start,
            allow_private=private_allowed(),
        )
    _told_secret(made, as_json, f"Webhook {made.subscriber.id} is told {_what(made.subscriber)}.")


@app.command("list")
def list_all(data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """List the webhooks there are."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        there = show.list_all(conn)
    if as_json:
        print_json(there)
    elif there:
        table = Table("id", "url", "told", "state", "waiting", "dead", box=None)
        for one in there:
            table.add_row(one.id, one.url, _what(one), one.state, str(one.waiting), str(one.dead))
        print_plainly(table)
    else:
        print_plainly('No webhooks yet. Add one: ./run webhook add https://example.org/hook --why "…"')


@app.command("show")
def show_one(
    number: NumberArgument,
    limit: Annotated[int, typer.Option(min=1, max=show.ROWS_MAX, help="Most rows of each list.")] = 20,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """A webhook: what was sent lately, what waits to be tried again, dead letters, who changed it."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        found = show.show(conn, number, limit)
    if as_json:
        print_json(found)
    else:
        print_plainly(_shown(found))


@app.command("rotate")
def rotate(
    number: NumberArgument,
    why: WhyOption,
    overlap_hours: Annotated[
        int, typer.Option(help="How long the secret before signs too.")
    ] = edit.OVERLAP_HOURS,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """A new secret, told now and never again."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        made = edit.rotate(conn, number, audit.said(name_of(who), why), overlap_hours=overlap_hours)
    _told_secret(made, as_json, f"The secret before signs too for {overlap_hours} hours.")


@app.command("disable")
def disable(
    number: NumberArgument,
    why: WhyOption,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell it nothing any more."""
    _turn(edit.disable, number, who, why, data_dir, as_json)


@app.command("enable")
def enable(
    number: NumberArgument,
    why: WhyOption,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on where it was left."""
    _turn(edit.enable, number, who, why, data_dir, as_json)


@app.command("replay")
def replay(
    number: NumberArgument,
    why: WhyOption,
    message: Annotated[str | None, typer.Argument(help="Such as msg_123. Default: all dead letters.")] = None,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try dead letters again, now."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        replayed = edit.replay(conn, number, audit.said(name_of(who), why), message=message)
    if as_json:
        print_json(replayed)
    else:
        print_plainly(f"Messages that are tried again: {len(replayed.messages)}.")


@app.command("test")
def send_test(
    number: NumberArgument,
    why: WhyOption = "a test",
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send a test message and say what it was answered with. Exit code 1 unless that is 2xx."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        message = edit.send_test(conn, number, audit.said(name_of(who), why))
        attempt = _attempt(lambda: show.show(conn, number, show.ROWS_MAX).log, message)
    if as_json:
        print_json({"message": message, "attempt": attempt})
    elif attempt is None:
        story = f"No relay has sent {message} within {ANSWER_SECONDS_MAX:g} s."
        print_plainly(f"{story} ./run up starts one; ./run chores says how it stands.")
    else:
        print_plainly(f"{message}: {_became(attempt)}")
    raise typer.Exit(0 if attempt is not None and attempt.outcome == "delivered" else 1)


@app.command("remove")
def remove(
    number: NumberArgument,
    why: WhyOption,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Forget it, with its log and dead letters."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        edit.remove(conn, number, audit.said(name_of(who), why))
    if as_json:
        print_json({"id": str(number), "state": "removed"})
    else:
        print_plainly(f"Webhook {number} is gone.")


def _turn(
    change: Callable[..., Subscriber],
    number: int,
    who: str | None,
    why: str,
    data_dir: Path | None,
    as_json: bool,
) -> None:
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        changed = change(conn, number, audit.said(name_of(who), why))
    if as_json:
        print_json(changed)
    else:
        print_plainly(f"Webhook {changed.id} is {changed.state}.")


def _told_secret(made: edit.WithSecret, as_json: bool, story: str) -> None:
    if as_json:
        print_json(made)
    else:
        print_plainly(f"{story}\nIts secret, told only now: {made.secret}")


def _attempt(read: Callable[[], list[Attempt]], message: str) -> Attempt | None:
    """The log's row of a message, when a relay has sent it."""
    until = time.monotonic() + ANSWER_SECONDS_MAX
    while time.monotonic() < until:
        for one in read():
            if one.message == message:
                return one
        time.sleep(LOOK_SECONDS)
    return None


def _what(one: Subscriber) -> str:
    return f"{', '.join(one.kinds) or 'everything'} of {one.event or 'every event'}"


def _became(one: Attempt) -> str:
    answered = "no answer" if one.status is None else str(one.status)
    return f"{one.outcome}, {answered} after {one.took_ms} ms{f' ({one.error})' if one.error else ''}"


def _shown(found: Shown) -> RenderableType:
    one = found.subscriber
    state = one.state if one.disabled_why is None else f"{one.state}: {one.disabled_why}"
    parts: list[Any] = [f"Webhook {one.id} · {one.url}", f"Told {_what(one)}. {state}.", ""]
    if found.log:
        table = Table("at", "message", "kind", "try", "became", box=None)
        for row in found.log:
            at = row.at.isoformat(timespec="milliseconds")
            table.add_row(at, row.message, row.kind, str(row.attempt), _became(row))
        parts += ["Sent lately:", table, ""]
    if found.undelivered:
        table = Table("message", "kind", "event", "state", "tries", "last error", box=None)
        for left in found.undelivered:
            why = left.error or ("" if left.status is None else str(left.status))
            table.add_row(left.message, left.kind, left.event or "", left.state, str(left.attempts), why)
        parts += ["Not delivered:", table, ""]
    table = Table("at", "who", "what", "why", box=None)
    for change in found.audit:
        at = change.at.isoformat(timespec="seconds")
        table.add_row(at, change.who, str(change.what.get("change", "")), change.why)
    return Group(*parts, "Changed by:", table)
