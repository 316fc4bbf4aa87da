"""A message that was set aside is tried once more, on its own: nothing waits behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from notifier import backoff
from notifier.lane import SAID_GONE
from notifier.notes import Notes
from notifier.outgoing import Message, Outgoing
from store.jitter import jitter
from store.subscribers.again import Due, Tried
from store.subscribers.log import Entry, LogOutcome
from store.subscribers.messages import TEST, message_id

GONE_SECONDS: Final = 60.0
"""Then it is due again, if its subscriber is enabled by then."""


async def try_again(due: Due, outgoing: Outgoing, notes: Notes, told: Callable[[int, bool], None]) -> None:
    """One attempt, noted."""
    subscriber = due.endpoint.subscriber
    answer = await outgoing.send(due.endpoint, Message(message_id(due.outbox_id), due.payload.encode()))
    told(subscriber, answer.delivered)
    said = (answer.status, answer.error)
    if answer.delivered:
        outcome, tried = LogOutcome.DELIVERED, Tried(due, True)
        notes.heard(subscriber)
    elif answer.gone:
        outcome, tried = LogOutcome.FAILED, Tried(due, False, GONE_SECONDS, *said, counts=False)
        notes.gone(subscriber, SAID_GONE)
    elif due.kind == TEST:
        outcome, tried = LogOutcome.FAILED, Tried(due, True)
    else:
        pause = backoff.pause_before(due.attempts + 1, jitter(0, 1), answer.asked_seconds)
        outcome = LogOutcome.DEAD if pause is None else LogOutcome.FAILED
        tried = Tried(due, False, pause, *said)
    notes.entry(
        Entry(
            subscriber,
            message_id(due.outbox_id),
            due.event_id,
            due.kind,
            due.attempts + 1,
            outcome,
            *said,
            answer.took_ms,
        )
    )
    notes.tried(tried)
