"""Connections notice that the other side is gone, though nobody says so."""

from __future__ import annotations

import asyncio
import os
import socket

from notifier import relay
from onsale.chores.doing import connected
from store.database import NOTICES_GONE, connect
from tests.onsale.chores.doings import settings_of


def patience_ms(connection) -> int:
    """How long it waits for an answer to what it sent."""
    with socket.socket(fileno=os.dup(connection.fileno())) as there:
        assert there.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        return there.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)


def test_no_connection_of_relay_or_chores_waits_for_a_host_that_is_gone(database_url):
    async def open_both():
        async with (
            connected(settings_of(database_url), "test") as chore,
            await relay._connect(database_url) as told,
        ):
            return patience_ms(chore), patience_ms(told)

    with connect(database_url, "test") as conn:
        found = {patience_ms(conn), *asyncio.run(open_both())}
    assert found == {NOTICES_GONE["tcp_user_timeout"]}
