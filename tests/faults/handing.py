"""Two allocators that are told what to do, and two events at once: one with a thread of its own, one shared.

What is asked, told and waited for here is so of both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from onsale.engines.child import Child
from store.plan import Plan
from store.settings import EngineUrls
from tests.allocator.house import SLUG, open_event
from tests.faults.allocating import Allocators, Sale


class Pair:
    """`one` owns the events, `two` is warm. A context."""

    def __init__(
        self,
        urls: EngineUrls,
        logs: Path,
        by_way_of: EngineUrls | None = None,
        make_event: Callable[[str, Plan, str], int] = open_event,
    ) -> None:
        """`by_way_of`: where the allocators find the engines."""
        self._closing = contextlib.ExitStack()
        self.allocators = Allocators(by_way_of or urls, logs)
        self._closing.callback(self.allocators.close)
        self.own_thread = Sale(urls, self.allocators, make_event, f"own-{SLUG}")
        self.shared = Sale(urls, self.allocators, make_event, f"shared-{SLUG}")
        self.sales = (self.own_thread, self.shared)
        for sale in self.sales:
            self._closing.callback(sale.close)

    def __enter__(self) -> Pair:
        with self._closing as starting:
            self.one = self.start("one", preferred=True)
            self.two = self.allocators.start_told("two")
            self.wait_owner(self.one)
            for sale in self.sales:
                sale.wait_open()
            self.tell("two", preferred=False)
            self._closing = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def _wishes(self, wish: dict[str, bool | None]) -> list[dict[str, object]]:
        return [
            {"event_id": sale.event_id, "slug": sale.slug, "shared": sale is self.shared, **wish}
            for sale in self.sales
        ]

    def start(self, name: str, **wish: bool | None) -> Child:
        """One more."""
        return self.allocators.start_told(name, self._wishes(wish))

    def tell(self, name: str, **wish: bool | None) -> None:
        self.allocators.tell(name, self._wishes(wish))

    def move(self, giver: str, taker: str, *, warm: bool = True) -> None:
        """As a planner does: one is to own them, the other to hand them over."""
        self.tell(taker, preferred=True)
        self.tell(giver, preferred=False, successor_warm=warm)

    def ask(self, count: int) -> None:
        for sale in self.sales:
            sale.ask(count)

    def wait_decided(self, count: int) -> None:
        for sale in self.sales:
            sale.wait_decided(count)

    def owned_by(self, child: Child) -> bool:
        """Whether its name is in the leases."""
        return all(sale.owner() is child for sale in self.sales)

    def wait_owner(self, child: Child) -> None:
        for sale in self.sales:
            sale.wait_until(lambda sale=sale: sale.owner() is child, "it owns the event")  # type: ignore[misc]

    def wait_warm(self, name: str) -> None:
        """It has followed to the last batches."""
        text = "SELECT batch_no FROM event_cursor WHERE event_id = %(event)s"

        def warm(sale: Sale) -> bool:
            return self.allocators.warm(name).get(sale.event_id) == int(sale.one(text))

        for sale in self.sales:
            sale.wait_until(lambda sale=sale: warm(sale), f"{name} is warm")  # type: ignore[misc]

    def wait_given_back(self) -> None:
        for sale in self.sales:
            sale.wait_until(lambda sale=sale: sale.owner() is None, "it is given back")  # type: ignore[misc]

    def owners(self) -> list[int]:
        """How many there were of each event."""
        return [len(set(sale.epochs())) for sale in self.sales]

    def check(self) -> None:
        for sale in self.sales:
            sale.check()
