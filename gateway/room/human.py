"""Whether a human gave an answer: asked of whoever the organiser trusts with that, over HTTP.

The call and its answer are those of Turnstile's and hCaptcha's siteverify: a form with `secret` and
`response`, and JSON with `success`. An endpoint of the organiser's own does the same. While it cannot be
asked, joins go on or do not, as is set.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from gateway.problems import Busy
from gateway.room.settings import RoomSettings
from store.errors import BadRequest, Unavailable
from store.room.refused import Reason

if TYPE_CHECKING:
    from gateway.room.siteverify import SiteVerify

log = logging.getLogger("onsale.gateway")

ASKED_MAX: Final = 500
"""Asked about at a time."""


class HumanCheckFailed(BadRequest):
    """Nobody says that a human asks."""

    def __init__(self) -> None:
        story = "The check that you are human did not succeed. Do it once more, then join again."
        super().__init__(Reason.HUMAN_CHECK.value, story)
        self.reason = Reason.HUMAN_CHECK


class HumanCheck:
    """One gateway's; `close` it."""

    def __init__(self, settings: RoomSettings) -> None:
        self._url = settings.human_check_url
        self._secret = settings.human_check_secret
        self._open = settings.human_check_fails_open
        self._site: SiteVerify | None = None
        self._asked = 0

    @property
    def on(self) -> bool:
        """Whether joins need an answer."""
        return bool(self._url)

    async def check(self, answer: str | None) -> None:
        """Raises `HumanCheckFailed`, and `Busy` or `Unavailable` while that cannot be known; does nothing
        where it is off."""
        if not self.on:
            return
        if not answer:
            raise HumanCheckFailed
        if self._asked >= ASKED_MAX:
            raise Busy("human_check_busy", "Very many join now. Try again in a moment.")
        self._asked += 1
        try:
            human = await self._ask(answer)
        finally:
            self._asked -= 1
        if not human:
            raise HumanCheckFailed

    async def _ask(self, answer: str) -> bool:
        from gateway.room.siteverify import Away, SiteVerify  # what it needs is loaded where it is used

        if self._site is None:
            self._site = SiteVerify(self._url, self._secret)
        try:
            return await self._site.ask(answer)
        except Away as error:
            log.warning("the human check cannot be asked: %s", error)
            if self._open:
                return True
            story = "The check that you are human cannot be made now. Try again shortly."
            raise Unavailable(story) from error

    async def close(self) -> None:
        """Its connections end."""
        if self._site is not None:
            await self._site.close()
