"""`ticket check`, `keys`, `export`: tickets at the door, with no database and no network where need be.

A door that is cut off has what `ticket export` wrote: the public keys, and what is revoked. `check` judges by
that, and says only what can be known there; who came in already only the gateway knows.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import psycopg
import typer
from msgspec import Struct

from notifier.tickets import (
    KnownKeys,
    PublicKey,
    Revocations,
    Said,
    TicketKeys,
    TicketKeysNotValid,
    Verdict,
    judge,
)
from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from onsale.engines import DataDir, default_data_dir
from onsale.errors import FrontDoorError
from store.events import get_event
from store.tickets import revoked
from store.tickets.revoked import Revoked

FILE_BYTES_MAX = 64 * 1024 * 1024
"""Of an export: far above what the largest event has."""
TOKENS_MAX = 100_000
KEY_NAME = "ticket-key"

DataDirOption = Annotated[
    Path | None, typer.Option("--data-dir", help="Where this onsale keeps its data and keys.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="For scripts.")]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Check tickets without a database, and write down what a door needs for it.",
)


class CannotCheck(FrontDoorError):
    """What is needed to check tickets is not there."""


class Exported(Struct, omit_defaults=True):
    """What `export` writes and `check` reads; `keys` alone is what `keys` writes."""

    keys: list[PublicKey]
    event: str | None = None
    revoked: list[Revoked] = []


@app.command("keys")
def keys(data_dir: DataDirOption = None) -> None:
    """The public keys of this onsale, as JSON. Whoever has them can tell its tickets from others."""
    with told_plainly(False):
        print_json(Exported(_own_keys(data_dir).published))


@app.command("export")
def export(
    slug: Annotated[str, typer.Argument(metavar="EVENT", help="Its name in addresses, such as demo.")],
    out: Annotated[Path | None, typer.Option("--out", help="A file; else it is printed.")] = None,
    data_dir: DataDirOption = None,
) -> None:
    """What a door needs that is cut off: public keys, and which of the event's tickets are revoked by now."""
    with told_plainly(False), with_engines(data_dir) as (conn, _):
        published = _own_keys(data_dir).published
        found = Exported(published, slug, _all_revoked(conn, get_event(conn, slug).id))
    if out is None:
        print_json(found)
        return
    with told_plainly(False):
        _write(out, msgspec.json.encode(found))
    print_plainly(f"{out}: {len(published)} keys, {len(found.revoked)} revoked tickets and orders of {slug}.")


