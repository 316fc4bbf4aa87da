"""A sale to back up, and a backup of it."""

from __future__ import annotations

import psycopg
import pytest

from onsale.backup.make import make
from store.audit import Said
from store.operators import sessions
from tests.allocator.house import entry, owner_of, seats


def silent(what, size):
    """Nobody looks."""


@pytest.fixture
def owner(database_url, redis_url):
    """An event's owner, who has given a seat away. Somebody is logged in at the console."""
    with owner_of(database_url, redis_url) as owner:
        owner.ask(entry("ann", "r1", seats("A-1")))
        owner.confirm("ann")
        owner.ask(entry("bob", "r1", seats("A-1", "A-2")), entry("cem", "r1", seats("A-3")))
        with psycopg.connect(database_url, autocommit=True) as conn:
            sessions.begin(conn, None, b"digest", Said("Olga", "logged in"))
        yield owner


@pytest.fixture
def backup(owner, tmp_path):
    """Of that moment."""
    path, _ = make(owner.database_url, tmp_path / "then.backup", silent)
    return path
