"""News without a socket: server-sent events, or asking every few seconds; and what is said, by HTTP.

Frames are told as the socket tells them: `room`, `place`, `decision`, `not_queued`; an `error` names in
`asked` what it answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import Callable, Sequence
from typing import Final

import httpx

from onsale_client.calls import Calls, Frame, refusal
from onsale_client.errors import NotOpen, Refused

EVENTS: Final = "events"
POLL: Final = "poll"
POLL_SECONDS: Final = 3.0
SILENT_SECONDS_MAX: Final = 40.0
"""A stream that says nothing for so long is dead: onsale sends a sign of life each 15 seconds."""
STREAMS_FAILED_MAX: Final = 3
"""After so many streams in a row that told nothing it is asked for news alone."""
WAIT_SECONDS: Final = 10
"""So long onsale may take to answer a request with its decision; then it is asked again."""
PATHS: Final = {
    "join": "/room/join",
    "begin": "/room/begin",
    "more_time": "/room/more-time",
    "leave_line": "/room/leave",
    "request": "/requests",
}
FOR_GOOD: Final = {
    "token_required": 4401,
    "token_not_valid": 4401,
    "token_expired": 4401,
    "event_not_found": 4404,
}
"""Refusals after which coming back helps nobody, by the code that the socket would be closed with."""


class News:
    """`once`, again and again; `say` at any time."""

    def __init__(self, calls: Calls, told: Callable[[Frame], None], ways: Sequence[str]) -> None:
        self._calls = calls
        self._told = told
        self._ways = ways
        self._failed = 0

    async def once(self) -> bool:
        """A stream until it ends, or one look; whether there was an answer. Raises `NotOpen`."""
        if EVENTS in self._ways and (self._failed < STREAMS_FAILED_MAX or POLL not in self._ways):
            heard = await self._stream()
            self._failed = 0 if heard else self._failed + 1
            if heard or POLL not in self._ways:
                return heard
        return await self._look()

    async def _stream(self) -> bool:
        heard = False
        patience = httpx.Timeout(SILENT_SECONDS_MAX)
        where = self._calls.base + "/room/stream"
        with contextlib.suppress(httpx.TransportError):
            async with self._calls.client.stream(
                "GET", where, headers=self._calls.head, timeout=patience
            ) as answer:
                if not answer.is_success:
                    await answer.aread()
                    _raise_for_good(refusal(answer))
                    return False
                async for line in answer.aiter_lines():
                    if line.startswith("data: "):
                        heard = True
                        self._told(json.loads(line.removeprefix("data: ")))
        return heard

    async def _look(self) -> bool:
        answered = False
        for kind, path in (("room", "/room"), ("place", "/room/place")):
            try:
                found = await self._calls.once(path)
                self._told({"type": kind, **found})
                answered = True
            except Refused as refused:
                _raise_for_good(refused)
            except httpx.TransportError:
                break
        await asyncio.sleep(POLL_SECONDS * random.uniform(0.5, 1.0))
        return answered

    async def say(self, name: str, frame: Frame) -> None:
        """Say something; its answer is told. A request that is not decided yet has none: say it again."""
        kind = frame["type"]
        body = {key: value for key, value in frame.items() if key not in ("type", "id", "again")}
        try:
            if kind == "request":
                head = {"Idempotency-Key": frame["id"], "Prefer": f"wait={WAIT_SECONDS}"}
                found = await self._calls.post(PATHS[kind], body, head, seconds_max=2 * WAIT_SECONDS)
                if "outcome" in found:
                    self._told(found)
            else:
                self._told({"type": "place", **await self._calls.post(PATHS[kind], body)})
        except Refused as refused:
            if refused.code == "not_queued":
                self._told(refused.problem | {"type": "not_queued", "id": name})
            elif refused.code not in FOR_GOOD:  # that ends `once`, for all
                told = {"type": "error", "code": refused.code, "message": str(refused), "asked": name}
                self._told(told)


def _raise_for_good(refused: Refused) -> None:
    if refused.code in FOR_GOOD:
        raise NotOpen(FOR_GOOD[refused.code], str(refused)) from refused
