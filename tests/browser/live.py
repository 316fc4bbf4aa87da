"""A real gateway on the real engines, in a thread of its own, for tests that drive a browser."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from store.settings import EngineUrls
from tests.gateway.rig import Served, gateway


@contextmanager
def serving(urls: EngineUrls, **settings: Any) -> Iterator[Served]:
    """The gateway, stopped gracefully at the end."""
    stop, ready, there = asyncio.Event(), threading.Event(), []
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with gateway(urls, **settings) as served:
            there.append(served)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=[serve()])
    thread.start()
    try:
        assert ready.wait(60), "the gateway started"
        yield there[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)
        loop.close()
