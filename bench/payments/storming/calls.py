"""Calls over HTTP to whichever gateway, or to the provider; what came is counted."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import aiohttp

CALL_SECONDS_MAX: Final = 15.0
CONNECTIONS_MAX: Final = 600


class Reply(NamedTuple):
    """`status` 0: none came."""

    status: int
    body: dict[str, Any]

    @property
    def code(self) -> str:
        return str(self.body.get("code", ""))


class Caller(Protocol):
    """Asks any gateway."""

    async def call(
        self, chance: random.Random, method: str, path: str, body: str, head: Mapping[str, str]
    ) -> Reply:
        """What it answered."""


class Calls:
    """A session of connections. Use as a context."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = list(urls)
        self.counts: Counter[str] = Counter()

    async def __aenter__(self) -> Calls:
        connector = aiohttp.TCPConnector(limit=CONNECTIONS_MAX, force_close=False)
        timeout = aiohttp.ClientTimeout(total=CALL_SECONDS_MAX)
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def call(
        self, chance: random.Random, method: str, path: str, body: str, head: Mapping[str, str]
    ) -> Reply:
        """At any gateway."""
        return await self.send(method, chance.choice(self._urls) + path, body, head)

    async def send(self, method: str, url: str, body: str, head: Mapping[str, str]) -> Reply:
        try:
            async with self._session.request(
                method, url, data=body.encode() or None, headers=head, allow_redirects=False
            ) as answer:
                raw = await answer.read()
            found = json.loads(raw) if raw else {}
            self.counts[f"answered {answer.status}"] += 1
            return Reply(answer.status, found if isinstance(found, dict) else {})
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            self.counts["no answer"] += 1
            return Reply(0, {})
