"""One buyer who holds seats and standing places over the API, pays for them at the provider's page, and looks
what became of it.

Whatever breaks, a buyer does what a person or a page would: asks again, with the same key where there is
one, until there is an answer. What a buyer was told is kept for the judge.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from bench.payments.storming.calls import Calls, Reply
from bench.payments.storming.evidence import Told
from bench.payments.storming.office import Contents, Office
from bench.payments.storming.plan import Fate, TakenBack
from bench.target import StageEvent

PAUSE_SECONDS: Final = (0.1, 0.5)
LOOK_SECONDS: Final = (0.4, 1.0)
LOOK_LONGER: Final = 1.5
LOOK_SECONDS_MAX: Final = 5.0
"""Between two looks, longer each time: as a page that has no socket."""
ASK_AGAIN_CODES: Final = frozenset({"request_under_way", "unknown_request"})
OVER: Final = frozenset({"canceled", "refunded"})


class Held(NamedTuple):
    hold: str
    expires_at: float
    """Unix seconds."""
    contents: Contents


class Around(Protocol):
    """What a buyer knows of the crowd."""

    calls: Calls
    office: Office
    asking: asyncio.Semaphore
    """For each who asks for seats in this moment; who has some need not wait for them to pay."""
    paying: asyncio.Semaphore
    at_rest: asyncio.Event
    given_up: bool
    """Nothing new is asked for any more."""

    def count(self, what: str) -> None:
        """One more of it."""

    def has_settled(self) -> None:
        """Whether that buyer will pay is known."""

    def has_paid(self, fate: Fate) -> None:
        """That buyer is through with the provider's page."""

    def took(self, what: str, seconds: float) -> None:
        """How long a buyer waited for it."""

    async def until_rest(self, seconds_max: float) -> None:
        """Ends when nothing will change any more, or after so long."""


