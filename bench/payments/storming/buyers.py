"""Buyers who hold seats over the API, pay for them at the provider's page, and look what became of it.

Whatever breaks, a buyer does what a person or a page would: asks again, with the same key where there is
one, until there is an answer. What a buyer was told is kept for the judge.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import aiohttp

from bench.payments.storming.evidence import Told
from bench.payments.storming.plan import Fate
from bench.target import StageEvent

AT_ONCE: Final = 48
"""Buyers who ask for something in the same moment; those who wait for something are not counted."""
CALL_SECONDS_MAX: Final = 15.0
PAUSE_SECONDS: Final = (0.1, 0.5)
LOOK_SECONDS: Final = (0.3, 1.2)
ASK_AGAIN_CODES: Final = frozenset({"request_under_way", "unknown_request"})
OVER: Final = frozenset({"canceled", "refunded"})


class Reply(NamedTuple):
    """`status` 0: none came."""

    status: int
    body: dict[str, Any]

    @property
    def code(self) -> str:
        return str(self.body.get("code", ""))


class Held(NamedTuple):
    hold: str
    expires_at: float
    """Unix seconds."""


class Buyer:
    """One buyer of a crowd, of one event."""

    def __init__(self, crowd: Crowd, fate: Fate, event: StageEvent, name: str, token: str) -> None:
        self.fate = fate
        self.told: list[Told] = []
        self.held: Held | None = None
        self.checkout = ""
        self.settled = False
        """Whether it will pay is known."""
        self._crowd = crowd
        self._event = event
        self._name = name
        self._head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._chance = random.Random(f"buyer {name}")

    async def hold(self) -> None:
        """Seats, and a payment begun for them; `held` and `checkout` say whether there are."""
        async with self._crowd.places:
            self.held = await self._ask()
            if self.held is not None:
                self.checkout = await self._begin(self.held)
        self.settled = True

    async def pay(self) -> None:
        """In time or late, once or twice; then look until it is over."""
        if self.held is None or not self.checkout:
            return
        if self.fate.late_by_seconds:
            await asyncio.sleep(max(0.0, self.held.expires_at + self.fate.late_by_seconds - time.time()))
        async with self._crowd.places:
            if self.fate.declined:
                await self._press(f"{self.checkout}/decline")
            for _ in range(2 if self.fate.impatient else 1):
                await self._press(self.checkout)
        self._crowd.pressed += 1
        await self._look(self.held)

    async def _ask(self) -> Held | None:
        want = json.dumps({"best": {"quantity": self.fate.quantity, "apart": True}})
        head = self._head | {"Idempotency-Key": "r1", "Prefer": "wait=10"}
        while not self._crowd.given_up:
            reply = await self._call("POST", f"/v1/events/{self._event.slug}/requests", want, head)
            while reply.status == 202:
                path = f"/v1/events/{self._event.slug}/requests/r1?wait_ms=5000"
                reply = await self._call("GET", path)
            if reply.status == 200:
                self._crowd.counts[str(reply.body["outcome"])] += 1
                if reply.body["outcome"] != "held":
                    return None
                result = reply.body["result"]
                return Held(str(result["hold"]), result["expires_at"] / 1000)
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
                self._crowd.counts["two checkouts for one hold"] += 1
            if urls:
                return str(urls.pop())
            if all(self._is_final(one) for one in replies):
                return ""
            await self._pause()
        return ""

    async def _press(self, url: str) -> None:
        """A button of the provider's page, until it answers."""
        while not self._crowd.given_up:
            reply = await self._send("POST", url, "", {"Accept": "application/json"})
            if reply.status == 409:
                self._crowd.counts["too late at the provider"] += 1
            if reply.status in (200, 404, 409):
                return
            await self._pause()

    async def _look(self, held: Held) -> None:
        """Until it is bought, given back or canceled; or until nothing will change any more."""
        path = f"/v1/events/{self._event.slug}/holds/{held.hold}/payment"
        while True:
            last = self._crowd.at_rest.is_set()
            reply = await self._call("GET", path)
            if reply.status == 200:
                state, order = str(reply.body["state"]), reply.body.get("order")
                self.told.append(Told(self._name, self._event.id, held.hold, state, order))
                if state in OVER or (state == "succeeded" and order is not None):
                    return
            if last and reply.status != 0:
                return
            await asyncio.sleep(self._chance.uniform(*LOOK_SECONDS))

    async def _call(
        self, method: str, path: str, body: str = "", head: Mapping[str, str] | None = None
    ) -> Reply:
        url = self._chance.choice(self._crowd.urls) + path
        return await self._send(method, url, body, head or self._head)

    async def _send(self, method: str, url: str, body: str, head: Mapping[str, str]) -> Reply:
        try:
            async with self._crowd.session.request(
                method, url, data=body.encode() or None, headers=head, allow_redirects=False
            ) as answer:
                raw = await answer.read()
            found = json.loads(raw) if raw else {}
            self._crowd.counts[f"answered {answer.status}"] += 1
            return Reply(answer.status, found if isinstance(found, dict) else {})
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            self._crowd.counts["no answer"] += 1
            return Reply(0, {})

    def _is_final(self, reply: Reply) -> bool:
        """Whether asking again would give the same."""
        again = reply.status in (0, 429) or reply.status >= 500 or reply.code in ASK_AGAIN_CODES
        if not again:
            self._crowd.counts[f"refused {reply.status} {reply.code}"] += 1
        return not again

    async def _pause(self) -> None:
        await asyncio.sleep(self._chance.uniform(*PAUSE_SECONDS))


class Crowd:
    """All buyers of a wave. Use as a context; `hold` first, then `pay`, which ends when all is over."""

    def __init__(
        self,
        urls: Sequence[str],
        on_sale: Sequence[StageEvent],
        fates: Sequence[Fate],
        tokens: Sequence[tuple[str, str]],
    ) -> None:
        self.urls = list(urls)
        self.counts: Counter[str] = Counter()
        self.pressed = 0
        """Buyers who are through with the provider's page."""
        self.given_up = False
        """Nothing new is asked for any more."""
        self.buyers = [Buyer(self, fate, on_sale[fate.event], *tokens[fate.number]) for fate in fates]

    async def __aenter__(self) -> Crowd:
        self.places = asyncio.Semaphore(AT_ONCE)
        self.at_rest = asyncio.Event()
        connector = aiohttp.TCPConnector(limit=4 * AT_ONCE, force_close=False)
        timeout = aiohttp.ClientTimeout(total=CALL_SECONDS_MAX)
        self.session = aiohttp.ClientSession(connector=connector, timeout=timeout)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()

    async def hold(self) -> None:
        """Everybody has seats and may pay for them, or was refused."""
        await asyncio.gather(*[buyer.hold() for buyer in self.buyers])

    async def pay(self) -> None:
        """Ends after `rest` was said."""
        await asyncio.gather(*[buyer.pay() for buyer in self.buyers])

    async def hold_and_pay(self) -> None:
        """Each buyer by itself: some pay while others ask."""

        async def one(buyer: Buyer) -> None:
            await buyer.hold()
            await buyer.pay()

        await asyncio.gather(*[one(buyer) for buyer in self.buyers])

    def rest(self) -> None:
        """Nothing will change any more: whoever still looks looks a last time."""
        self.given_up = True
        self.at_rest.set()

    @property
    def can_pay(self) -> int:
        """Buyers who were sent to the provider's page."""
        return sum(bool(buyer.checkout) for buyer in self.buyers)

    @property
    def told(self) -> list[Told]:
        return [told for buyer in self.buyers for told in buyer.told]
