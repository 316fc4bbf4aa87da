"""Who stops in the middle of a change to a sale loses it: a batch waits for its locks no longer than that."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from gateway.operators.access import in_database
from onsale.commands import plainly
from store import lookups
from store.database import IDLE_IN_TRANSACTION_TIMEOUT_MS

SHOW = "SHOW idle_in_transaction_session_timeout"
BOUND = f"{IDLE_IN_TRANSACTION_TIMEOUT_MS // 1000}s"


def show(conn: psycopg.Connection[Any]) -> Any:
    row = conn.execute(SHOW).fetchone()
    assert row is not None
    return row[0]


def test_a_buyers_change_at_the_gateway(database_url):
    async def ask() -> Any:
        async with lookups.open_pool(database_url, size_max=1) as pool, pool.connection() as conn:
            row = await (await conn.execute(SHOW)).fetchone()
            assert row is not None
            return row[0]

    assert asyncio.run(ask()) == BOUND


def test_an_operators_change_at_the_gateway(engine_urls):
    settings = SimpleNamespace(engines=engine_urls)
    state = SimpleNamespace(runtime=SimpleNamespace(settings=settings))
    request: Any = SimpleNamespace(app=SimpleNamespace(state=state))
    assert asyncio.run(in_database(request, show)) == BOUND


def test_an_operators_command(engine_urls, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    with plainly.with_engines(None) as (conn, _):
        assert show(conn) == BOUND
