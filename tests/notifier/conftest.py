"""An event whose outbox is told."""

from __future__ import annotations

import psycopg
import pytest

from store import events
from store.venues.make import make
from store.venues.rows import save_venue

PLAN = make("arena", 100, standing=50)


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def event(conn):
    return events.create_event(conn, "gig", "The gig", save_venue(conn, "arena", PLAN), PLAN)