@app.command("check")
def check(
    token: Annotated[
        str, typer.Argument(metavar="TOKEN_OR_FILE", help="A token, or a file with one a line; - is stdin.")
    ],
    keys: Annotated[
        Path | None,
        typer.Option("--keys", help="What `ticket keys` or `export` wrote; else this onsale's own."),
    ] = None,
    revoked: Annotated[Path | None, typer.Option("--revoked", help="What `ticket export` wrote.")] = None,
    event: Annotated[
        str | None, typer.Option("--event", help="Only tickets for this event are good.")
    ] = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge tickets without a database. Exit code 0 when all are good, 1 when one is not."""
    with told_plainly(as_json):
        exported = None if revoked is None else _read(revoked, "--revoked")
        known = _known_keys(keys, exported, data_dir)
        event = event or (None if exported is None else exported.event)
        gone = None if exported is None else Revocations(exported.revoked)
        verdicts = [judge(each, known, event=event, revoked=gone) for each in _tokens(token)]
    for verdict in verdicts:
        if as_json:
            print_json(_as_json(verdict))
        else:
            print_plainly(_in_words(verdict))
    raise typer.Exit(0 if all(verdict.said is Said.VALID for verdict in verdicts) else 1)


def _known_keys(keys: Path | None, exported: Exported | None, data_dir: Path | None) -> KnownKeys:
    """Those given, else those of the export, else this onsale's own."""
    try:
        if keys is not None:
            return KnownKeys.of_published(_read(keys, "--keys").keys)
        if exported is not None:
            return KnownKeys.of_published(exported.keys)
    except TicketKeysNotValid as error:
        raise CannotCheck(str(error)) from None
    return KnownKeys(_own_keys(data_dir).public)


def _own_keys(data_dir: Path | None) -> TicketKeys:
    """Of ONSALE_TICKET_KEY, else of the data directory; raises `CannotCheck` where there is neither."""
    secret = os.environ.get("ONSALE_TICKET_KEY")
    if not secret:
        home = DataDir(data_dir or default_data_dir())
        if not home.has_secret(KEY_NAME):  # one made here and now would have signed no ticket there is
            story = "There is no ticket key: set ONSALE_TICKET_KEY, start onsale here once (./run up)"
            raise CannotCheck(f"{story}, or give what `ticket keys` wrote elsewhere with --keys.")
        secret = home.secret(KEY_NAME)
    try:
        return TicketKeys(secret)
    except TicketKeysNotValid as error:
        raise CannotCheck(f"ONSALE_TICKET_KEY: {error}") from None


def _read(path: Path, option: str) -> Exported:
    """Raises `CannotCheck` saying what is wrong with the file."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise CannotCheck(f"{option}: {path} is larger than {FILE_BYTES_MAX} bytes; it is no export.")
        return msgspec.json.decode(path.read_bytes(), type=Exported)
    except OSError as error:
        raise CannotCheck(f"{option}: {path} cannot be read ({error.strerror}).") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        story = f"{option}: {path} is not what `ticket keys` or `ticket export` writes ({error})."
        raise CannotCheck(f"{story} Write it again.") from None


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all; raises `CannotCheck` where nothing can be written."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_bytes(content)
        fresh.replace(path)
    except OSError as error:
        raise CannotCheck(f"--out: {path} cannot be written ({error.strerror}).") from None


def _tokens(given: str) -> list[str]:
    """A token as it is, or those of a file, one a line."""
    if given == "-":
        lines = sys.stdin.read().splitlines()
    elif len(given) < 200 and Path(given).is_file():
        lines = Path(given).read_text(errors="replace").splitlines()
    elif "." in given or "/" in given:  # no token has any
        raise CannotCheck(f"There is no file {given!r}, and it is no token. Give one or the other.")
    else:
        return [given]
    found = [line for line in lines if line.strip()]
    if not found:
        raise CannotCheck(f"There is no token in {given!r}. Give one a line.")
    if len(found) > TOKENS_MAX:
        raise CannotCheck(f"At most {TOKENS_MAX} tokens at a time; {given} has {len(found)}.")
    return found


def _all_revoked(conn: psycopg.Connection[Any], event_id: int) -> list[Revoked]:
    found: list[Revoked] = []
    after = ""
    while True:
        values = revoked.values_after(after) | {"event": event_id, "limit": revoked.REVOKED_MAX}
        page = [revoked.revoked_of(row) for row in conn.execute(revoked.READ, values).fetchall()]
        found += page
        if len(page) < revoked.REVOKED_MAX:
            return found
        after = page[-1].place


def _as_json(verdict: Verdict) -> dict[str, object]:
    told: dict[str, object] = {"result": verdict.said, "message": verdict.why}
    if verdict.ticket is None:
        return told
    ticket = verdict.ticket
    told |= {"event": ticket.event, "order": str(ticket.order), "ticket": ticket.item.name}
    return told | {"serial": ticket.serial}


def _in_words(verdict: Verdict) -> str:
    sign = "✓" if verdict.said is Said.VALID else "✗"
    head = f"{sign} {verdict.said.replace('_', ' ')}"
    if verdict.ticket is None:
        return f"{head}: {verdict.why}"
    ticket = verdict.ticket
    what = f"{ticket.event}, order {ticket.order}, ticket {ticket.item.name}, serial {ticket.serial}"
    return f"{head}: {what}. {verdict.why}"
