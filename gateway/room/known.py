"""A buyer as a gateway knows them: who listens for them, and the place they had when it was read last."""

from __future__ import annotations

from typing import Protocol

from store.room.words import Place, PlaceState


class Listens(Protocol):
    """A socket or stream; `write` never waits and never raises."""

    def write(self, frame: bytes) -> bool: ...


class Known:
    """A buyer of the event as this gateway knows them."""

    __slots__ = ("buyer", "clients", "due", "inside_until", "place", "read_at", "serial")

    def __init__(self, buyer: str) -> None:
        self.buyer = buyer
        self.clients: list[Listens] = []
        self.place: Place | None = None
        self.inside_until = 0
        """Until then (Postgres' clock, µs) requests are taken; 0: not inside."""
        self.read_at = 0.0
        """By this host's monotonic clock; 0: never."""
        self.serial = 0
        """Of the status document that was told last, and when the next is due (`gateway.room.status`)."""
        self.due = 0.0

    @property
    def called(self) -> bool:
        """Admitted, and has not begun."""
        place = self.place
        return place is not None and place.state is PlaceState.ADMITTED and place.begun_at is None
