"""Whole waiting rooms by chance, their keeper cut off anywhere: no place is lost, nobody is admitted twice,
no order changes, and all are called.
"""

from __future__ import annotations

from contextlib import closing

import psycopg
import pytest

from store.stream.redis_stream import connect as connect_stream
from tests.allocator.room_history import History
from tests.faults.proxy import CuttingProxy

pytestmark = pytest.mark.simulation

ACTS = 120
LOBBY_ACTS = 15


@pytest.mark.parametrize("seed", range(9))
def test_whatever_happens_to_a_room_its_laws_hold(new_database, redis_url, seed):
    url = new_database()
    with (
        psycopg.connect(url, autocommit=True) as conn,
        closing(connect_stream(redis_url)) as client,
        CuttingProxy.before(url) as proxy,
        closing(History(conn, url, client, proxy, seed)) as history,
    ):
        for number in range(ACTS):
            if number == LOBBY_ACTS:
                history.open()
            history.act()
        for _ in range(ACTS):
            if history.cuts:
                break
            history.act()
        history.finish()
        assert history.cuts > 0, "some of it was cut off"
