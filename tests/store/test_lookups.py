"""The gateways' pool: bounded, and back by itself when Postgres is."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from psycopg_pool import PoolTimeout, TooManyRequests

from store import lookups
from tests.faults.proxy import CuttingProxy

AWAY = (PoolTimeout, TooManyRequests, psycopg.OperationalError)
TRIES_MAX = 200


async def ask(pool: lookups.Pool) -> int:
    async with pool.connection() as connection:
        row = await (await connection.execute("SELECT 1")).fetchone()
        assert row is not None
        return int(row[0])


def test_a_pool_whose_queue_filled_up_while_postgres_was_away_is_back_with_it(database_url, monkeypatch):
    monkeypatch.setattr(lookups, "WAITING_MAX", 3)
    monkeypatch.setattr(lookups, "CONNECTION_WAIT_SECONDS_MAX", 0.2)

    async def go(proxy: CuttingProxy) -> None:
        async with lookups.open_pool(proxy.url(database_url), size_max=2) as pool:
            assert await ask(pool) == 1
            proxy.refuse()
            proxy.cut()
            refused = 0
            while not refused:  # those who gave up stay in the queue, until it is full
                answers = await asyncio.gather(*(ask(pool) for _ in range(8)), return_exceptions=True)
                refused = sum(isinstance(answer, TooManyRequests) for answer in answers)
            for _ in range(TRIES_MAX):  # the attempts under way have failed
                if pool.get_stats().get("connections_errors", 0) >= 2:
                    break
                await asyncio.sleep(0.01)
            with pytest.raises(TooManyRequests):
                await ask(pool)
            proxy.refuse(False)
            for _ in range(TRIES_MAX):
                try:
                    assert await ask(pool) == 1
                    break
                except AWAY:
                    await asyncio.sleep(0.05)
            else:
                pytest.fail("the pool never came back")

    with CuttingProxy.before(database_url) as proxy:
        asyncio.run(go(proxy))
