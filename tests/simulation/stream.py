"""A virtual stream server: one event's stream, and fan-out. `VirtualArrivals` is the allocator's side.

Ids come from its own clock, which may jump; the last id it remembers is what keeps them growing, as in
Redis. It can be away, be wiped, or come back with an older file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from store.errors import OutcomeUnknown, StreamMissing, StreamUnavailable
from store.lookups import Key
from store.stream.port import BEGINNING, CREATED, POKE, REQUEST, RawEntry
from store.wire import arrival_after, arrival_order, decode_entry
from store.words import Arrival
from tests.simulation.world import SECOND, Process, World

Id = tuple[int, int]
Message = tuple[str, bytes]
BEHIND = 100_000


class Stream:
    """The server."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.skew_us = 0
        self.away_until_us = 0
        self.exists = True
        self.ids: list[Id] = []
        self.entries: list[RawEntry] = []
        self.last: Id = (0, 0)
        self.readers: list[Process] = []
        self.fan_out: Callable[[Sequence[Message]], None] = lambda messages: None
        self.on_trim: Callable[[Sequence[RawEntry], Sequence[RawEntry]], None] = lambda trimmed, left: None
        self.losses = 0
        self.lost: set[str] = set()
        """Arrivals of the entries it lost."""
        self.lost_keys: set[Key] = set()
        """(buyer, request id) of each."""
        self.behind: set[str] = set()
        """Arrivals given by a clock that was behind; perhaps below those that were given before."""
        self.lost_late = False
        """Something may have kept those who wait from asking again in time for what was lost."""
        self._highest_ms = 0
        self._floor_ms = 0
        self._lost_at_us = 0
        """After a loss the clock is at least where it was: no id is given twice (docs/simulation.md)."""
        self._sequence = 0
        """The first sequence number of a millisecond: tells ids of a late clock from those given before."""

    @property
    def away(self) -> bool:
        return self.away_until_us > self.world.now_us

    def add(self, field: bytes, value: bytes, at: Id | None = None) -> Arrival | None:
        """XADD; None when `at` is not above the last id."""
        last = self.last
        if at is None:
            milliseconds = max((self.world.now_us + self.skew_us) // 1000, self._floor_ms)
            at = (milliseconds, self._sequence) if milliseconds > last[0] else (last[0], last[1] + 1)
            at = (at[0], max(at[1], self._sequence))
        elif at <= last:
            return None
        self.last = at
        self._highest_ms = max(self._highest_ms, at[0])
        self.ids.append(at)
        arrival = f"{at[0]}-{at[1]}"
        if self._sequence:
            self.behind.add(arrival)
        self.entries.append((arrival.encode(), [field, value]))
        for reader in self.readers:
            reader.nudge()
        self.readers.clear()
        return Arrival(arrival)

    def append(self, entries: Sequence[bytes]) -> list[Arrival]:
        """All or, where the stream is missing, none."""
        if not self.exists:
            raise StreamMissing
        return [arrival for entry in entries if (arrival := self.add(REQUEST, entry)) is not None]

    def create_above(self, above: Arrival) -> bool:
        """XADD of the marker with its own id; False when somebody else was quicker."""
        after = arrival_order(arrival_after(above))
        if not self.exists:
            self.exists, self.last = True, (0, 0)
        return self.add(CREATED, b"1", after) is not None

    def poke(self) -> None:
        if self.exists and not self.away:
            self.add(POKE, b"1")

    def has(self, entry: RawEntry) -> bool:
        """As it is."""
        at = arrival_order(Arrival(entry[0].decode()))
        found = bisect_right(self.ids, at) - 1
        return self.exists and found >= 0 and self.entries[found] == entry

    def above(self, after: str, count_max: int) -> list[RawEntry]:
        first = bisect_right(self.ids, arrival_order(after))
        return self.entries[first : first + count_max]

    def trim_through(self, through: Arrival, after: Arrival, seen: Sequence[Arrival]) -> bool:
        """Whether it did; see `store.stream.port.Arrivals`."""
        ids = set(self.ids)
        if any(arrival_order(one) not in ids for one in seen) or self.ids[0] <= arrival_order(after):
            return False
        count = bisect_right(self.ids, arrival_order(through))
        self.on_trim(self.entries[:count], self.entries[count:])
        del self.ids[:count], self.entries[:count]
        return True

    # --- what may happen to it ---

    def wipe(self) -> None:
        """All of it is gone, the key too."""
        self._lost(self.entries)
        self.exists, self.last = False, (0, 0)
        self.ids.clear()
        self.entries.clear()

    def _lost(self, entries: Sequence[RawEntry]) -> None:
        self.losses += 1
        if self.world.now_us - self._lost_at_us < 5 * SECOND:
            self.lost_late = True  # lost again while it was asked again
        self._lost_at_us = self.world.now_us
        for reader in self.readers:
            reader.nudge()
        self.readers.clear()
        self._sequence = 0
        for raw_id, (field, value) in entries:
            self.lost.add(raw_id.decode())
            if field == REQUEST:
                with suppress(msgspec.DecodeError):
                    entry = decode_entry(value)
                    self.lost.add(entry.first_arrival)
                    self.lost_keys.add((entry.buyer, entry.request_id))
        self._floor_ms = self._highest_ms + 1

    def forget_tail(self, keep: int, *, clock_behind: bool) -> None:
        """It came back with an older file: the newest entries, and the ids they had, are gone.

        With `clock_behind` it gives ids from where that file ends, so perhaps below the cursor.
        """
        if keep < len(self.ids):
            self._lost(self.entries[keep:])
            self.lost_late = True  # no marker says so: newer arrivals may be decided before they are back
            del self.ids[keep:], self.entries[keep:]
            self.last = self.ids[-1] if self.ids else (max(self.last[0] - 5_000, 0), 0)
            if clock_behind:
                self._floor_ms, self._sequence = self.last[0], BEHIND * self.losses
                self.skew_us -= 20 * SECOND


class VirtualArrivals:
    """See `store.stream.port.Arrivals`."""

    def __init__(self, stream: Stream, process: Process) -> None:
        self._stream = stream
        self._process = process
        self._world = stream.world

    def _call(self, what: str) -> None:
        self._process.step(what)
        if self._stream.away or self._world.wrong("read fails"):
            raise StreamUnavailable

    def read(self, after: Arrival, *, count_max: int, block_ms: int) -> list[RawEntry]:
        self._call("stream read")
        until_us = self._world.now_us + block_ms * 1000
        restarts = self._stream.losses
        while not (found := self._stream.above(after, count_max)) and self._world.now_us < until_us:
            self._stream.readers.append(self._process)
            self._process.park(until_us)
            if self._stream.away or self._stream.losses != restarts:
                raise StreamUnavailable
        return found

    def ensure_above(self, cursor: Arrival) -> bool:
        stream = self._stream
        self._call("stream info")
        if stream.exists and stream.last >= arrival_order(cursor):
            return False
        self._call(f"stream create above {cursor}")
        self._world.counters["created"] += stream.create_above(cursor)
        return True

    def below(self, through: Arrival, *, count_max: int) -> list[RawEntry]:
        self._call("stream below")
        count = bisect_right(self._stream.ids, arrival_order(through))
        return self._stream.entries[: min(count, count_max)]

    def append(self, entries: Sequence[bytes]) -> list[Arrival]:
        try:
            self._call(f"stream append {len(entries)} again")
        except StreamUnavailable as error:
            raise OutcomeUnknown from error
        given = self._stream.append(entries)
        if self._world.wrong("append unknown"):
            raise OutcomeUnknown
        return given

    def append_behind(self, last: RawEntry, entries: Sequence[bytes]) -> list[Arrival] | None:
        try:
            self._call(f"stream append {len(entries)} behind {last[0].decode()}")
        except StreamUnavailable as error:
            raise OutcomeUnknown from error
        if not self._stream.has(last):
            return None
        given = self._stream.append(entries)
        if self._world.wrong("append unknown"):
            raise OutcomeUnknown
        return given

    def trim_through(
        self, through: Arrival, *, after: Arrival = BEGINNING, seen: Sequence[Arrival] = ()
    ) -> bool:
        self._call(f"stream trim {through}")
        return self._trim(through, after, seen)

    def _trim(self, through: Arrival, after: Arrival, seen: Sequence[Arrival]) -> bool:
        trimmed = self._stream.trim_through(through, after, seen or (through,))
        self._world.counters["not_trimmed"] += not trimmed
        return trimmed

    def publish(
        self,
        messages: Sequence[Message],
        *,
        trim_through: Arrival | None = None,
        after: Arrival = BEGINNING,
        seen: Sequence[Arrival] = (),
    ) -> bool:
        self._call("publish" if trim_through is None else f"publish, trim {trim_through}")
        trimmed = trim_through is None or self._trim(trim_through, after, seen)
        self._stream.fan_out(messages)
        if self._world.wrong("read fails"):
            raise StreamUnavailable
        return trimmed
