"""What can be set of the fleet's planning, all from the environment, each within bounds. `docs/fleet.md` says
what each is for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from store.errors import OnsaleError

PREFIX: Final = "ONSALE_FLEET_"


class FleetSettingNotValid(OnsaleError):
    """A setting of the fleet has a value it cannot work with."""


class Limits(Struct, frozen=True, kw_only=True):
    """When an event becomes hot or cold by its load, and how much the planner moves at a time."""

    hot_arrivals_per_second: int = 300
    """At so many arrivals a second an event is busy,"""
    hot_undecided: int = 2_000
    """or with so many requests that are not decided yet;"""
    busy_seconds: int = 5
    """and after so long in a row it becomes hot."""
    cold_arrivals_per_second: int = 100
    """Below so many arrivals a second,"""
    cold_undecided: int = 200
    """and with fewer undecided requests than this, it is quiet;"""
    quiet_seconds: int = 60
    """after so long in a row it becomes cold."""
    hot_events_max: int = 32
    """Most events that are hot by their load; operators may make more of them hot."""
    moves_per_turn_max: int = 4
    """Most events that are on their way from one worker to another at a time."""

    def __post_init__(self) -> None:
        for hot, cold in (
            ("hot_arrivals_per_second", "cold_arrivals_per_second"),
            ("hot_undecided", "cold_undecided"),
        ):
            if getattr(self, cold) >= getattr(self, hot):
                raise FleetSettingNotValid(
                    f"{PREFIX}{cold.upper()} is {getattr(self, cold)}; it must be below "
                    f"{PREFIX}{hot.upper()}, which is {getattr(self, hot)}: else events would go to and fro."
                )

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Limits:
        """Reads ONSALE_FLEET_*; raises `FleetSettingNotValid` that says what is allowed."""
        source = os.environ if environ is None else environ
        given: dict[str, int] = {}
        for name, (least, most) in BOUNDS.items():
            text = source.get(PREFIX + name.upper())
            if not text:
                continue
            if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
                raise FleetSettingNotValid(
                    f"{PREFIX}{name.upper()} is {text!r}; it must be a whole number from {least} to {most}."
                )
            given[name] = int(text)
        return cls(**given)


BOUNDS: Final = {
    "hot_arrivals_per_second": (2, 1_000_000),
    "hot_undecided": (2, 10_000_000),
    "busy_seconds": (1, 3_600),
    "cold_arrivals_per_second": (1, 999_999),
    "cold_undecided": (1, 9_999_999),
    "quiet_seconds": (1, 86_400),
    "hot_events_max": (0, 1_000),
    "moves_per_turn_max": (1, 100),
}
"""Least and most of each."""
