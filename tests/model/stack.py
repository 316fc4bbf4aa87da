"""A whole onsale in this process: a gateway on a port of its own, and an allocator for each event.

Both are the real ones, on the real engines of the test rig, each in threads of its own; whoever drives
them is an outsider who knows an address and what is in docs/protocol.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import psycopg

from allocator.worker import EventWorker, renew
from store.database import connect
from store.plan import Plan
from store.settings import EngineUrls
from store.stream.wake import wake
from store.venues.rows import save_venue
from tests.gateway.rig import Served, gateway

OPERATOR_KEY = "an operator's key of the tests"
START_SECONDS_MAX = 60.0
RENEW_SECONDS = 0.5


class Stack:
    """A running gateway and the allocators that were started beside it."""

    def __init__(self, urls: EngineUrls, served: Served, loop: asyncio.AbstractEventLoop) -> None:
        self.urls = urls
        self.served = served
        self.loop = loop
        self._workers: dict[str, EventWorker] = {}
        self._ended: list[EventWorker] = []
        self._over = threading.Event()
        self._renewing = threading.Thread(target=self._renew, name="renew")
        self._renewing.start()

    def _renew(self) -> None:
        """As an allocator's process does: what nobody renews for long was not attended to."""
        with connect(self.urls.database_url, "onsale allocator lease") as conn:
            while not self._over.wait(RENEW_SECONDS):
                renew(conn, list(self._workers.values()))

    @property
    def port(self) -> int:
        return self.served.port

    def in_gateway(self, coroutine: Any) -> Any:
        """The result of a coroutine that runs in the gateway's own loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(START_SECONDS_MAX)

    def save_venue(self, slug: str, plan: Plan) -> None:
        with psycopg.connect(self.urls.database_url, autocommit=True) as conn:
            save_venue(conn, slug, plan)

    def query(self, text: str, *values: object) -> list[Any]:
        with psycopg.connect(self.urls.database_url, autocommit=True) as conn:
            return conn.execute(text, values).fetchall()

    def allocate(self, slug: str) -> int:
        """Start an allocator for an event; returns the event's id."""
        ((event_id,),) = self.query("SELECT id FROM event WHERE slug = %s", slug)
        worker = EventWorker(self.urls.database_url, self.urls.redis_url, event_id, slug, "test")
        worker.start()
        self._workers[slug] = worker
        return int(event_id)

    def end_allocator(self, slug: str) -> EventWorker:
        """Ask it to stop after the batch under way; `join` what is returned to see it gone."""
        worker = self._workers.pop(slug)
        worker.stop()
        wake(self.urls.redis_url, slug)
        self._ended.append(worker)
        return worker

    def make_holds_old(self, slug: str) -> None:
        """Every active hold ran out yesterday, and another allocator takes over: it finds them so."""
        self.end_allocator(slug).join(START_SECONDS_MAX)
        with psycopg.connect(self.urls.database_url, autocommit=True) as conn:
            conn.execute("SET session_replication_role = replica")
            conn.execute(
                "UPDATE hold SET expires_at = expires_at - interval '1 day'"
                " WHERE state = 'active' AND event_id = (SELECT id FROM event WHERE slug = %s)",
                (slug,),
            )
        self.allocate(slug)

    def close(self) -> None:
        self._over.set()
        self._renewing.join(START_SECONDS_MAX)
        for slug in list(self._workers):
            self.end_allocator(slug)
        for worker in self._ended:
            worker.join(START_SECONDS_MAX)
            assert not worker.is_alive(), f"{worker.name} did not end"


@contextlib.contextmanager
def stack(urls: EngineUrls, *, bounds: dict[str, Any] | None = None, **settings: Any) -> Iterator[Stack]:
    """The gateway in a thread of its own, and no allocator yet; all ends with the block."""
    ready: Future[tuple[Served, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        over = asyncio.Event()
        async with gateway(urls, bounds=bounds, operator_key=OPERATOR_KEY, **settings) as served:
            ready.set_result((served, asyncio.get_running_loop(), over))
            await over.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    thread = threading.Thread(target=run, name="gateway", daemon=True)
    thread.start()
    served, loop, over = ready.result(START_SECONDS_MAX)
    both = Stack(urls, served, loop)
    try:
        yield both
    finally:
        both.close()
        loop.call_soon_threadsafe(over.set)
        thread.join(START_SECONDS_MAX)
        assert not thread.is_alive(), "the gateway did not stop"
