"""The console's calls, for the published description."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from gateway.calls import Call
from gateway.operators.launches import Launches
from store.console.find import Found
from store.console.launch import Launch
from store.console.levers import FleetLever, StateLever
from store.console.samples import Samples
from store.console.tally import Step, TurnedAway
from store.erasure.erase import Erased


class LaunchWhole(Struct):
    """One event: what can be moved and how it stands, its numbers, how far its buyers came."""

    type: Literal["event"]
    event: str
    at_ms: int
    """When that was, by Postgres' clock: of two the later one is how it stands."""
    state: StateLever
    room: dict[str, Any] | None
    gate: bool
    policy: dict[str, Any]
    fleet: FleetLever
    launch: Launch
    steps: list[Step]
    steps_age_ms: int
    outcomes: dict[str, int]
    turned_away: list[TurnedAway]


class Story(Struct):
    """All that is kept of a buyer at one event; the fields of each list are in docs/console-feed.md."""

    buyer: str
    event: str
    erased: int | None
    mail: list[str]
    places: list[dict[str, Any]]
    requests: list[dict[str, Any]]
    requests_more: int | None
    offers: list[dict[str, Any]]
    waiting: list[dict[str, Any]]
    holds: list[dict[str, Any]]
    payments: list[dict[str, Any]]
    tickets: list[dict[str, Any]]
    mails: list[dict[str, Any]]


CALLS: dict[tuple[str, str], Call] = {
    ("get", "/v1/operator/launches"): Call(
        {200: ("Those that sell first.", Launches)}, (400, 403, 503), "operator"
    ),
    ("get", "/v1/operator/events/{event}/launch"): Call(
        {200: ("How it stands.", LaunchWhole)}, (400, 403, 404, 503), "operator"
    ),
    ("get", "/v1/operator/events/{event}/samples"): Call(
        {200: ("The oldest first.", Samples)}, (400, 403, 404, 503), "operator"
    ),
    ("get", "/v1/operator/events/{event}/buyers"): Call(
        {200: ("Whoever it is of.", Found)}, (400, 403, 404, 503), "operator"
    ),
    ("get", "/v1/operator/events/{event}/buyers/{buyer}"): Call(
        {200: ("The whole story.", Story)}, (400, 403, 404, 503), "operator"
    ),
    ("get", "/v1/operator/events/{event}/export/{what}.{kind}"): Call(
        {200: ("The file.", None)}, (400, 403, 404, 503), "operator"
    ),
    ("post", "/v1/operator/buyers/erase"): Call(
        {200: ("How many rows of what.", Erased)}, (400, 403, 404, 409, 413, 503), "operator"
    ),
}
