"""The provider's book: intents, refunds, and what is still to be told. No I/O; the journal is given.

Everything that changes is an entry, written down before it counts: a book that reads its entries again is the
same book. Calls with an idempotency key that is known get their first answer.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from onsale.simulated.switches import Switches

INTENTS_MAX: Final = 1_000_000
FEE_MINOR: Final = 25
FEE_BASIS_POINTS: Final = 140

Text = Annotated[str, Meta(max_length=300)]
Minor = Annotated[int, Meta(ge=1, le=2**53)]


class Refused(Exception):
    """A call that cannot be done: (HTTP status, code)."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status = status
        self.code = code


class Status(StrEnum):
    OPEN = "open"
    SUCCEEDED = "succeeded"
    CANCELED = "canceled"


class Asked(Struct, frozen=True):
    """What an intent is made of."""

    amount_minor: Minor
    currency: Annotated[str, Meta(pattern="^[A-Za-z]{3}$")]
    return_url: Annotated[str, Meta(max_length=2_000, pattern="^https?://")]
    description: Text = ""
    metadata: Annotated[dict[Text, Text], Meta(max_length=20)] = {}


class RefundAsked(Struct, frozen=True):
    intent: Text
    amount_minor: Minor
    reason: Text = ""


class Intent(Struct):
    """As the book has it."""

    id: str
    asked: Asked
    status: Status = Status.OPEN
    declines: int = 0
    refunded_minor: int = 0

    @property
    def fee_minor(self) -> int:
        """What the provider keeps of it, half a unit upwards."""
        return FEE_MINOR + (self.asked.amount_minor * FEE_BASIS_POINTS + 5_000) // 10_000


class Refund(Struct, frozen=True):
    id: str
    intent: str
    amount_minor: int
    reason: str


class Notice(Struct):
    """Something the seller is to be told, until it is taken."""

    id: str
    type: str
    intent: str
    body: str


class Entry(Struct, omit_defaults=True):
    """One line of the journal."""

    made: Intent | None = None
    paid: str = ""
    declined: str = ""
    canceled: str = ""
    refund: Refund | None = None
    key: str = ""
    """Of the call that made or refunded it."""
    notice: Notice | None = None
    taken: str = ""
    """The notice the seller has, or that was given up."""
    held_back: str = ""
    """The notice that those made after it may overtake."""
    taken_twice: str = ""
    """The notice that was sent once more after it was taken, and taken again."""
    switches: Switches | None = None


