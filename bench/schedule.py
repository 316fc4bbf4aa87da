"""An open loop's schedule: when each request is due, whatever became of those before it. Pure.

In a closed loop a slow server slows its load down, and what would have been asked meanwhile is missing
from the latencies (coordinated omission). Here request `n` is due at a fixed time and its latency counts
from then, so a pause of the server, or of the generator, is in the latency of all that were due in it.
"""

from __future__ import annotations

from dataclasses import dataclass

BEHIND_NS = 5_000_000
"""Sent more than this after it was due, a request counts as behind schedule."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """`count` requests at a fixed rate from `start_ns` on."""

    start_ns: int
    rate_per_second: float
    count: int

    @classmethod
    def lasting(cls, start_ns: int, rate_per_second: float, seconds: float) -> Schedule:
        """As many requests as are due in `seconds`; at least one."""
        if rate_per_second <= 0:
            raise ValueError("an open loop needs a rate above 0")
        return cls(start_ns, rate_per_second, max(1, round(rate_per_second * seconds)))

    def due_ns(self, number: int) -> int:
        """When request `number` (from 0) is due. Computed from the start, so errors do not add up."""
        return self.start_ns + int(number * 1e9 / self.rate_per_second)

    def due_count(self, now_ns: int) -> int:
        """How many are due by now."""
        if now_ns < self.start_ns:
            return 0
        count = min(self.count, int((now_ns - self.start_ns) * self.rate_per_second / 1e9) + 1)
        # the division may round to either side of a due time; the due times decide
        while count < self.count and self.due_ns(count) <= now_ns:
            count += 1
        while count and self.due_ns(count - 1) > now_ns:
            count -= 1
        return count


def is_behind(due_ns: int, sent_ns: int) -> bool:
    """Whether a request that was due then was sent noticeably late."""
    return sent_ns - due_ns > BEHIND_NS