class Buyer:
    """One of a crowd, of one event."""

    def __init__(self, crowd: Around, fate: Fate, event: StageEvent, name: str, token: str) -> None:
        self.fate = fate
        self.told: list[Told] = []
        self.held: Held | None = None
        self.checkout = ""
        self.settled = self.pressed = self.done = False
        """Whether it will pay is known; it is through with the provider's page; it knows what became of
        it."""
        self._crowd = crowd
        self._event = event
        self._name = name
        self._head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._chance = random.Random(f"buyer {name}")

    async def hold(self) -> None:
        """Seats, and a payment begun for them; `held` and `checkout` say whether there are."""
        async with self._crowd.asking:
            began = time.monotonic()
            self.held = await self._ask()
            if self.held is not None:
                self._crowd.took("a hold", time.monotonic() - began)
                began = time.monotonic()
                self.checkout = await self._begin(self.held)
                self._crowd.took("a checkout", time.monotonic() - began)
        self.settled = True
        self._crowd.has_settled()

    async def pay(self) -> None:
        """In time or late, once or twice; then look until it is over."""
        if self.held is None or not self.checkout:
            self.done = True
            return
        if self.fate.late_by_seconds:
            await asyncio.sleep(max(0.0, self.held.expires_at + self.fate.late_by_seconds - time.time()))
            await self._press(self.held)
        else:
            async with self._crowd.paying:
                await self._press(self.held)
        began = time.monotonic()
        await self._look(self.held)
        self._crowd.took("an answer", time.monotonic() - began)
        self.done = True

    async def _ask(self) -> Held | None:
        asked = self.fate
        want: dict[str, Any] = {"best": {"quantity": asked.seats, "apart": True}} if asked.seats else {}
        if areas := {name: count for name in ("pit", "floor") if (count := getattr(asked, name))}:
            want["areas"] = areas
        head = self._head | {"Idempotency-Key": "r1", "Prefer": "wait=10"}
        path = f"/v1/events/{self._event.slug}/requests"
        while not self._crowd.given_up:
            reply = await self._call("POST", path, json.dumps(want), head)
            while reply.status == 202:
                reply = await self._call("GET", f"{path}/r1?wait_ms=5000")
            if reply.status == 200:
                self._crowd.count(str(reply.body["outcome"]))
                if reply.body["outcome"] != "held":
                    return None
                result = reply.body["result"]
                contents = Contents(tuple(result["seats"]), result["areas"])
                return Held(str(result["hold"]), result["expires_at"] / 1000, contents)
            if self._is_final(reply):
                return None
            await self._pause()
        return None

    async def _begin(self, held: Held) -> str:
        """Where to pay, or an empty text where it is too late for that."""
        path = f"/v1/events/{self._event.slug}/holds/{held.hold}/payment"
        head = self._head | ({"Idempotency-Key": f'"pay {held.hold}"'} if self.fate.keyed else {})
        while not self._crowd.given_up:
            calls = [self._call("POST", path, "{}", head) for _ in range(2 if self.fate.impatient else 1)]
            replies = await asyncio.gather(*calls)
            urls = {one.body["checkout"]["url"] for one in replies if one.body.get("checkout")}
            if len(urls) > 1:
                self._crowd.count("two checkouts for one hold")
            if urls:
                return str(urls.pop())
            final = [self._is_final(one) for one in replies]
            if all(final):
                return ""
            await self._pause()
        return ""

    async def _press(self, held: Held) -> None:
        began = time.monotonic()
        if self.fate.declined:
            await self._press_button(f"{self.checkout}/decline")
        for _ in range(2 if self.fate.impatient else 1):
            await self._press_button(self.checkout)
        self.pressed = True
        self._crowd.has_paid(self.fate)
        if not self.fate.late_by_seconds:
            self._crowd.count("pressed in time" if time.time() < held.expires_at else "pressed too late")
        self._crowd.took("paying", time.monotonic() - began)

    async def _press_button(self, url: str) -> None:
        """A button of the provider's page, until it answers."""
        while not self._crowd.given_up:
            reply = await self._crowd.calls.send("POST", url, "", {"Accept": "application/json"})
            if reply.status == 409:
                self._crowd.count("too late at the provider")
            if reply.status in (200, 404, 409):
                return
            await self._pause()

    async def _look(self, held: Held) -> None:
        """Until it is bought, given back or canceled; or until nothing will change any more."""
        path = f"/v1/events/{self._event.slug}/holds/{held.hold}/payment"
        pause = self._chance.uniform(*LOOK_SECONDS)
        while True:
            last = self._crowd.at_rest.is_set()
            if not last:
                await self._crowd.until_rest(pause)
            pause = min(pause * LOOK_LONGER, LOOK_SECONDS_MAX)
            reply = await self._call("GET", path)
            if reply.status == 200:
                state, order = str(reply.body["state"]), reply.body.get("order")
                self.told.append(Told(self._name, self._event.id, held.hold, state, order))
                if state in OVER or (state == "succeeded" and order is not None):
                    return await self._is_taken(state, order, held)
            if last and reply.status != 0:
                return None

    async def _is_taken(self, state: str, order: str | None, held: Held) -> None:
        """The organiser takes some orders back."""
        if state == "succeeded" and order is not None and self.fate.taken_back is not TakenBack.NOTHING:
            await self._crowd.office.take_back(self._event, order, held.contents, self.fate.taken_back)

    async def _call(
        self, method: str, path: str, body: str = "", head: Mapping[str, str] | None = None
    ) -> Reply:
        return await self._crowd.calls.call(self._chance, method, path, body, head or self._head)

    def _is_final(self, reply: Reply) -> bool:
        """Whether asking again would give the same."""
        again = reply.status in (0, 429) or reply.status >= 500 or reply.code in ASK_AGAIN_CODES
        if not again:
            self._crowd.count(f"refused {reply.status} {reply.code}")
        return not again

    async def _pause(self) -> None:
        await asyncio.sleep(self._chance.uniform(*PAUSE_SECONDS))
