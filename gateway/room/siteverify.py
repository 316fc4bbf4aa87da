"""The call of a human check over HTTP, loaded only where one is set: see `gateway.room.human`."""

from __future__ import annotations

from typing import Final

import aiohttp
import msgspec

SECONDS_MAX: Final = 3.0
CONNECTIONS_MAX: Final = 50
BODY_BYTES_MAX: Final = 16 * 1024


class Away(Exception):
    """It did not answer, or with something that says nothing."""


class _Verdict(msgspec.Struct):
    success: bool


_decode = msgspec.json.Decoder(_Verdict).decode


class SiteVerify:
    """One address; made within a running loop, `close` it."""

    def __init__(self, url: str, secret: str) -> None:
        self._url = url
        self._secret = secret
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX),
            timeout=aiohttp.ClientTimeout(total=SECONDS_MAX),
        )

    async def ask(self, answer: str) -> bool:
        """Whether a human gave this answer; raises `Away`."""
        form = {"secret": self._secret, "response": answer}
        try:
            async with self._session.post(self._url, data=form, allow_redirects=False) as response:
                response.raise_for_status()
                return _decode(await response.content.read(BODY_BYTES_MAX)).success
        except (aiohttp.ClientError, TimeoutError, OSError, msgspec.MsgspecError) as error:
            raise Away(repr(error)) from error

    async def close(self) -> None:
        """Its connections end."""
        await self._session.close()
