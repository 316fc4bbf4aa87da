"""What a load generator process is told to do, and what it reports. Types only."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec
from msgspec import Struct, field

from bench.evidence import Seen

GAP_NOTED_NS = 20_000_000
"""Shorter times without an answer are not noted one by one: so there are at most fifty a second."""


class Mode(StrEnum):
    STAMPEDE = "stampede"
    """Every socket sends a request, all at once, and its next one when that is answered, if it has more."""
    CLOSED_LOOP = "closed_loop"
    """Every socket sends its next request when the last one is answered, for a time."""
    OPEN_LOOP = "open_loop"
    """Requests are sent on a schedule, whatever became of those before; latency counts from when due."""
    IDLE = "idle"
    """Sockets that say hello and nothing more."""


class Orders(Struct):
    """One process' work. The `n`th request of socket `i` is `wants[(i + n × sockets) % len(wants)]`."""

    url: str
    """`ws://host:port/v1/socket`, or `http://host:port` for buyers who POST"""
    event: str
    buyers: list[tuple[str, str]]
    """(buyer, token), one a socket"""
    wants: list[str]
    """Canonical JSON"""
    mode: Mode
    result_path: str
    seconds: float = 5.0
    """Closed and open loop: how long to keep sending."""
    rate_per_second: float = 0.0
    """Open loop: over all sockets."""
    requests_each: int = 1
    """Stampede: how many a socket sends, one after the other."""
    requests_per_socket_max: int = 1_000_000
    answer_seconds_max: float = 60.0
    """How long to wait for the last answers."""
    connect_burst: int = 200
    """Sockets that connect at the same time."""
    connect_tries_max: int = 8
    keep: bool = True
    """Keep what every client saw, for the checker. Without it only figures are kept."""
    churn: bool = False
    """Give three of four holds back at once and buy the fourth."""
    reconnect: bool = True
    """Come back and ask again when a socket breaks before the answer."""


class Go(Struct):
    """One round on the open sockets; what is left out is as in `Orders`."""

    mode: Mode | None = None
    seconds: float | None = None
    rate_per_second: float | None = None

    def applied_to(self, orders: Orders) -> Orders:
        given = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        return msgspec.structs.replace(orders, **given)


class Progress(Struct):
    """A line on the process' standard output."""

    phase: str
    """connecting, ready, running, done or failed"""
    done: int = 0
    total: int = 0
    message: str = ""


class Round(Struct):
    """What one round measured; times in nanoseconds of the machine's monotonic clock."""

    sent: int = 0
    decided: int = 0
    not_queued: int = 0
    unanswered: int = 0
    reconnects: int = 0
    behind: int = 0
    """Open loop: sent noticeably after they were due (`bench.schedule.BEHIND_NS`)."""
    first_sent_ns: int = 0
    last_sent_ns: int = 0
    last_answer_ns: int = 0
    answer_gap_ns_max: int = 0
    """The longest time between two answers, whoever got them."""
    answer_gaps: list[tuple[int, int]] = field(default_factory=list)
    """(when it ended, how long it was) of each time between two answers of `GAP_NOTED_NS` or more."""
    latencies_ns: list[int] = field(default_factory=list)
    """Of every answered request: answer minus first sending; in an open loop minus when it was due."""
    outcomes: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    cpu_seconds: float = 0.0
    """This process' own, from the first sending to the last answer."""
    seen: list[Seen] = field(default_factory=list)

    def answer_gap_ns_within(self, since_ns: int, until_ns: int) -> int:
        """The longest time between two answers with a part of it between these; 0 where all were short."""
        met = [long for end, long in self.answer_gaps if end >= since_ns and end - long <= until_ns]
        return max(met, default=0)

    @property
    def seconds(self) -> float:
        """First sending to last answer."""
        return max(0, self.last_answer_ns - self.first_sent_ns) / 1e9

    @property
    def answered(self) -> int:
        return self.decided + self.not_queued

    @property
    def sent_per_second(self) -> float:
        """The rate that was really offered."""
        seconds = (self.last_sent_ns - self.first_sent_ns) / 1e9
        return (self.sent - 1) / seconds if seconds > 0 else 0.0

    @property
    def behind_share(self) -> float:
        return self.behind / self.sent if self.sent else 0.0


def percentile(ordered: Sequence[int], share: float) -> float:
    """The value below which `share` of an ordered list lies; 0 for an empty one."""
    return float(ordered[min(len(ordered) - 1, int(len(ordered) * share))]) if ordered else 0.0


encode_orders = msgspec.json.Encoder().encode
decode_orders = msgspec.json.Decoder(Orders).decode
encode_go = msgspec.json.Encoder().encode
decode_go = msgspec.json.Decoder(Go).decode
encode_progress = msgspec.json.Encoder().encode
decode_progress = msgspec.json.Decoder(Progress).decode
encode_round = msgspec.msgpack.Encoder().encode
decode_round = msgspec.msgpack.Decoder(Round).decode
