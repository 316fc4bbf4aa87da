"""Waiting in place of a proof of work, for who runs no scripts. Pure but for its clock.

Who cannot let their computer work waits instead: they get a ticket for one buyer at one event from one
address (IPv6: a network of 64 bits), signed, good from a moment on and until ten minutes later, once. It is
no cheaper than proving: tickets of one address are due `PATIENCE_SECONDS` after each other, so an address
gets six places a minute by them, whatever it sends.

A ticket says all there is to know of it, so every gateway with the same secret believes it. How far the
tickets of an address reach, and which were used, each gateway remembers for itself, in bounded memory, as
its other limits.
"""

from __future__ import annotations

import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from gateway.addresses import Address
from gateway.room.limits import KEPT_MAX, TurnedAway
from gateway.room.used import USED_MAX, Used
from store.errors import BadRequest
from store.room.refused import Reason

PATIENCE_SECONDS: Final = 10
"""A ticket is due so long after it was asked for, and after the one before it of the same address."""
GOOD_SECONDS: Final = 600
"""So long from then on it is good."""
AHEAD_SECONDS_MAX: Final = 600
"""No ticket is due later than this; an address whose tickets reach so far gets none for a while."""
TICKET_LENGTH_MAX: Final = 100


class WaitRefused(BadRequest):
    """The ticket is missing, not due yet, or not good."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(reason.value, message)
        self.reason = reason


class Patience:
    """One gateway's. `secret` is the same for all gateways of which one gives what another is told."""

    def __init__(
        self,
        secret: bytes,
        clock: Callable[[], float] = time.time,
        kept_max: int = KEPT_MAX,
        used_max: int = USED_MAX,
    ) -> None:
        self._signs = hmac.digest(secret, b"patience", "sha256")
        self._clock = clock
        self._last_due: OrderedDict[Address, float] = OrderedDict()
        """Of each address the moment at which its last ticket is due; who was given one last stands last."""
        self._kept_max = kept_max
        self._used = Used(used_max)

    @property
    def remembered(self) -> int:
        """Addresses."""
        return len(self._last_due)

    def give(self, event: str, buyer: str, address: Address) -> str:
        """A ticket, or `TurnedAway` (too_many_wait_from_address), which makes nobody's wait longer."""
        due = self._due(address)
        over = due - self._clock() - AHEAD_SECONDS_MAX
        if over > 0:
            raise TurnedAway(Reason.ADDRESS_WAITS, math.ceil(over))
        self._last_due[address] = due
        self._last_due.move_to_end(address)
        if len(self._last_due) > self._kept_max:
            self._last_due.popitem(last=False)
        return self._ticket(round(due * 1000), event, buyer, address)

    def wait_of(self, address: Address) -> int:
        """So many seconds who asks for a ticket now would wait."""
        return math.ceil(self._due(address) - self._clock())

    def left(self, event: str, buyer: str, address: Address, ticket: str) -> int | None:
        """Seconds until this ticket is due, 0 where it is; None: it is none for them, over, or was used."""
        due = self._read(event, buyer, address, ticket)
        if due is None or due + GOOD_SECONDS < self._clock() or ticket in self._used:
            return None
        return max(0, math.ceil(due - self._clock()))

    def check(self, event: str, buyer: str, address: Address, ticket: str) -> None:
        """Use a ticket up; raises `WaitRefused` saying why not, and `Busy` (too_many_proofs)."""
        left = self.left(event, buyer, address, ticket)
        if left is None:
            story = "Your wait was too long ago, in another network, or was used. Wait once more."
            raise WaitRefused(Reason.WAIT_NOT_VALID, story)
        if left:
            raise WaitRefused(Reason.WAIT_NOT_OVER, f"Your wait is not over. Join in {left} seconds.")
        now = self._clock()
        self._used.use(ticket, now + GOOD_SECONDS, now)

    def _due(self, address: Address) -> float:
        now = self._clock()
        return max(now, self._last_due.get(address, now)) + PATIENCE_SECONDS

    def _read(self, event: str, buyer: str, address: Address, ticket: str) -> float | None:
        """When a ticket of ours is due that is for them; None: it is none."""
        written = ticket[:TICKET_LENGTH_MAX].partition(".")[0]
        if not (written.isascii() and written.isdecimal()):
            return None
        due_ms = int(written)
        ours = self._ticket(due_ms, event, buyer, address)
        return due_ms / 1000 if hmac.compare_digest(ours.encode(), ticket.encode(errors="replace")) else None

    def _ticket(self, due_ms: int, event: str, buyer: str, address: Address) -> str:
        said = "\x00".join((str(due_ms), event, address, buyer))  # only the last may have any character
        return f"{due_ms}.{hmac.digest(self._signs, said.encode(), 'sha256').hex()}"
