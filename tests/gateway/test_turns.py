"""However many sockets are readable at once, everything else gets its turn."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import pytest

from gateway.turns import EVENTS_A_TURN, new_event_loop


@pytest.mark.parametrize("many", [3 * EVENTS_A_TURN])
def test_readable_sockets_share_the_loop_with_everything_else(many):
    reads_between_turns = []

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

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(storm())
    assert sum(reads_between_turns) == many
    assert max(reads_between_turns) <= EVENTS_A_TURN
