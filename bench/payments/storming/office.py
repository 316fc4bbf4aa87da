"""The organiser: takes orders back, whole or in part, and cancels an event, over the operators' API.

Asked again until there is an answer. An order of which some is taken is named with how many it has, so a call
that is repeated takes nothing twice; that it was done is known then from the refusal.
"""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any, Final, NamedTuple

from bench.payments.storming.calls import Caller, Reply
from bench.payments.storming.evidence import Returned
from bench.payments.storming.plan import TakenBack
from bench.target import StageEvent

AT_ONCE: Final = 4
PAUSE_SECONDS: Final = (0.1, 0.4)
CLOSING_SECONDS_MAX: Final = 60.0
WHY: Final = {"who": "Olga", "why": "the storm"}


class Contents(NamedTuple):
    """What a hold has: seats by guid, and places of areas."""

    seats: tuple[str, ...]
    areas: dict[str, int]

    @property
    def quantity(self) -> int:
        return len(self.seats) + sum(self.areas.values())


class Office:
    """One wave's organiser."""

    def __init__(self, calls: Caller, operator_key: str, seed: int) -> None:
        self.returned: list[Returned] = []
        self.canceled: list[int] = []
        self._calls = calls
        self._head = {"Authorization": f"Bearer {operator_key}", "Content-Type": "application/json"}
        self._chance = random.Random(f"office {seed}")
        self._hands = asyncio.Semaphore(AT_ONCE)
        self._open = True
        self._given_up = False
        self._busy: set[asyncio.Task[None]] = set()

    async def take_back(self, event: StageEvent, order: str, contents: Contents, what: TakenBack) -> None:
        """Unless it is closed. What it was told is in `returned`."""
        if not self._open:
            return
        task = asyncio.current_task()
        assert task is not None, "somebody calls it"
        self._busy.add(task)
        try:
            async with self._hands:
                await self._take_back(event, order, contents, what)
        finally:
            self._busy.discard(task)

    async def cancel(self, event: StageEvent) -> None:
        """It is closed at once, and its orders are taken back by the chores."""
        reply = await self._ask(f"/v1/operator/events/{event.slug}/cancel", WHY)
        if reply.status == 200:
            self.canceled.append(event.id)

    async def close(self) -> str:
        """Nothing new is taken back; what is under way is waited for. What it was that did not end."""
        self._open = False
        deadline = asyncio.get_running_loop().time() + CLOSING_SECONDS_MAX
        while self._busy:
            if asyncio.get_running_loop().time() > deadline:
                self._given_up = True
                return f"{len(self._busy)} orders could not be taken back"
            await asyncio.sleep(PAUSE_SECONDS[0])
        return ""

    async def _take_back(self, event: StageEvent, order: str, contents: Contents, what: TakenBack) -> None:
        body: dict[str, Any] = dict(WHY)
        count = contents.quantity
        if what is TakenBack.SOME:
            body |= {"quantity": count}
            body |= {"seats": [contents.seats[0]]} if contents.seats else {"areas": _one(contents.areas)}
            count = 1
        reply = await self._ask(f"/v1/operator/events/{event.slug}/orders/{order}/return", body)
        if reply.status == 200:
            self.returned.append(Returned(event.id, int(order), what, count))

    async def _ask(self, path: str, body: dict[str, Any]) -> Reply:
        unknown = False
        while not self._given_up:
            reply = await self._calls.call(self._chance, "POST", path, json.dumps(body), self._head)
            if unknown and reply.code == "order_changed":  # by the call whose answer was lost
                return Reply(200, {})
            if reply.status not in (0, 429) and reply.status < 500:
                return reply
            unknown = unknown or reply.status != 429
            await asyncio.sleep(self._chance.uniform(*PAUSE_SECONDS))
        return Reply(0, {})


def _one(areas: dict[str, int]) -> dict[str, int]:
    return {next(iter(areas)): 1}
