"""What operators see of waiting rooms at one gateway: joins, who is here, what they are told.

How a room stands is Postgres' and the same at each gateway (`gateway.operators.beside_rooms`). Labels are
events, of which a gateway serves a bounded number, and the codes of `REFUSALS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from store.room.refused import Reason

if TYPE_CHECKING:
    from gateway.events import EventRuntime
    from gateway.room.streams import Streams
    from gateway.room.waiting_room import WaitingRoom

OTHER: Final = "other"
REFUSALS: Final = (
    *Reason,
    "code_not_valid",
    "code_revoked",
    "code_used",
    "invitation_not_valid",
    "joins_full",
    "outcome_unknown",
    "room_closed",
    "unavailable",
    "unknown_code",
)
"""Codes that have a number of their own; of all others together there is one."""


_COUNTERS: Final[tuple[tuple[str, str, Callable[[WaitingRoom], int]], ...]] = (
    (
        "onsale_gateway_room_joined",
        "Who joined here and was told their place.",
        lambda room: room.joins.joined,
    ),
    ("onsale_gateway_room_join_groups", "Transactions they joined in.", lambda room: room.joins.groups),
    (
        "onsale_gateway_room_frames",
        "Status documents written to sockets and streams when they changed.",
        lambda room: room.status.frames,
    ),
    (
        "onsale_gateway_room_lookups",
        "Look-ups of places, each for many.",
        lambda room: room.places.queries,
    ),
)
_GAUGES: Final[tuple[tuple[str, str, Callable[[WaitingRoom], int]], ...]] = (
    (
        "onsale_gateway_room_joining",
        "Who waits to hear whether they have joined.",
        lambda room: room.joins.waiting,
    ),
    (
        "onsale_gateway_room_here",
        "Buyers with a socket or stream here, who are told how it stands.",
        lambda room: room.places.here,
    ),
)


def of_rooms(events: Sequence[EventRuntime], streams: Streams) -> Iterator[Metric]:
    """Of the events that are served here and have a waiting room."""
    rooms = [(event.row.slug, event.room) for event in events if event.room is not None]
    for family, listed in ((CounterMetricFamily, _COUNTERS), (GaugeMetricFamily, _GAUGES)):
        for name, says, read in listed:
            metric = family(name, says, labels=["event"])
            for slug, room in rooms:
                metric.add_metric([slug], read(room))
            yield metric
    yield _refused(rooms)
    yield GaugeMetricFamily("onsale_gateway_room_streams", "Streams of events open here.", value=streams.open)


def _refused(rooms: Sequence[tuple[str, WaitingRoom]]) -> Metric:
    metric = CounterMetricFamily(
        "onsale_gateway_room_joins_refused", "Joins refused here, by code.", labels=["event", "code"]
    )
    for slug, room in rooms:
        counts = {code: room.joins.refused[code] for code in map(str, REFUSALS)}
        counts[OTHER] = room.joins.refused.total() - sum(counts.values())
        for code, count in counts.items():
            metric.add_metric([slug, code], count)
    return metric
