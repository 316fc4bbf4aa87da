"""What a row of the outbox is told as."""

from __future__ import annotations

import msgspec
import pytest

from notifier.payloads import Names, names_of, payload, timestamp
from store.outbox import Row
from store.plan import encode
from tests.notifier.conftest import PLAN

NAMES = Names(["A-1", "A-2"], ["floor"], ["Gold"])


def told(body, names=NAMES):
    row = Row(1, 2, "order.paid", msgspec.json.encode(body), 1_763_720_000_000_001)
    return msgspec.json.decode(payload(row, "gig", names))["data"]


def test_a_plans_names_are_read_in_its_order():
    names = names_of(encode(PLAN).decode())
    assert names.seats == [seat.guid for seat in PLAN.seats]
    assert names.areas == [area.guid for area in PLAN.areas]
    assert names.categories == [category.name for category in PLAN.categories]


def test_a_moment_is_told_in_utc_to_the_microsecond():
    assert timestamp(1_763_720_000_000_001) == "2025-11-21T10:13:20.000001Z"
    assert timestamp(0) == "1970-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("areas", [[[0, 3]], {"0": 3}])
def test_areas_are_named_however_they_are_written(areas):
    assert told({"areas": areas, "seats": [1]}) == {"event": "gig", "areas": {"floor": 3}, "seats": ["A-2"]}


@pytest.mark.parametrize(
    "body",
    [
        {"seats": [0, 9]},
        {"areas": [[7, 1]]},
        {"seats": None},
        {"lines": [[0]]},
        {"areas": [1]},
        {"seats": "x"},
    ],
)
def test_what_does_not_fit_the_plan_is_told_in_numbers(body):
    assert told(body) == {"event": "gig"} | body


def test_the_same_row_gives_the_same_bytes():
    row = Row(1, 2, "order.paid", b'{"seats":[0],"buyer":"ann"}', 7)
    assert payload(row, "gig", NAMES) == payload(row, "gig", NAMES)