class Book:
    """See the module. `write` keeps an entry; `tell` hears of each new notice."""

    def __init__(self, write: Callable[[Entry], None], tell: Callable[[Notice], None]) -> None:
        self._write = write
        self._tell = tell
        self.intents: dict[str, Intent] = {}
        self.refunds: dict[str, Refund] = {}
        self.untold: dict[str, Notice] = {}
        self.switches = Switches()
        self._made_by: dict[str, str] = {}
        """Idempotency key → intent or refund."""

    def read_again(self, entries: Iterable[Entry]) -> None:
        """What was written down; nobody is told."""
        for entry in entries:
            self._apply(entry)

    def make(self, asked: Asked, key: str) -> Intent:
        """An intent, or the one that this key made; raises `Refused`."""
        there = self.intents.get(self._made_by.get(key, "")) if key else None
        if there is not None:
            same = (there.asked.amount_minor, there.asked.currency, there.asked.metadata)
            if same != (asked.amount_minor, asked.currency, asked.metadata):
                raise Refused(422, "key_reused")
            return there
        if len(self.intents) >= INTENTS_MAX:
            raise Refused(503, "book_full")
        intent = Intent(f"pi_{secrets.token_hex(12)}", asked)
        self._enter(Entry(made=intent, key=key))
        return intent

    def find(self, intent_id: str) -> Intent:
        """Raises `Refused` (no_such_intent)."""
        found = self.intents.get(intent_id)
        if found is None:
            raise Refused(404, "no_such_intent")
        return found

    def pay(self, intent_id: str) -> Intent:
        """It is paid, however often it is asked for; raises `Refused` (intent_canceled)."""
        intent = self.find(intent_id)
        if intent.status is Status.CANCELED:
            raise Refused(409, "intent_canceled")
        if intent.status is Status.OPEN:
            self._enter(Entry(paid=intent.id))
            self._notify("payment.succeeded", intent)
        return intent

    def decline(self, intent_id: str) -> Intent:
        """A card is declined; another may be tried. Raises `Refused` for an intent that is over."""
        intent = self._open(intent_id)
        self._enter(Entry(declined=intent.id))
        self._notify("payment.failed", intent)
        return intent

    def cancel(self, intent_id: str) -> Intent:
        """Nobody can pay it any more; raises `Refused` (intent_succeeded)."""
        intent = self.find(intent_id)
        if intent.status is Status.SUCCEEDED:
            raise Refused(409, "intent_succeeded")
        if intent.status is Status.OPEN:
            self._enter(Entry(canceled=intent.id))
            self._notify("payment.canceled", intent)
        return intent

    def give_back(self, asked: RefundAsked, key: str) -> Refund:
        """Money goes back, once for each key; raises `Refused`."""
        there = self.refunds.get(self._made_by.get(key, "")) if key else None
        if there is not None:
            if (there.intent, there.amount_minor) != (asked.intent, asked.amount_minor):
                raise Refused(422, "key_reused")
            return there
        intent = self.find(asked.intent)
        if intent.status is not Status.SUCCEEDED:
            raise Refused(409, "intent_not_paid")
        if intent.refunded_minor + asked.amount_minor > intent.asked.amount_minor:
            raise Refused(409, "refund_too_large")
        refund = Refund(f"re_{secrets.token_hex(12)}", intent.id, asked.amount_minor, asked.reason)
        self._enter(Entry(refund=refund, key=key))
        self._notify("payment.refunded", intent)
        return refund

    def taken(self, notice_id: str) -> None:
        """The seller has it, or it was given up."""
        if notice_id in self.untold:
            self._enter(Entry(taken=notice_id))

    def held_back(self, notice_id: str) -> None:
        """The switches hold it back."""
        self._enter(Entry(held_back=notice_id))

    def taken_twice(self, notice_id: str) -> None:
        """The seller had it, was sent it again, and took it."""
        self._enter(Entry(taken_twice=notice_id))

    def set(self, switches: Switches) -> None:
        self._enter(Entry(switches=switches))

    def _open(self, intent_id: str) -> Intent:
        intent = self.find(intent_id)
        if intent.status is not Status.OPEN:
            raise Refused(409, f"intent_{intent.status}")
        return intent

    def _notify(self, kind: str, intent: Intent) -> None:
        body = msgspec.json.encode({"type": kind, "data": shown(intent)}).decode()
        notice = Notice(f"msg_{secrets.token_hex(12)}", kind, intent.id, body)
        self._enter(Entry(notice=notice))
        self._tell(notice)

    def _enter(self, entry: Entry) -> None:
        self._write(entry)
        self._apply(entry)

    def _apply(self, entry: Entry) -> None:
        if entry.made is not None:
            self.intents[entry.made.id] = entry.made
            self._remember(entry.key, entry.made.id)
        if entry.paid:
            self.intents[entry.paid].status = Status.SUCCEEDED
        if entry.declined:
            self.intents[entry.declined].declines += 1
        if entry.canceled:
            self.intents[entry.canceled].status = Status.CANCELED
        if entry.refund is not None:
            self.refunds[entry.refund.id] = entry.refund
            self.intents[entry.refund.intent].refunded_minor += entry.refund.amount_minor
            self._remember(entry.key, entry.refund.id)
        if entry.notice is not None:
            self.untold[entry.notice.id] = entry.notice
        if entry.taken:
            self.untold.pop(entry.taken, None)
        if entry.switches is not None:
            self.switches = entry.switches

    def _remember(self, key: str, made: str) -> None:
        if key:
            self._made_by[key] = made


def shown(intent: Intent, url: str = "") -> dict[str, Any]:
    """An intent as calls and notices tell it."""
    asked = intent.asked
    told = {"id": intent.id, "status": intent.status, "amount_minor": asked.amount_minor}
    told |= {"currency": asked.currency, "metadata": asked.metadata, "declines": intent.declines}
    told |= {"refunded_minor": intent.refunded_minor, "fee_minor": 0}
    if intent.status is Status.SUCCEEDED:
        told["fee_minor"] = intent.fee_minor
    return told | ({"url": url} if url else {})
