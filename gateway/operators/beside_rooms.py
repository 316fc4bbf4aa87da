"""How waiting rooms stand, for Prometheus, beside all else that Postgres tells (`gateway.operators.beside`).

Labels are events (`store.room.numbers.ROOMS_MAX` of them), lanes, states and reasons: all few. Of each event
all of them are told, also while they are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from store.room.numbers import RoomNumbers
from store.room.words import Lane, PlaceState, SlowedBy

_PLAIN: Final[tuple[tuple[str, str, Callable[[RoomNumbers], float]], ...]] = (
    ("onsale_room_joined", "Places there ever were.", lambda one: one.joined),
    ("onsale_room_admitted", "Places that were ever called.", lambda one: one.admitted),
    ("onsale_room_drawn", "Places of the draw, once it is done.", lambda one: one.drawn),
    ("onsale_room_wishes", "Wishes filed for the ballot.", lambda one: one.wishes),
    ("onsale_room_wishes_decided", "Of them decided, in the draw's order.", lambda one: one.wishes_decided),
    ("onsale_room_rate", "Ordinary positions called a minute, as measured.", lambda one: one.rate),
    ("onsale_room_factor", "Of the pace; below 1 the room slows itself.", lambda one: one.factor),
    ("onsale_room_decisions", "What its owner and operators decided; it grows.", lambda one: one.decisions),
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


def tell_rooms(registry: CollectorRegistry, rooms: Sequence[RoomNumbers]) -> None:
    """Their gauges."""
    for name, says, value in _PLAIN:
        gauge = Gauge(name, says, ["event"], registry=registry)
        for one in rooms:
            gauge.labels(one.event).set(value(one))
    for name, says, by_lane in _LANES:
        gauge = Gauge(name, says, ["event", "lane"], registry=registry)
        for one in rooms:
            for lane in Lane:
                gauge.labels(one.event, lane).set(by_lane(one)[lane])
    places = Gauge("onsale_room_places", "Places.", ["event", "lane", "state"], registry=registry)
    slowed = Gauge(
        "onsale_room_slowed", "1 while it goes slower by this.", ["event", "reason"], registry=registry
    )
    for one in rooms:
        for lane in Lane:
            for state in PlaceState:
                places.labels(one.event, lane, state).set(one.places.get((lane, state), 0))
        for reason in SlowedBy:
            slowed.labels(one.event, reason).set(one.slowed_by is reason)
