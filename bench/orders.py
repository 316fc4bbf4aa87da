"""What a load generator process is told to do, and what it reports. Types only."""

from __future__ import annotations

from enum import StrEnum

import msgspec
from msgspec import Struct, field

from bench.evidence import Seen


class Mode(StrEnum):
    STAMPEDE = "stampede"
    """Every socket sends one request, all at once, and waits for its answer."""
    CLOSED_LOOP = "closed_loop"
    """Every socket sends its next request when the last one is answered."""
    IDLE = "idle"
    """Sockets that say hello and nothing more."""


class Orders(Struct):
    """One process' work. Socket `i` is buyer `i` and asks for `wants[i % len(wants)]`, canonical JSON."""

    url: str
    """`ws://host:port/v1/socket`"""
    event: str
    buyers: list[tuple[str, str]]
    """(buyer, token), one a socket"""
    wants: list[str]
    mode: Mode
    result_path: str
    seconds: float = 5.0
    """Closed loop: how long to keep sending."""
    requests_per_socket_max: int = 1_000_000
    answer_seconds_max: float = 60.0
    """How long to wait for the last answers."""
    connect_burst: int = 200
    """Sockets that connect at the same time."""
    keep: bool = True
    """Keep what every client saw, for the checker. Without it only figures are kept."""
    churn: bool = False
    """Give three of four holds back at once and buy the fourth."""
    reconnect: bool = True
    """Come back and ask again when a socket breaks before the answer."""


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
    first_sent_ns: int = 0
    last_sent_ns: int = 0
    last_answer_ns: int = 0
    latencies_ns: list[int] = field(default_factory=list)
    """Of every answered request: last answer minus first sending."""
    outcomes: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    cpu_seconds: float = 0.0
    """This process' own, from the first sending to the last answer."""
    seen: list[Seen] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """First sending to last answer."""
        return max(0, self.last_answer_ns - self.first_sent_ns) / 1e9

    @property
    def answered(self) -> int:
        return self.decided + self.not_queued


def percentile(ordered: list[int], share: float) -> float:
    """The value below which `share` of an ordered list lies; 0 for an empty one."""
    return float(ordered[min(len(ordered) - 1, int(len(ordered) * share))]) if ordered else 0.0


encode_orders = msgspec.json.Encoder().encode
decode_orders = msgspec.json.Decoder(Orders).decode
encode_progress = msgspec.json.Encoder().encode
decode_progress = msgspec.json.Decoder(Progress).decode
encode_round = msgspec.msgpack.Encoder().encode
decode_round = msgspec.msgpack.Decoder(Round).decode
