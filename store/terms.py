"""An event's terms: what its organiser decides when it is made and may change later, told in one place.

A new term is a field of `Terms` and a column of `event` of the same name, with its migration; where
decisions depend on it, also a field of `store.words.Policy`. Making and changing events, the operators'
API and `Event` follow from these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import fields

from store.errors import BadRequest, FieldError
from store.words import Policy

HOLD_TTL_SECONDS_MAX = 86_400
SEATS_PER_BUYER_MAX = 1_000
EXTENSIONS_MAX = 20
EXTENSION_SECONDS_MAX = 3_600
MOMENT_YEARS = range(2000, 2200)
"""A time that Postgres can keep is not yet one that Python can read again."""

# Told in the API's description and checked by `check_terms`, so that everybody gets the same refusal.
_Ttl = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": HOLD_TTL_SECONDS_MAX})]
_Seats = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": SEATS_PER_BUYER_MAX})]
_Limit = Annotated[int, Meta(extra_json_schema={"minimum": 0, "maximum": SEATS_PER_BUYER_MAX})]
_Extensions = Annotated[int, Meta(extra_json_schema={"minimum": 0, "maximum": EXTENSIONS_MAX})]
_ExtensionSeconds = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": EXTENSION_SECONDS_MAX})]


class Terms(Struct, frozen=True, kw_only=True):
    """The terms, and what a new event has unless told."""

    hold_ttl_seconds: _Ttl = 480
    seats_per_buyer_max: _Seats = 8
    fast_gate: bool = True
    extensions_max: _Extensions = 1
    extension_seconds: _ExtensionSeconds = 120
    offer_ttl_seconds: _Ttl = 600
    limits: dict[str, _Limit] = {}
    """Category → most seats and places of it one buyer may have, 0: not for buyers."""
    payment: Literal["none", "required"] = "none"
    """How a hold becomes an order: its holder says so, or pays for it (`store.payments`)."""
    late_payment: Literal["refund", "reacquire"] = "refund"
    """What becomes of money that comes when its hold has run out: see `store.payments.states.LatePolicy`."""
    returns_allowed: bool = False
    """Buyers may return what they bought, for their money (`store.tickets.returns`)."""
    transfers_allowed: bool = False
    """Who has a ticket may give it to somebody else (`store.tickets.transfers`)."""
    starts_at: datetime | None = None
    """When it takes place."""
    figures_on_page: bool = False
    """Its page says how much is sold, and when somebody booked last (`store.figures`)."""


TERMS: Final = Terms.__struct_fields__
DECIDED_BY: Final = tuple(name for name in TERMS if name in Policy.__struct_fields__)
"""The terms that decisions depend on: a change of one is a fact for the allocator."""
BOUNDS: Final = {
    field.encode_name: (bounds["minimum"], bounds["maximum"])
    for field in msgspec.inspect.type_info(Terms).fields  # type: ignore[attr-defined]
    if (bounds := getattr(field.type, "extra_json_schema", None)) and "minimum" in bounds
}

CHOICES: Final = {
    name: get_args(kind) for name, kind in get_type_hints(Terms).items() if get_origin(kind) is Literal
}

PolicyChange = msgspec.defstruct(
    "PolicyChange",
    [(field.name, field.type | UnsetType, UNSET) for field in fields(Terms)],
    namespace={"__doc__": "A change of some terms; what is left out stays."},
    module=__name__,
    frozen=True,
    forbid_unknown_fields=True,
)


def terms_in(told: Struct) -> dict[str, Any]:
    """Those of the terms that `told` (a `PolicyChange`, or a `Terms` with more to it) says."""
    values = {name: getattr(told, name) for name in TERMS}
    return {name: value for name, value in values.items() if value is not UNSET}


def check_terms(given: Mapping[str, Any]) -> None:
    """Raises `BadRequest` (invalid_event) naming the first term that is out of its bounds."""
    for name, value in given.items():
        if name not in TERMS:
            raise TypeError(f"there is no term {name!r}; there are: {', '.join(TERMS)}")
        if name in BOUNDS:
            least, most = BOUNDS[name]
            check(least <= value <= most, name, f"{least} to {most}")
        if name in CHOICES:
            check(value in CHOICES[name], name, " or ".join(CHOICES[name]))
        if isinstance(value, datetime):
            check_moment(name, value)


def check_moment(name: str, when: datetime) -> None:
    """Raises `BadRequest` (invalid_event) for a time without its offset, or out of bounds."""
    check(when.tzinfo is not None, name, "a time with its offset from UTC")
    check(when.year in MOMENT_YEARS, name, f"in the years {MOMENT_YEARS[0]} to {MOMENT_YEARS[-1]}")


def check_limits(limits: Mapping[str, int], seats_per_buyer_max: int, categories: Sequence[str]) -> None:
    """Raises `BadRequest` (invalid_event) for limits that a plan with these categories cannot have.

    One above what a buyer may have in all would never be reached, and with none above 0 nobody could buy:
    whoever wrote that meant something else.
    """
    for name, most in limits.items():
        there = ", ".join(repr(category) for category in categories)
        check(name in categories, "limits", f"of the plan's categories, which are {there}; not of {name!r}")
        said, at = f"limits: that of {name!r}", f"limits.{name}"
        check(0 <= most <= SEATS_PER_BUYER_MAX, said, f"0 to {SEATS_PER_BUYER_MAX}", at)
        check(most <= seats_per_buyer_max, said, f"at most seats_per_buyer_max, {seats_per_buyer_max}", at)
    for_nobody = all(limits.get(category) == 0 for category in categories)
    check(not (limits and for_nobody), "limits", "above 0 for a category, or nobody can buy anything")


def check(holds: bool, field: str, wanted: str, at: str | None = None) -> None:
    """Raises `BadRequest` (invalid_event) unless it holds; `at`: the field's path, where that is another."""
    if not holds:
        errors = [FieldError(at or field, f"must be {wanted}")]
        raise BadRequest("invalid_event", f"{field} must be {wanted}.", errors)


def changed_since(seen: Mapping[str, Any], now: Terms) -> dict[str, Any]:
    """Of the terms as somebody saw them those that are others by now, as they are now. Pages are told times
    in milliseconds that are cut off, so one that differs by less than two is the same. Raises `BadRequest`
    (invalid_event) for a time without its offset."""
    for name, value in seen.items():
        if isinstance(value, datetime):
            check_moment(name, value)
    there = {name: getattr(now, name) for name in seen}
    return {name: value for name, value in there.items() if not _is_same(seen[name], value)}


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, datetime) and isinstance(other, datetime):
        return abs(one - other) < timedelta(milliseconds=2)
    return bool(one == other)
