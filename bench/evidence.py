"""What the checker judges: what clients saw, and what the database holds. Types only, no I/O.

Clients' times are nanoseconds of one machine's monotonic clock, so of two clients on that machine it
is known who acted first. Times in the database are microseconds by Postgres' clock.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, field

from store.plan import Plan


class Ask(Struct):
    """One request of one client, and everything it was told about it."""

    request_id: str
    want: str
    """Canonical JSON, as it was sent first."""
    sent_ns: list[int] = field(default_factory=list)
    """Each time it was sent; more than once means it was asked again."""
    accepted: list[tuple[int, str]] = field(default_factory=list)
    """(when, arrival)"""
    decisions: list[tuple[int, bytes]] = field(default_factory=list)
    """(when, the whole frame); a client that asks again sees several, all the same."""
    not_queued: list[tuple[int, bytes]] = field(default_factory=list)
    """(when, the whole frame) of refusals by the fast gate: no decision."""
    errors: list[tuple[int, str]] = field(default_factory=list)
    """(when, code)"""


class HoldOp(Struct):
    """A client's release, confirm or extension, and the answer. `state` is empty when there was none."""

    op: str
    hold: str
    sent_ns: int
    answered_ns: int = 0
    state: str = ""
    error: str = ""
    ends_ms: int = 0
    """Of an extension: the end that the client knew."""
    seats: list[str] = []
    """Of a release of some: what is given back, and how many the hold had as the client knew it."""
    areas: dict[str, int] = {}
    quantity: int = 0
    answer: HoldAnswer | None = None
    """Of an extension or a release of some: how the hold was then told to be."""

    @property
    def gives_some(self) -> bool:
        """Whether it names what is given back."""
        return bool(self.seats or self.areas)


class HoldAnswer(Struct):
    """A hold that lives on, as its holder was answered. `seats` and `areas` where some was given back."""

    expires_at: int
    """Milliseconds."""
    seats: list[str] | None = None
    areas: dict[str, int] | None = None


class Leaving(Struct):
    """A client leaves the waiting list, and the answer: none while `answered_ns` is 0."""

    request_id: str
    sent_ns: int
    answered_ns: int = 0
    error: str = ""


class Seen(Struct):
    """All that one client saw. `stayed`: it was connected and waiting until the end."""

    buyer: str
    asks: list[Ask] = field(default_factory=list)
    hold_ops: list[HoldOp] = field(default_factory=list)
    strange: list[bytes] = field(default_factory=list)
    """Decision frames for requests that this client never sent."""
    stayed: bool = True
    offers: list[bytes] = field(default_factory=list)
    """`offer` frames, as they came."""
    waiting: list[bytes] = field(default_factory=list)
    """`waiting` frames, each that said something else than the one before."""
    leaves: list[Leaving] = field(default_factory=list)
    looked_ns: int = 0
    """When it asked for the last time what of its own is on the waiting list; the last of `waiting` is no
    older. 0: it never asked."""


class Batch(NamedTuple):
    batch_no: int
    epoch: int
    batch_time: int
    arrival: str
    rows: int
    """How many rows its digests cover."""


class LedgerRow(NamedTuple):
    """`input` and `result` are JSON text; strings are empty where the column is NULL."""

    batch_no: int
    position: int
    kind: str
    arrival: str
    buyer: str
    request_id: str
    input: str
    outcome: str
    result: str

    @property
    def at(self) -> tuple[int, int]:
        """The row's place in the order of decisions."""
        return self.batch_no, self.position

    @property
    def hold_id(self) -> int:
        """The hold this row gives, if it gives one."""
        return self.batch_no << 16 | self.position


class HoldRow(NamedTuple):
    hold_id: int
    buyer: str
    request_id: str
    state: str
    quantity: int


class AreaRow(NamedTuple):
    area_no: int
    capacity: int
    held: int
    sold: int
    blocked: int


class Change(NamedTuple):
    """A row of a seat's history, in the order they happened."""

    seat_no: int
    at: int
    state: str
    hold_id: int | None
    by: str


class TourSeen(NamedTuple):
    """The tour an event is a date of."""

    seats_per_buyer_max: int
    counts: list[tuple[str, int]]
    """(buyer, what they have on all its dates)"""


class Truth(Struct):
    """One event as the database has it, all read in one snapshot."""

    slug: str
    plan: Plan
    seats: list[tuple[int, str, int | None]] = field(default_factory=list)
    """(seat number, state, hold)"""
    areas: list[AreaRow] = field(default_factory=list)
    holds: list[HoldRow] = field(default_factory=list)
    hold_seats: list[tuple[int, int]] = field(default_factory=list)
    """(seat number, hold)"""
    hold_areas: list[tuple[int, int, int]] = field(default_factory=list)
    """(hold, area number, quantity)"""
    history: list[Change] = field(default_factory=list)
    ledger: list[LedgerRow] = field(default_factory=list)
    """In (batch, position) order."""
    batches: list[Batch] = field(default_factory=list)
    cursor_batch_no: int = 0
    cursor_arrival: str = "0-0"
    waiting: list[tuple[int, str, str, str]] = field(default_factory=list)
    """(wait id, buyer, request id, state)"""
    facts: list[tuple[str, int | None]] = field(default_factory=list)
    """(kind, hold) of facts the allocator has not consumed yet; `released_some` where some stays"""
    tour: TourSeen | None = None
    restored: dict[int, int] = field(default_factory=dict)
    """The last batch that a backup had → the one the ledger goes on with since it was restored"""


class Loss(NamedTuple):
    """The stream was lost, and somebody who waited could not ask again in the second that is waited for them.

    Milliseconds of the Unix epoch, as in arrivals: what arrived up to `lost_at` and was decided up to
    `over_at` may stand behind what arrived later.
    """

    lost_at: int
    over_at: int


class Finding(Struct, frozen=True):
    """Something that must not be. `story` says who, which seat and which arrivals or batches."""

    kind: str
    story: str


class Frame(Struct):
    """A decision frame as a client reads it."""

    id: str = ""
    arrival: str = ""
    outcome: str = ""
    result: dict[str, Any] = {}


read_frame = msgspec.json.Decoder(Frame).decode
read_json = msgspec.json.decode
encode_seen = msgspec.msgpack.Encoder().encode
decode_seen = msgspec.msgpack.Decoder(list[Seen]).decode
