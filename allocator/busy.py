"""How busy an event is: what its owner counts, and what is said of it about once a second.

The loop counts once a batch, never once a request. Ages are by the stream server's clock, which gave the
arrivals: `StreamClock` knows it since it was last asked; before that no age is known. Of a batch a few
requests are looked at, evenly spread, each standing for its share. Buckets grow by a fifth, so what is told
is at most that much too high.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from math import log2
from typing import Final, NamedTuple

import redis

from allocator.decide import Ask
from store.stream.redis_stream import connect
from store.wire import arrival_order, stream_key

log = logging.getLogger("onsale.allocator")

LOOK_SECONDS: Final = 1.0
SAMPLES: Final = 8
"""Most requests of a batch whose age is looked at."""
LEAST_US: Final = 100
BUCKETS_PER_OCTAVE: Final = 4
BUCKETS: Final = 100
"""The last one has everything above an hour."""


class EventLoad(NamedTuple):
    """How busy an owned event is; rates and ages since this was asked before. As in table `event_load`."""

    event_id: int
    epoch: int
    batch_no: int
    decided: int
    """Requests, since this owner began."""
    decided_per_second: float
    arrived_per_second: float
    undecided: int
    """Entries above the cursor, as of the last look."""
    latency_ms_p50: float | None
    latency_ms_p99: float | None
    """From arrival to commit; None where nothing was decided."""


class StreamClock:
    """The stream server's clock, as far as it was asked."""

    def __init__(self) -> None:
        self.ahead_us: int | None = None
        """Of `time.monotonic`."""

    def asked(self, before: float, after: float, seconds: int, micros: int) -> None:
        """It said this, when asked between two looks at `time.monotonic`."""
        self.ahead_us = seconds * 1_000_000 + micros - int((before + after) * 500_000)


class Busy:
    """What the owner of one event counts. One thread counts, another asks: of samples one may get lost."""

    def __init__(
        self, clock: StreamClock | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock or StreamClock()
        self._monotonic = monotonic
        self._ages = [0.0] * BUCKETS
        self.decided = self.read = 0
        """Requests decided; requests read, repeats among them."""
        self.undecided = 0
        self._before = (monotonic(), 0, 0, 0)
        """(when, decided, read, undecided) when last asked."""

    def batch(self, asks: Sequence[Ask], read: int) -> None:
        """These are decided and true; so many were read for them."""
        self.decided += len(asks)
        self.read += read
        ahead_us = self._clock.ahead_us
        if ahead_us is None or not asks:
            return
        now_us = int(self._monotonic() * 1_000_000) + ahead_us
        some = asks[:: len(asks) // SAMPLES + 1]
        for ask in some:
            arrived_ms, _ = arrival_order(ask.arrival)
            self._ages[_bucket(now_us - arrived_ms * 1000)] += len(asks) / len(some)

    def since_last(self, event_id: int, epoch: int, batch_no: int) -> EventLoad:
        """What came since this was called before."""
        ages, self._ages = self._ages, [0.0] * BUCKETS
        now = (self._monotonic(), self.decided, self.read, self.undecided)
        before, self._before = self._before, now
        seconds = max(now[0] - before[0], 0.001)
        decided, read, waits = (late - early for late, early in zip(now[1:], before[1:], strict=True))
        return EventLoad(
            event_id,
            epoch,
            batch_no,
            now[1],
            decided / seconds,
            max(0.0, (read + waits) / seconds),
            now[3],
            _quantile_ms(ages, 0.50),
            _quantile_ms(ages, 0.99),
        )


def _bucket(age_us: int) -> int:
    return min(BUCKETS - 1, int(log2(max(age_us, LEAST_US) / LEAST_US) * BUCKETS_PER_OCTAVE))


def _quantile_ms(ages: Sequence[float], share: float) -> float | None:
    """The upper end of the bucket in which this share of them is reached."""
    left = sum(ages) * share
    for bucket, count in enumerate(ages):
        left -= count
        if count and left <= 1e-9:
            return float(LEAST_US * 2 ** ((bucket + 1) / BUCKETS_PER_OCTAVE) / 1000)
    return None


class LoadWatch(threading.Thread):
    """Asks the stream's server about once a second, in one round trip, for its clock and how much waits.

    In a thread of its own: no batch and no lease waits for it. `owned` gives each owned event's name, counts.
    """

    def __init__(
        self, redis_url: str, clock: StreamClock, owned: Callable[[], Iterable[tuple[str, Busy]]]
    ) -> None:
        super().__init__(name="allocator-loads", daemon=True)
        self._redis_url = redis_url
        self._clock = clock
        self._owned = owned
        self._stop_asked = threading.Event()

    def stop(self) -> None:
        """Look no more."""
        self._stop_asked.set()

    def run(self) -> None:
        client = connect(self._redis_url)
        try:
            while not self._stop_asked.wait(LOOK_SECONDS):
                try:
                    self.look(client)
                except (redis.RedisError, OSError) as error:
                    log.debug("how much waits is not known: %s", error)
        finally:
            client.close()

    def look(self, client: redis.Redis) -> None:
        """Once. Above the cursor is what the stream has: it is trimmed with each batch."""
        owned = list(self._owned())
        if not owned:
            return
        with client.pipeline(transaction=False) as pipeline:
            pipeline.time()
            for slug, _ in owned:
                pipeline.xlen(stream_key(slug))
            before = time.monotonic()
            (seconds, micros), *lengths = pipeline.execute()
        self._clock.asked(before, time.monotonic(), seconds, micros)
        for (_, busy), length in zip(owned, lengths, strict=True):
            busy.undecided = length
