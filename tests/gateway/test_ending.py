"""Tasks end even where a library swallows their cancellation."""

from __future__ import annotations

import asyncio

from gateway.ending import end


def test_a_task_that_swallows_its_first_cancellation_is_ended():
    swallowed = 0

    async def stubborn():
        nonlocal swallowed
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            swallowed += 1
        await asyncio.Event().wait()

    async def run():
        task = asyncio.get_running_loop().create_task(stubborn())
        await asyncio.sleep(0)
        await end([task])
        assert task.cancelled()

    asyncio.run(run())
    assert swallowed == 1
