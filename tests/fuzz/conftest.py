"""A gateway in a storm, a buyer who minds his own business, and what must be as before when it is over."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.gateway.rig import EVENT
from tests.model.clients import WITHIN_SECONDS, Buyer, Http, Operator
from tests.model.house import VENUE, house
from tests.model.stack import Stack, stack

IDLE_SECONDS_MIN = 0.2
"""No gateway of these tests gives a connection up that was quiet for less."""


@dataclass
class Storm:
    """`both` is the stack; `troubles` is what nobody caught in the gateway's loop."""

    both: Stack
    troubles: list[str]

    @property
    def port(self) -> int:
        return self.both.port

    def size(self) -> dict[str, int]:
        """What grows when something is not let go."""

        async def look() -> dict[str, int]:
            runtime = self.both.served.runtime
            (event,) = (one for one in runtime.events.loaded() if one.row.slug == EVENT)
            state = self.both.served.server.server_state
            return {
                "sockets": len(runtime.hub.clients),
                "clients": len(event.clients),
                "watchers": len(event.watch.watchers),
                "undecided": len(event.intake.undecided),
                "buyers undecided": len(event.intake._by_buyer),
                "waiting": event.intake.waiting,
                "asking": len(event.recall._asked),
                "events loaded": len(runtime.events.loaded()),
                "connections": len(state.connections),
                "served": len(state.tasks),
                "tasks": len([task for task in asyncio.all_tasks() if not _passing(task)]),
            }

        found: dict[str, int] = self.both.in_gateway(look())
        return found


def _passing(task: asyncio.Task[Any]) -> bool:
    """The looking itself, and what a pool does now and then."""
    return task is asyncio.current_task()


@pytest.fixture
def storm(engine_urls) -> Iterator[Storm]:
    """After the test the gateway's tables must be what they were, nothing uncaught, and the buyer served."""
    with stack(engine_urls, demo=True) as both:
        both.save_venue(VENUE, house())
        with contextlib.closing(Http(both.port)) as http:
            wish = {
                "slug": EVENT,
                "venue": VENUE,
                "open": True,
                "seats_per_buyer_max": 1_000,
                "fast_gate": False,
            }
            assert Operator(http).ask("POST", "", wish)[0] == 201
            both.allocate(EVENT)
            assert (
                Buyer(http, EVENT, "quiet").request("warm", {"areas": {"bar": 1}}, paused=False)[1] == "held"
            )
        storm = Storm(both, [])
        both.loop.set_exception_handler(lambda loop, context: storm.troubles.append(str(context)))
        before = _settled(storm, None)
        with _quiet_buyer(both.port) as served:
            yield storm
        assert served[0] > 0, "a quiet buyer was served during the storm"
        assert _grown(_settled(storm, before), before) == {}
        assert not storm.troubles


def _settled(storm: Storm, wanted: dict[str, int] | None) -> dict[str, int]:
    """The sizes once none is above what is wanted, or, while nobody wants any, once no connection is left."""
    size = storm.size()
    settled = threading.Event()
    for _ in range(int(WITHIN_SECONDS / 0.05)):
        if not (size["connections"] if wanted is None else _grown(size, wanted)):
            break
        settled.wait(0.05)
        size = storm.size()
    return size


def _grown(size: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    """What is more than before; less is no leak (a task of before that was about to end)."""
    return {name: count for name, count in size.items() if count > before[name]}


def _ask_until(over: threading.Event, buyer: Buyer, served: list[int]) -> None:
    """Returns early when the gateway gave the connection up because nothing came on it for long."""
    asked_at = time.monotonic()
    while True:
        before, asked_at = asked_at, time.monotonic()
        try:
            answer = buyer.request(f"quiet-{served[0]}", {"areas": {"bar": 50}}, paused=False)
        except (ConnectionError, http.client.HTTPException):
            if time.monotonic() - before < IDLE_SECONDS_MIN:
                raise
            return
        assert answer[:2] == ("decision", "sold_out"), answer
        served[0] += 1
        if over.is_set():
            return


@contextlib.contextmanager
def _quiet_buyer(port: int) -> Iterator[list[int]]:
    """Asks and looks without pause in a thread of its own; the number of answers, each as it must be."""
    over = threading.Event()
    served, failed = [0], []

    def live() -> None:
        try:
            while not over.is_set():
                with contextlib.closing(Http(port)) as http:
                    _ask_until(over, Buyer(http, EVENT, "quiet"), served)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=live, name="quiet buyer")
    thread.start()
    try:
        yield served
    finally:
        over.set()
        thread.join(3 * WITHIN_SECONDS)
    assert not thread.is_alive(), "the quiet buyer's last request is answered"
    if failed:
        raise failed[0]
