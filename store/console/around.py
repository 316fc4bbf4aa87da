"""What needs a hand and is about no event: hosts, chores, refunds. Small tables; locks nobody."""

from __future__ import annotations

from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

from store.chores import runs
from store.console.needs import Around, chores_in_trouble
from store.console.now import FRESH_SECONDS
from store.fleet.read import what_is_short
from store.payments import stuck

HOSTS: Final = f"""
SELECT count(*), count(*) FILTER (WHERE seen_at > clock_timestamp() - interval '{FRESH_SECONDS} seconds')
  FROM fleet_host
"""


def read(conn: psycopg.Connection[Any]) -> Around:
    """As it is now."""
    hosts = conn.cursor(row_factory=tuple_row).execute(HOSTS).fetchall()[0]
    troubles = [(one.chore, one.trouble) for one in runs.read(conn)]
    return Around(hosts[0], hosts[1], chores_in_trouble(troubles), len(stuck.read(conn)), what_is_short(conn))
