"""A database with a fleet of rows in it."""

from __future__ import annotations

import psycopg
import pytest

from tests.allocator.fleet.fleet import Fleet


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def fleet(conn):
    return Fleet(conn)
