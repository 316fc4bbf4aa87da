"""A subscriber that remembers every message it got, and checks each as the standardwebhooks library does."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

START_SECONDS_MAX = 10.0


class Sink:
    """What came; read it from any thread."""

    def __init__(self) -> None:
        self.url = ""
        self.secret = ""
        """Set when it has subscribed; before that nothing is genuine."""
        self.not_genuine = 0
        self._got: Counter[str] = Counter()

    def got(self) -> dict[str, int]:
        """Message id → how often it came, well signed."""
        return dict(self._got)

    @property
    def different(self) -> int:
        """How many messages came, however often each."""
        return len(self._got)

    async def hear(self, request: web.Request) -> web.Response:
        """A delivery."""
        body = await request.read()
        try:
            Webhook(self.secret).verify(body.decode(), dict(request.headers))
        except (WebhookVerificationError, UnicodeDecodeError):
            self.not_genuine += 1
            return web.Response(status=400)
        self._got[request.headers["webhook-id"]] += 1
        return web.Response(status=204)


@contextmanager
def sinking() -> Iterator[Sink]:
    """A sink on a free port of this machine, in a thread of its own."""
    sink, ready, loop = Sink(), threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        app = web.Application()
        app.add_routes([web.post("/hook", sink.hear)])
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        sink.url = f"http://{host}:{port}/hook"
        ready.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), name="sink", daemon=True)
    thread.start()
    assert ready.wait(START_SECONDS_MAX), "the sink starts within seconds"
    try:
        yield sink
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(START_SECONDS_MAX)
        loop.close()
