"""A whole onsale with a fleet of two hosts for the console's journeys, and buyers who come by sockets."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import httpx
from onsale_client import Buyer
from playwright.sync_api import Page, expect

from bench.generator import mint
from bench.waiting_room.rows_asking import FROM_ONE_ADDRESS
from onsale.processes import Stack, throwaway_stack
from tests.browser.conftest import Profile, Tabs

HOSTS = {"north": 2, "south": 2}
CROWD_SECONDS = 120
_NUMBERS = itertools.count(1)
T = TypeVar("T")


@contextmanager
def running_office() -> Iterator[Stack]:
    with throwaway_stack(
        gateways=2, allocators=0, hosts=HOSTS, chores=True, env={"ONSALE_DEMO": "1", **FROM_ONE_ADDRESS}
    ) as running:
        yield running


def new_slug(name: str) -> str:
    return f"{name}-{os.getpid()}-{next(_NUMBERS)}"


def call(stack: Stack, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
    """The operators' API as a program asks it, with the owner's key unless another is given."""
    headers = {"Authorization": f"Bearer {key or stack.operator_key}"}
    answer = httpx.request(
        method, f"{stack.base_url}/v1/operator/{path}", json=body, headers=headers, timeout=30
    )
    assert answer.is_success, answer.text
    return answer.json()


def launch(stack: Stack, name: str, seats: int = 120, **room: Any) -> str:
    """An event on sale, with a waiting room; every request is decided, for no gateway refuses at once."""
    slug = new_slug(name)
    event = {"slug": slug, "name": name.capitalize(), "payment": "none", "fast_gate": False}
    made = {"event": event, "make": {"kind": "theatre", "seats": seats}, "room": room, "begin": "lobby"}
    call(stack, "POST", "launches", made)
    call(stack, "POST", f"events/{slug}/open")
    return slug


def new_key(stack: Stack, name: str, role: str) -> str:
    made: str = call(stack, "POST", "keys", {"name": f"{name}-{next(_NUMBERS)}", "role": role})["secret"]
    return made


def log_in(
    profile: Profile, stack: Stack, key: str, path: str = "/console", **options: Any
) -> tuple[Tabs, Page]:
    """A tab of a browser profile of its own, logged in by the form."""
    tabs = Tabs(profile, stack.base_url)
    page = tabs.open(path, ready=False, own=True, **options)
    page.get_by_label("Operator key").fill(key)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("navigation", name="Console")).to_be_visible()
    tabs.wrong.clear()  # a browser writes that who had not logged in was nobody
    return tabs, page


class Crowd:
    """Buyers of one event, each with a socket of their own, in a thread; gone when the block ends."""

    def __init__(self, stack: Stack, event: str) -> None:
        self.stack, self.event = stack, event
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._tokens = iter(mint(stack.token_secret, 10_000, f"{event}-buyer"))
        self._inside: list[Buyer] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._now(self._leave())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CROWD_SECONDS)
        self._loop.close()

    def join(self, count: int) -> list[tuple[str, Buyer]]:
        """So many buyers join the line; returns when all have a place."""
        return self._now(self._joined(count))

    def shop(self, buyers: Sequence[tuple[str, Buyer]], want: Any, *, buy: bool) -> list[str]:
        """Each comes in when it is their turn and asks; the outcomes."""
        return self._now(self._shopped([buyer for _, buyer in buyers], want, buy))

    async def _joined(self, count: int) -> list[tuple[str, Buyer]]:
        async def one() -> tuple[str, Buyer]:
            name, token = next(self._tokens)
            address = self.stack.base_urls[len(self._inside) % len(self.stack.base_urls)]
            buyer = Buyer(address, self.event, token)
            self._inside.append(buyer)
            await buyer.__aenter__()
            await buyer.join()
            return name, buyer

        return await asyncio.gather(*(one() for _ in range(count)))

    async def _shopped(self, buyers: Sequence[Buyer], want: Any, buy: bool) -> list[str]:
        async def one(buyer: Buyer) -> str:
            await buyer.wait_for_turn()
            await buyer.begin()
            answer = await buyer.request(want)
            outcome = str(answer.get("outcome", answer["type"]))
            if buy and outcome == "held":
                await buyer.confirm(answer["result"]["hold"])
            return outcome

        return await asyncio.gather(*(one(buyer) for buyer in buyers))

    async def _leave(self) -> None:
        await asyncio.gather(*(buyer.__aexit__(None, None, None) for buyer in self._inside))

    def _now(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CROWD_SECONDS)
