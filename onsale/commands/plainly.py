"""What commands about events, tours and venues share: the engines they speak to, and how they answer people
and scripts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import typer
from msgspec import UNSET, UnsetType
from rich.console import Console, RenderableType

from onsale.engines import attach_or_start
from store import migrate
from store.database import ENDS_IDLE
from store.errors import BadRequest, OnsaleError, Refused
from store.settings import EngineUrls
from store.venues.checks import PlanError


@contextmanager
def with_engines(data_dir: Path | None) -> Iterator[tuple[psycopg.Connection, EngineUrls]]:
    """An autocommit connection to the migrated database, and where the engines are."""
    with attach_or_start(data_dir) as urls:
        migrate.upgrade(urls.database_url)
        with psycopg.connect(urls.database_url, autocommit=True, options=ENDS_IDLE) as conn:
            yield conn, urls


def print_plainly(told: RenderableType) -> None:
    """For people; names may have brackets in them, which are not markup."""
    Console(highlight=False, markup=False).print(told, soft_wrap=isinstance(told, str))


def print_json(value: Any) -> None:
    """For scripts: one line."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def instant(written: str | None, option: str, code: str) -> datetime | None:
    """The time an option says; raises `BadRequest` with that code where it is none, or says no offset."""
    if written is None:
        return None
    try:
        when = datetime.fromisoformat(written)
    except ValueError:
        when = None
    if when is None or when.tzinfo is None:
        raise BadRequest(
            code,
            f"{option} must be a time with its offset from UTC, such as 2030-05-01T10:00+02:00, "
            f"not {written!r}.",
        )
    return when


BY_HAND = "by-hand"
"""In place of a time: somebody does it."""


def instant_or_by_hand(written: str | None, option: str, code: str) -> datetime | UnsetType | None:
    """The same of a time that can be taken away: None for that, `UNSET` where nothing is said."""
    if written is None:
        return UNSET
    return None if written == BY_HAND else instant(written, option, code)


@contextmanager
def told_plainly(as_json: bool, before: str = "") -> Iterator[None]:
    """An error of ours becomes one line on stderr (with --json an object on stdout) and exit code 1.

    `before` is said first, to people.
    """
    try:
        yield
    except (OnsaleError, psycopg.Error) as error:
        if as_json:
            code = error.code if isinstance(error, Refused) else "failed"
            at = {"place": error.place, "reason": error.reason} if isinstance(error, PlanError) else {}
            print_json({"error": str(error), "code": code, **at})
        else:
            Console(stderr=True, highlight=False).print(f"{before}{error}", markup=False, soft_wrap=True)
        raise typer.Exit(1) from None
