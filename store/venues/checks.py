"""The single checks of a seating plan: each names the place and the reason when it refuses.

Importers and `store.plan.check` share them, so a bound reads the same whether it is broken in a file
(`zones[0].rows[3].seats[7].category`, `line 12, column price`) or in a plan (`seats[7].category`).
"""

import re

from store.errors import BadRequest

COORDINATE_MAX = 1_000_000.0


class PlanError(BadRequest):
    """The plan cannot be used. `place` says where it is wrong, `reason` what is wrong there."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__("plan_invalid", f"{place}: {reason}")
        self.place = place
        self.reason = reason


def refuse_unless(holds: bool, place: str, reason: str) -> None:
    """Raises PlanError unless `holds`."""
    if not holds:
        raise PlanError(place, reason)


def text(value: object, place: str, length_max: int, length_min: int = 1) -> None:
    """Printable text without outer spaces, of `length_min` to `length_max` characters."""
    if not isinstance(value, str):
        raise PlanError(place, f"must be text, not {shown(value)}")
    refuse_unless(length_min <= len(value), place, "must not be empty")
    refuse_unless(
        len(value) <= length_max, place, f"must be at most {length_max} characters, here {len(value)}"
    )
    refuse_unless(value.isprintable(), place, "must have printable characters only")
    refuse_unless(value == value.strip(), place, "must not begin or end with a space")


def whole(value: object, place: str, low: int, high: int) -> None:
    """A whole number from `low` to `high`; true and false are no numbers."""
    if type(value) is not int or not low <= value <= high:
        raise PlanError(place, f"must be a whole number from {low} to {high}, not {shown(value)}")


def coordinate(value: object, place: str, low: float = -COORDINATE_MAX) -> None:
    """A finite number of plan units, from `low` to `COORDINATE_MAX`."""
    if type(value) not in (int, float) or not low <= value <= COORDINATE_MAX:  # type: ignore[operator]
        raise PlanError(place, f"must be a number from {low:.0f} to {COORDINATE_MAX:.0f}, not {shown(value)}")


def index(value: object, place: str, count: int, what: str) -> None:
    """The number of one of `count` things called `what`."""
    if type(value) is not int or not 0 <= value < count:
        raise PlanError(place, f"there is no {what} {shown(value)}; the plan has {count}")


def count(number: int, place: str, most: int, what: str) -> None:
    """At most `most` things called `what`."""
    refuse_unless(number <= most, place, f"at most {most:,} {what} are possible, here are {number:,}")


def matching(value: object, place: str, pattern: re.Pattern[str], like: str) -> None:
    """Text that matches `pattern` whole; `like` says in words or by example what that is."""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise PlanError(place, f"must be like {like}, not {shown(value)}")


def unique(value: str, place: str, where: str, seen: dict[str, str], what: str) -> None:
    """`value` is not yet in `seen`; it is added there with `where` it was found."""
    first = seen.setdefault(value, where)
    if first is not where:
        raise PlanError(place, f"{shown(value)} is already the {what} of {first}")


def shown(value: object) -> str:
    """A value as it may stand in an error message: never longer than a line."""
    written = repr(value) if not isinstance(value, int) or abs(value) < 10**18 else "a huge number"
    return written if len(written) <= 60 else written[:57] + "…"
