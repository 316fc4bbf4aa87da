"""One undecided request of this gateway, and who waits for it."""

from __future__ import annotations

from typing import Protocol

from msgspec import Raw

from store.errors import OnsaleError
from store.wire import Entry, encode_entry


class Waiter(Protocol):
    """Somebody a decision goes to. None of these may wait or raise."""

    @property
    def prompt(self) -> bool:
        """Whether `accepted` is wanted with the append's reply, not a tick later."""
        ...

    def decided(self, frame: bytes) -> None: ...
    def accepted(self, request_id: str, arrival: str) -> None: ...
    def delayed(self, request_id: str) -> None: ...
    def refused(self, request_id: str, error: OnsaleError) -> None: ...


class Pending:
    """One undecided request of this gateway."""

    __slots__ = (
        "arrival", "asked_at", "asked_times", "buyer", "decided", "delayed", "first_arrival",
        "number", "prompt", "request_id", "sent", "since", "waiters", "want",
    )  # fmt: skip

    def __init__(
        self, number: int, buyer: str, request_id: str, want: bytes, waiter: Waiter, now: float
    ) -> None:
        self.number = number
        self.buyer = buyer
        self.request_id = request_id
        self.want = want
        self.waiters = [waiter]
        self.since = self.asked_at = now
        self.asked_times = 0
        self.arrival = ""
        """The last arrival it was given; empty until an append was answered."""
        self.first_arrival = ""
        self.decided = False
        self.delayed = False
        self.prompt = waiter.prompt
        self.sent = False
        """It may be in the stream; without an arrival, nobody knows."""

    def entry(self, gateway: str) -> bytes:
        return encode_entry(Entry(self.buyer, self.request_id, Raw(self.want), gateway, self.first_arrival))
