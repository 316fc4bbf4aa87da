"""Whether a human gave an answer: asked of whoever the organiser trusts with that, over HTTP.

The call and its answer are those of Turnstile's and hCaptcha's siteverify: a form with `secret` and
`response`, and JSON with `success`. An endpoint of the organiser's own does the same. While it cannot be
asked, joins go on or do not, as is set.
"""

from __future__ import annotations

import logging
from typing import Final

import aiohttp
import msgspec

from gateway.problems import Busy
from gateway.room.settings import RoomSettings
from store.errors import BadRequest, Unavailable
from store.room.refused import Reason

log = logging.getLogger("onsale.gateway")

SECONDS_MAX: Final = 3.0
ASKED_MAX: Final = 500
"""Asked for at a time, by `CONNECTIONS_MAX` connections."""
CONNECTIONS_MAX: Final = 50
BODY_BYTES_MAX: Final = 16 * 1024


class HumanCheckFailed(BadRequest):
    """Nobody says that a human asks."""

    def __init__(self) -> None:
        story = "The check that you are human did not succeed. Do it once more, then join again."
        super().__init__(Reason.HUMAN_CHECK.value, story)
        self.reason = Reason.HUMAN_CHECK


class _Verdict(msgspec.Struct):
    success: bool


_decode = msgspec.json.Decoder(_Verdict).decode


class HumanCheck:
    """One gateway's; `close` it."""

    def __init__(self, settings: RoomSettings) -> None:
        self._url = settings.human_check_url
        self._secret = settings.human_check_secret
        self._open = settings.human_check_fails_open
        self._session: aiohttp.ClientSession | None = None
        self._asked = 0

    @property
    def on(self) -> bool:
        """Whether joins need an answer."""
        return bool(self._url)

    async def check(self, answer: str | None) -> None:
        """Raises `HumanCheckFailed`, and `Unavailable` while that cannot be known; does nothing where it is
        off."""
        if not self.on:
            return
        if not answer:
            raise HumanCheckFailed
        if self._asked >= ASKED_MAX:
            raise Busy("human_check_busy", "Very many join now. Try again in a moment.")
        self._asked += 1
        try:
            human = await self._ask(answer)
        except (aiohttp.ClientError, TimeoutError, OSError, msgspec.MsgspecError) as error:
            log.warning("the human check cannot be asked: %r", error)
            if not self._open:
                story = "The check that you are human cannot be made now. Try again shortly."
                raise Unavailable(story) from error
            return
        finally:
            self._asked -= 1
        if not human:
            raise HumanCheckFailed

    async def _ask(self, answer: str) -> bool:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX),
                timeout=aiohttp.ClientTimeout(total=SECONDS_MAX),
            )
        form = {"secret": self._secret, "response": answer}
        async with self._session.post(self._url, data=form, allow_redirects=False) as response:
            response.raise_for_status()
            return _decode(await response.content.read(BODY_BYTES_MAX)).success

    async def close(self) -> None:
        """Its connections end."""
        if self._session is not None:
            await self._session.close()
