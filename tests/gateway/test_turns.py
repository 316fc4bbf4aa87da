"""Many sockets: everything else still gets its turn, and there is room for them."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket

from gateway import turns
from gateway.app import make_room_for


def test_readable_sockets_share_the_loop_with_everything_else(monkeypatch):
    monkeypatch.setattr(turns, "EVENTS_A_TURN", 16)
    many, reads_between_turns = 64, []

    async def storm():
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        read = 0

        def on_readable(mine: socket.socket) -> None:
            nonlocal read
            loop.remove_reader(mine)
            read += 1
            if read == many:
                done.set()

        with contextlib.ExitStack() as pairs:
            for _ in range(many):
                mine, theirs = socket.socketpair()
                pairs.callback(mine.close)
                pairs.callback(theirs.close)
                mine.setblocking(False)
                theirs.send(b"x")
                loop.add_reader(mine, on_readable, mine)
            before = 0
            while not done.is_set():
                await asyncio.sleep(0)
                reads_between_turns.append(read - before)
                before = read

    with asyncio.Runner(loop_factory=turns.new_event_loop) as runner:
        runner.run(storm())
    assert sum(reads_between_turns) == many
    assert max(reads_between_turns) <= turns.EVENTS_A_TURN


def test_the_gateway_raises_its_own_limit_of_open_files_but_never_lowers_it(monkeypatch):
    limits = [(1_024, 4_096)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, limit: limits.append(limit))
    make_room_for(2_000)
    make_room_for(1_000)
    make_room_for(9_000)
    assert limits == [(1_024, 4_096), (2_000, 4_096), (4_096, 4_096)]
