"""What subscribers are sent of a row of the outbox: pure. `{"type", "timestamp", "data"}`, as Standard
Webhooks has it.

The outbox names seats, areas and categories by their number in the plan; here they get their names. The same
row gives the same bytes each time: numbers of a plan never change their names.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from msgspec import Struct

from store.outbox import Row

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class _Seat(Struct, frozen=True, array_like=True):
    guid: str


class _Area(Struct, frozen=True):
    guid: str


class _Category(Struct, frozen=True):
    name: str


class Names(Struct, frozen=True):
    """Of a plan: by number."""

    seats: list[str]
    areas: list[str]
    categories: list[str]


class _Plan(Struct, frozen=True):
    seats: list[_Seat]
    areas: list[_Area]
    categories: list[_Category]


_decode_plan = msgspec.json.Decoder(_Plan).decode
_decode_body = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode


def names_of(plan: str) -> Names:
    """The names in a plan's canonical JSON."""
    read = _decode_plan(plan)
    return Names(
        [seat.guid for seat in read.seats],
        [area.guid for area in read.areas],
        [category.name for category in read.categories],
    )


def payload(row: Row, event: str, names: Names) -> bytes:
    """The body that is signed and sent. A row that does not fit its plan is told in numbers: no row may stop
    those behind it."""
    try:
        body = _named(_decode_body(row.body), names)
    except (LookupError, TypeError, ValueError):
        body = _decode_body(row.body)
    data = {"event": event} | body
    return _encode({"type": row.kind, "timestamp": timestamp(row.at), "data": data})


def timestamp(micros: int) -> str:
    """Of Postgres' clock, in UTC, to the microsecond."""
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _named(body: dict[str, Any], names: Names) -> dict[str, Any]:
    """Seats, areas and lines by name; whatever else there is as it is."""
    if "seats" in body:
        body["seats"] = [names.seats[seat] for seat in body["seats"]]
    if "areas" in body:
        areas = body["areas"]
        pairs = areas.items() if isinstance(areas, dict) else areas
        body["areas"] = {names.areas[int(area)]: places for area, places in pairs}
    if "lines" in body:
        body["lines"] = [_line(line, names) for line in body["lines"]]
    return body


def _line(line: list[Any], names: Names) -> dict[str, Any]:
    """As `store.payments.charges.Line`."""
    seat, area, count, category, *amounts = line
    what = {"seat": names.seats[seat]} if seat is not None else {"area": names.areas[area]}
    told = zip(("price_minor", "fee_minor", "tax_minor", "total_minor"), amounts, strict=True)
    return {**what, "count": count, "category": names.categories[category], **dict(told)}
