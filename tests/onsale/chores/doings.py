"""How tests run a chore: with a provider that remembers what it was asked, on a real Postgres."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gateway.payments.port import Made, NotGenuine, OnItsWay, ProviderAway
from onsale.chores.doing import Doing, connected
from onsale.chores.settings import ChoreSettings
from store.errors import Conflicted
from store.payments.begin import Payment
from store.payments.refunds import Due, key_of
from store.payments.settle import Notice
from store.payments.states import NoticeKind
from store.settings import EngineUrls


class Killed(BaseException):
    """The process is gone: nothing after this runs."""


class FakeProvider:
    """Knows intents by id; answers as it is told to. Gives each refund once, by its key."""

    name = "simulated"

    def __init__(self) -> None:
        self.away = False
        self.refuses: set[int] = set()
        self.on_their_way: set[str | None] = set()
        self.paid: dict[str, Notice] = {}
        self.ended: list[str] = []
        self.looked: list[str] = []
        self.given: dict[str, int] = {}
        self.asked_to_give = 0
        self.killed_after: Callable[[], None] = lambda: None
        """What happens once an answer is known here and nowhere else."""

    async def make(self, payment: Payment, *, return_url: str) -> Made:
        return Made(f"pi_{payment.id}", {"url": return_url})

    async def end(self, intent: str) -> Notice | None:
        self._must_answer()
        self.ended.append(intent)
        if intent in self.on_their_way:
            raise OnItsWay
        self.killed_after()
        return self.paid.get(intent)

    async def look(self, intent: str) -> Notice | None:
        self._must_answer()
        self.looked.append(intent)
        return self.paid.get(intent)

    async def give_back(self, due: Due) -> str:
        self._must_answer()
        if due.id in self.refuses:
            raise Conflicted("refund_refused", "The card is closed.")
        self.asked_to_give += 1
        self.given[key_of(due.id)] = due.amount_minor
        await asyncio.sleep(0)
        self.killed_after()
        return f"re_{due.id}"

    def read(self, headers: Mapping[str, str], body: bytes) -> Notice:
        raise NotGenuine("not_genuine", "Nobody sends anything here.")

    async def close(self) -> None:
        self.away = False

    def _must_answer(self) -> None:
        if self.away:
            raise ProviderAway

    def takes_money(self, payment: Payment) -> None:
        """The buyer pays, and nobody is told."""
        told = (payment.amount_minor, payment.currency.lower())
        kind, intent = NoticeKind.SUCCEEDED, payment.intent
        assert intent is not None
        self.paid[intent] = Notice(self.name, f"seen_{intent}", kind, payment.id, intent, *told)


def settings_of(database_url: str, redis_url: str = "redis://127.0.0.1:1", folder: Path = Path("mail")):
    return ChoreSettings(EngineUrls(database_url, redis_url), redis_url, folder, public_url="http://on.sale")


class Ran:
    """How a run stood at its end."""

    def __init__(self, doing: Doing, done: Any) -> None:
        self.done: Any = done
        self.errors = doing.errors
        self.more = doing.more
        self.told: Callable[[], Any] = doing.told


def doing(database_url: str, chore: Callable[[Doing], Any], provider: Any = None, **how: Any) -> Ran:
    """One run of a chore, whole; how it stood at its end. `how` may have `settings`, `stop`, `ask`, …"""
    settings = how.pop("settings", None) or settings_of(database_url)
    stop = how.pop("stop", None) or threading.Event()
    providers = {provider.name: provider} if provider else {}
    if how.pop("unmade", False):
        providers = None  # type: ignore[assignment]

    async def run() -> Ran:
        async with connected(settings, "test") as connection:
            made = Doing(connection, settings, stop, providers=providers, **how)
            return Ran(made, await chore(made))

    return asyncio.run(run())


def at_once(database_url: str, chore: Callable[[Doing], Any], provider: Any, times: int = 2) -> int:
    """The same chore so often at the same time, each with a connection of its own; how much all did."""
    settings = settings_of(database_url)

    async def one() -> int:
        async with connected(settings, "test") as connection:
            run = Doing(connection, settings, threading.Event(), providers={provider.name: provider})
            done: int = await chore(run)
            assert run.told() is None, run.told()
            return done

    async def all_of_them() -> int:
        return sum(await asyncio.gather(*[one() for _ in range(times)]))

    return asyncio.run(all_of_them())
