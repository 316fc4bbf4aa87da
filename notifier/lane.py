"""One lane: a subscriber is told an event's rows, one after the other, for a turn.

A message is sent only when the one before was delivered or set aside, and only while the lease will outlast
the answer. Of what comes back: 2xx is delivered; 410 disables the subscriber; everything else is tried again,
see `notifier.backoff`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Protocol

from notifier import backoff
from notifier.notes import Notes
from notifier.outgoing import SECONDS_MAX, Answer, Message, Outgoing
from notifier.payloads import Names, payload
from store.jitter import jitter
from store.outbox import Row
from store.subscribers.lanes import LEASE_SECONDS, Aside, Claimed, Progress
from store.subscribers.log import Entry, LogOutcome
from store.subscribers.messages import message_id

ROWS_MAX: Final = 200
"""Rows read at once."""
TURN_SECONDS: Final = 2.0
"""Then others who wait may have the lane's place."""
MARGIN_SECONDS: Final = 2.0
"""A lease outlasts an answer by that much."""
BROKEN_SECONDS: Final = 30.0
"""A lane that fails for reasons of ours is not begun anew before."""
TRIES_COUNTED_MAX: Final = 1_000
SAID_GONE: Final = "it answered 410 Gone"
assert LEASE_SECONDS > SECONDS_MAX + MARGIN_SECONDS, "a lease lasts longer than an answer"


class Source(Protocol):
    """Where a lane reads."""

    async def rows(self, event_id: int, after: int, limit: int) -> list[Row]:
        """The next rows of an event."""

    async def names(self, event_id: int) -> tuple[str, Names]:
        """Its slug, and the names of its plan."""


class Lane:
    """See the module. `told` hears what became of each attempt at a subscriber."""

    def __init__(
        self,
        claimed: Claimed,
        claimed_at: float,
        source: Source,
        outgoing: Outgoing,
        notes: Notes,
        told: Callable[[int, bool], None],
    ) -> None:
        self.good_until = claimed_at + LEASE_SECONDS
        self.stopped = False
        self._claimed = claimed
        self._source = source
        self._outgoing = outgoing
        self._notes = notes
        self._told = told
        self._number = claimed.number
        self._tries = claimed.tries
        self._pause_seconds = 0.0
        self._turn_until = claimed_at + TURN_SECONDS

    async def run(self) -> None:
        """One turn; the lane is given back at its end, also when it is cancelled."""
        try:
            while not self._over():
                rows = await self._source.rows(self._claimed.event_id, self._number, ROWS_MAX)
                if not rows or not await self._tell(rows):
                    break
        except Exception:
            self._pause_seconds = BROKEN_SECONDS
            raise
        finally:
            self._note(ends=True)

    async def _tell(self, rows: list[Row]) -> bool:
        """Whether to go on after these."""
        event, names = await self._source.names(self._claimed.event_id)
        for row in rows:
            if self._claimed.kinds and row.kind not in self._claimed.kinds:
                self._pass(row)
                continue
            if self._over() or not await self._has_lease():
                return False
            message = Message(message_id(row.id), payload(row, event, names))
            answer = await self._outgoing.send(self._claimed.endpoint, message)
            self._told(self._claimed.endpoint.subscriber, answer.delivered)
            if answer.delivered:
                self._log(row, answer, LogOutcome.DELIVERED)
                self._notes.heard(self._claimed.endpoint.subscriber)
                self._pass(row)
            elif not self._failed(row, message, answer):
                return False
        return True

    def _failed(self, row: Row, message: Message, answer: Answer) -> bool:
        """Whether to go on with the next."""
        if answer.gone:
            self._log(row, answer, LogOutcome.FAILED)
            self._notes.gone(self._claimed.endpoint.subscriber, SAID_GONE)
            return False
        if self._tries + 1 < backoff.QUICK_TRIES or self._claimed.full:
            self._log(row, answer, LogOutcome.FAILED)
            self._tries = min(self._tries + 1, TRIES_COUNTED_MAX)
            self._pause_seconds = backoff.pause_in_order(self._tries, jitter(0, 1), answer.asked_seconds)
            return False
        pause = backoff.pause_before(backoff.QUICK_TRIES, jitter(0, 1), answer.asked_seconds)
        assert pause is not None, "there are tries after the quick ones"
        self._notes.aside(
            Aside(
                self._claimed.key,
                row.id,
                row.kind,
                message.body.decode(),
                backoff.QUICK_TRIES,
                pause,
                answer.status,
                answer.error,
            )
        )
        self._log(row, answer, LogOutcome.SET_ASIDE)
        self._pass(row)
        return True

    def _pass(self, row: Row) -> None:
        """This row is done with."""
        self._number = row.number
        self._tries = 0
        self._note(ends=False)

    def _note(self, *, ends: bool) -> None:
        where = (self._claimed.key, self._claimed.lease, self._number, self._tries)
        self._notes.progress(Progress(*where, ends, self._pause_seconds))

    async def _has_lease(self) -> bool:
        """Whether it lasts until an answer must be there; renewed if need be."""
        if self._lasts():
            return True
        self._note(ends=False)
        await self._notes.write()
        return self._lasts() and not self._over()

    def _lasts(self) -> bool:
        return time.monotonic() + SECONDS_MAX + MARGIN_SECONDS < self.good_until

    def _over(self) -> bool:
        return self.stopped or time.monotonic() >= self._turn_until

    def _log(self, row: Row, answer: Answer, outcome: LogOutcome) -> None:
        self._notes.entry(
            Entry(
                self._claimed.endpoint.subscriber,
                message_id(row.id),
                self._claimed.event_id,
                row.kind,
                self._tries + 1,
                outcome,
                answer.status,
                answer.error,
                answer.took_ms,
            )
        )
