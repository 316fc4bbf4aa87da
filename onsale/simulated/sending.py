"""Notices on their way to the seller: signed by Standard Webhooks, tried until they are taken.

A bounded number is on the way at once. One that is not taken (anything but 2xx) is tried again, later each
time, at the next of the seller's addresses; after `TRIES_MAX` it is given up, and told in the log.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import aiohttp
from standardwebhooks import Webhook

from onsale.simulated.book import Book, Notice
from onsale.simulated.switches import Dice

log = logging.getLogger("onsale.simulated")

WORKERS: Final = 32
TIMEOUT: Final = aiohttp.ClientTimeout(total=10, sock_connect=2)
BACKOFF_SECONDS: Final = (0.2, 15.0)
TRIES_MAX: Final = 200


class Sending:
    """The notices of one book."""

    def __init__(self, urls: Sequence[str], secret: str, dice: Dice) -> None:
        self._urls = urls
        self._webhook = Webhook(secret)
        self._dice = dice
        self._due: list[tuple[float, int, Notice, int]] = []
        """A heap of (when, number, notice, tries so far)."""
        self._numbers = itertools.count()
        self._wake = asyncio.Condition()
        self.attempts = self.taken = self.given_up = 0

    async def add(self, notice: Notice, book: Book) -> None:
        """Send it, now or as late as the switches say."""
        pause, held_back = self._dice.pause()
        if held_back:
            book.held_back(notice.id)
        await self._later(notice, 0, pause)

    async def woken(self) -> None:
        """The switches are others."""
        async with self._wake:
            self._wake.notify_all()

    async def run(self, book: Book) -> None:
        """Send until cancelled."""
        connector = aiohttp.TCPConnector(limit=WORKERS)
        async with (
            aiohttp.ClientSession(connector=connector, timeout=TIMEOUT) as session,
            asyncio.TaskGroup() as workers,
        ):
            for _ in range(WORKERS):
                workers.create_task(self._work(session, book))

    async def _work(self, session: aiohttp.ClientSession, book: Book) -> None:
        while True:
            notice, tries = await self._next()
            self.attempts += 1
            if await self._is_taken(session, notice, tries):
                self.taken += 1
                book.taken(notice.id)
                twice = self._dice.falls(self._dice.switches.duplicates)
                if twice and await self._is_taken_again(session, notice, tries):
                    book.taken_twice(notice.id)
            elif tries + 1 < TRIES_MAX:
                first, longest = BACKOFF_SECONDS
                pause = min(first * 2 ** min(tries, 20), longest) * self._dice.jitter()
                await self._later(notice, tries + 1, pause)
            else:
                self.given_up += 1
                log.error("notice %s of %s was given up after %d tries", notice.id, notice.intent, TRIES_MAX)
                book.taken(notice.id)

    async def _is_taken_again(self, session: aiohttp.ClientSession, notice: Notice, tries: int) -> bool:
        """At the next address, or at one after it: the last of them has taken it just now."""
        for further in range(1, len(self._urls) + 1):
            if await self._is_taken(session, notice, tries + further):
                return True
        return False

    async def _later(self, notice: Notice, tries: int, seconds: float) -> None:
        when = asyncio.get_running_loop().time() + seconds
        async with self._wake:
            heapq.heappush(self._due, (when, next(self._numbers), notice, tries))
            self._wake.notify()

    async def _next(self) -> tuple[Notice, int]:
        """The next that is due; waits for it, and while webhooks are off."""
        now = asyncio.get_running_loop().time
        async with self._wake:
            while True:
                if not self._due or not self._dice.switches.webhooks:
                    await self._wake.wait()
                elif (left := self._due[0][0] - now()) > 0:
                    try:
                        async with asyncio.timeout(left):
                            await self._wake.wait()
                    except TimeoutError:
                        continue
                else:
                    _, _, notice, tries = heapq.heappop(self._due)
                    return notice, tries

    async def _is_taken(self, session: aiohttp.ClientSession, notice: Notice, tries: int) -> bool:
        signed_at = datetime.now(UTC)
        signature = self._webhook.sign(notice.id, signed_at, notice.body)
        if self._dice.falls(self._dice.switches.wrong_signatures):
            signature = self._webhook.sign(notice.id, signed_at, notice.body + " ")
        headers = {
            "content-type": "application/json",
            "webhook-id": notice.id,
            "webhook-timestamp": str(int(signed_at.timestamp())),
            "webhook-signature": signature,
        }
        url = self._urls[tries % len(self._urls)]
        try:
            async with session.post(url, data=notice.body.encode(), headers=headers) as answer:
                await answer.content.read(1024)
                return answer.status < 300
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False
