"""What onsale needs of a stream, whatever carries it. `tests/store/test_stream_conformance.py` holds both
adapters to it.

Ids grow strictly, whatever the server's clock does, because a stream is only ever created *above*
the cursor and moved forward when it is not. A stream that is missing is never created by an
append: it was lost, and whoever notices first creates it with a marker, which tells the allocator
to gather what is asked again before it decides (law 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from store.words import Arrival

RawEntry = tuple[bytes, list[bytes]]
"""(id, [field, value]); the field is one of those below."""

REQUEST = b"r"
"""The value is an encoded `store.wire.Entry`."""
CREATED = b"c"
"""The stream was created here: what came before it may be lost and asked again."""
POKE = b"p"
"""Nothing to decide; wakes the allocator for a fact."""
BEGINNING = Arrival("0-0")
"""Below every id."""


class Intake(Protocol):
    """The gateways' side. Async, one append in flight at a time keeps a gateway's own order."""

    async def append(self, entries: Sequence[bytes]) -> list[Arrival]:
        """Append all or none, in order; on disk when this returns.

        Raises `StreamMissing` when nothing was appended because the stream does not exist,
        `StreamUnavailable` when nothing was because the server takes no writes just now, and
        `OutcomeUnknown` when no reply came: some, all or none may be in the stream.
        """
        ...

    async def create(self, above: Arrival) -> None:
        """Create the stream with a marker above `above`, unless somebody else just did."""
        ...

    async def last_arrival(self) -> Arrival | None:
        """The last id the stream gave, or None when there is no stream."""
        ...

    async def poke(self) -> None:
        """Wake the allocator. A lost poke costs at most a second."""
        ...


class Arrivals(Protocol):
    """The allocator's side. Blocking."""

    def read(self, after: Arrival, *, count_max: int, block_ms: int) -> list[RawEntry]:
        """Entries above `after` in order, at once what is there; waits `block_ms` for the first (0: not)."""
        ...

    def ensure_above(self, cursor: Arrival) -> bool:
        """The stream exists and gives ids above `cursor` after this. True if it had to be mended."""
        ...

    def below(self, through: Arrival, *, count_max: int) -> list[RawEntry]:
        """The oldest entries with ids up to and including `through`."""
        ...

    def append(self, entries: Sequence[bytes]) -> list[Arrival]:
        """As `Intake.append`: for entries found below the cursor."""
        ...

    def trim_through(
        self, through: Arrival, *, after: Arrival = BEGINNING, seen: Sequence[Arrival] = ()
    ) -> bool:
        """Forget entries up to and including `through`, all of which were read, from `after` on.

        Forgets nothing and returns False where one of `seen` (the newest entry of each read, and of what was
        appended since; `through` unless given) is gone, or where something is at `after` or below it. Then
        the stream was lost meanwhile, and up to `through` may stand what came afterwards and nobody has read.
        """
        ...

    def publish(
        self,
        messages: Sequence[tuple[str, bytes]],
        *,
        trim_through: Arrival | None = None,
        after: Arrival = BEGINNING,
        seen: Sequence[Arrival] = (),
    ) -> bool:
        """Send (channel, message) pairs, in one round trip that can also trim, as `trim_through` does.

        Delivered at most once. False where it should have trimmed and did not.
        """
        ...


class Pieces(Protocol):
    """For the owner, where it appends by itself and in an order of its own. Blocking."""

    def append(self, entries: Sequence[bytes]) -> list[Arrival]:
        """As `Intake.append`."""
        ...

    def append_behind(self, last: RawEntry, entries: Sequence[bytes]) -> list[Arrival] | None:
        """As `append`, if the stream still has `last`, as it is; None, and nothing appended, if not.

        So what is appended piece by piece stands there in its order: where the stream lost a piece, none
        that belongs behind it is appended. What was decided is forgotten, and is not there any more either.
        """
        ...
