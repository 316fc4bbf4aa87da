"""What is asked over HTTP, until there is an answer: all of it gives the same one however often."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Final

import httpx

from onsale_client.errors import Refused

HTTP_SECONDS_MAX: Final = 10.0
COMES_BACK: Final = (429, 502, 503, 504)
"""Statuses after which the same is asked again."""
Frame = dict[str, Any]


class Calls:
    """One buyer's at one event. `close` closes the client where it was made here."""

    def __init__(self, url: str, event: str, token: str, client: httpx.AsyncClient | None) -> None:
        self.base = f"{url.rstrip('/')}/v1/events/{event}"
        self.head = {"Authorization": f"Bearer {token}"}
        self.client = client or httpx.AsyncClient(timeout=HTTP_SECONDS_MAX)
        self._own = client is None

    async def close(self) -> None:
        """No more calls."""
        if self._own:
            await self.client.aclose()

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> Frame:
        """Raises `Refused`."""
        return await self._until_answered("GET", path, params=dict(query or {}))

    async def post(
        self,
        path: str,
        body: Frame | None = None,
        head: Mapping[str, str] | None = None,
        seconds_max: float = HTTP_SECONDS_MAX,
    ) -> Frame:
        """Raises `Refused`."""
        more = {"json": body} if body else {}
        return await self._until_answered("POST", path, head, **more, timeout=seconds_max)

    async def once(self, path: str) -> Frame:
        """Asked for once. Raises `Refused`, also where it would pass, and `httpx.TransportError`."""
        answer = await self.client.get(self.base + path, headers=self.head)
        if answer.is_success:
            found: Frame = answer.json()
            return found
        raise refusal(answer)

    async def _until_answered(
        self, method: str, path: str, head: Mapping[str, str] | None = None, **more: Any
    ) -> Frame:
        headers = self.head | dict(head or {})
        while True:
            pause = 1.0
            with contextlib.suppress(httpx.TransportError):
                answer = await self.client.request(method, self.base + path, headers=headers, **more)
                if answer.is_success:
                    found: Frame = answer.json()
                    return found
                if answer.status_code not in COMES_BACK:
                    raise refusal(answer)
                pause = float(answer.headers.get("retry-after", 1))
            await asyncio.sleep(pause)


def refusal(answer: httpx.Response) -> Refused:
    """What a problem says; a proxy on the way may answer with something else."""
    try:
        problem = answer.json()
        return Refused(problem["code"], problem["detail"], problem)
    except (ValueError, TypeError, KeyError):
        return Refused("http_error", f"onsale could not be asked: HTTP {answer.status_code}.")
