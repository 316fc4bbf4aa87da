"""How waiting rooms stand, for Prometheus, beside all else that Postgres tells (`gateway.operators.beside`).

Labels are events (`store.room.numbers.ROOMS_MAX` of them), lanes, states and reasons: all few. Of each event
all of them are told, also while they are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from prometheus_client.core import Metric

from gateway.operators.families import counter, gauge
from store.room.numbers import RoomNumbers
from store.room.words import Lane, PlaceState, SlowedBy

_GROWING: Final[tuple[tuple[str, str, Callable[[RoomNumbers], float]], ...]] = (
    ("onsale_room_joined", "Places there ever were.", lambda one: one.joined),
    ("onsale_room_admitted", "Places that were ever called.", lambda one: one.admitted),
    ("onsale_room_decisions", "What its owner and operators decided.", lambda one: one.decisions),
)
_PLAIN: Final[tuple[tuple[str, str, Callable[[RoomNumbers], float]], ...]] = (
    ("onsale_room_drawn", "Places of the draw, once it is done.", lambda one: one.drawn),
    ("onsale_room_wishes", "Wishes filed for the ballot.", lambda one: one.wishes),
    ("onsale_room_wishes_decided", "Of them decided, in the draw's order.", lambda one: one.wishes_decided),
    (
        "onsale_room_rate_per_minute",
        "Ordinary positions called a minute, as measured.",
        lambda one: one.rate,
    ),
    ("onsale_room_factor", "Of the pace; below 1 the room slows itself.", lambda one: one.factor),
    ("onsale_room_step_seconds", "How long a step of its owner took.", lambda one: one.step_seconds),
    (
        "onsale_room_still_seconds",
        "How long ago it decided last, while somebody is to be called; else 0.",
        lambda one: one.still_seconds,
    ),
)
_LANES: Final[tuple[tuple[str, str, Callable[[RoomNumbers], dict[Lane, int]]], ...]] = (
    ("onsale_room_serving", "Positions called up to.", lambda one: one.serving),
    ("onsale_room_positions", "Positions there are.", lambda one: one.last),
)


def of_rooms(rooms: Sequence[RoomNumbers]) -> Iterator[Metric]:
    """Their families."""
    for kind, listed in ((counter, _GROWING), (gauge, _PLAIN)):
        for name, says, value in listed:
            yield kind(name, says, ["event"], [((one.event,), value(one)) for one in rooms])
    for name, says, by_lane in _LANES:
        lanes = [((one.event, lane), float(by_lane(one)[lane])) for one in rooms for lane in Lane]
        yield gauge(name, says, ["event", "lane"], lanes)
    places = [
        ((one.event, lane, state), float(one.places.get((lane, state), 0)))
        for one in rooms
        for lane in Lane
        for state in PlaceState
    ]
    yield gauge("onsale_room_places", "Places.", ["event", "lane", "state"], places)
    slowed = [((one.event, reason), float(one.slowed_by is reason)) for one in rooms for reason in SlowedBy]
    yield gauge("onsale_room_slowed", "1 while it goes slower by this.", ["event", "reason"], slowed)
