"""From raw entries to what a batch decides: order, repeats, conflicts, and what nobody can read."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocator.intake import Answer, Sorted, sort_out, undecided, was_created
from allocator.keys import Keys
from allocator.layout import Layout
from allocator.ports import Key, Known
from allocator.wishes import Wishes
from store.stream.port import CREATED, POKE, REQUEST, RawEntry
from store.wire import Entry, canonical_want, decision_frame, decode_entry, encode_entry
from store.words import Arrival, Want
from tests.allocator.house import entry, plan_of, seats

A1, A2, A3 = seats("A-1"), seats("A-2"), seats("A-3")


class Decided:
    """A ledger's keys; remembers what it was asked."""

    def __init__(self, **known: Want) -> None:
        self.known = {("ann", request_id): want for request_id, want in known.items()}
        self.asked: list[list[Key]] = []

    def __call__(self, keys: Sequence[Key]) -> dict[Key, Known]:
        self.asked.append(list(keys))
        return {
            key: Known(canonical_want(want).decode(), "1-1", "held", '{"hold":"9"}')
            for key, want in self.known.items()
            if key in keys
        }


def raw(*values: bytes, start: int = 10) -> list[RawEntry]:
    return [(f"{start + n}-0".encode(), [REQUEST, value]) for n, value in enumerate(values)]


def sort(entries: Sequence[RawEntry], decided: Decided | None = None, keys: Keys | None = None) -> Sorted:
    known = decided or Decided()
    before = keys if keys is not None else Keys(known.known)
    return sort_out(entries, before, Wishes(Layout(plan_of())), known)


def kinds(batch: Sorted) -> list[tuple[str, str, bool]]:
    return [(ask.request_id, ask.wish.reason, ask.conflict) for ask in batch.asks]


def test_requests_are_decided_in_the_order_of_the_stream_and_markers_and_pokes_are_passed_over():
    entries = raw(entry("ann", "r1", A1), entry("bob", "r1", A2))
    between: list[RawEntry] = [(b"9-0", [CREATED, b"1"]), entries[0], (b"10-5", [POKE, b"1"]), entries[1]]
    batch = sort(between)
    assert [(ask.arrival, ask.buyer, ask.wish.seat) for ask in batch.asks] == [
        ("10-0", "ann", 0),
        ("11-0", "bob", 1),
    ]
    assert batch.gateways == ["g1", "g1"]
    assert was_created(between)
    assert not was_created(entries)


def test_a_first_request_asks_the_ledger_nothing():
    decided = Decided()
    sort(raw(entry("ann", "r1", A1), entry("ann", "r2", A1)), decided)
    assert decided.asked == []


def test_a_repeat_of_a_decided_key_gets_the_same_answer_and_is_not_decided_again():
    batch = sort(raw(entry("ann", "r1", A1, gateway="g7")), Decided(r1=A1))
    assert batch.asks == []
    assert batch.repeats == [Answer("g7", "ann", "r1", decision_frame("r1", "1-1", "held", '{"hold":"9"}'))]


def test_other_content_under_a_decided_key_is_a_conflict_of_that_arrival():
    batch = sort(raw(entry("ann", "r1", A2), entry("ann", "r1", A1)), Decided(r1=A1))
    assert kinds(batch) == [("r1", "", True)]
    assert [answer.request_id for answer in batch.repeats] == ["r1"]


def test_the_same_key_twice_in_a_batch_is_decided_once_and_both_gateways_hear_it():
    batch = sort(raw(entry("ann", "r1", A1), entry("bob", "r1", A1), entry("ann", "r1", A1, gateway="g2")))
    assert kinds(batch) == [("r1", "", False), ("r1", "", False)]
    assert batch.echoes == [("g2", 0)]


def test_the_same_key_with_other_content_in_a_batch_is_a_conflict_each_time():
    batch = sort(raw(entry("ann", "r1", A1), entry("ann", "r1", A2), entry("ann", "r1", A2)))
    assert kinds(batch) == [("r1", "", False), ("r1", "", True), ("r1", "", True)]
    assert batch.echoes == []


def test_a_suspicion_that_the_ledger_does_not_confirm_is_decided():
    keys = Keys([("ann", "r1")])  # as after a batch that never became true
    decided = Decided()
    assert kinds(sort(raw(entry("ann", "r1", A1)), decided, keys)) == [("r1", "", False)]
    assert decided.asked == [[("ann", "r1")]]


def test_what_the_stream_lost_goes_first_by_the_arrival_that_was_acknowledged():
    batch = sort(
        raw(
            entry("new", "r1", A1),
            entry("ann", "r2", A1, first_arrival="3-10"),
            entry("bob", "r1", A1, first_arrival="3-9"),
            start=100,
        )
    )
    assert [(ask.buyer, ask.arrival) for ask in batch.asks] == [
        ("bob", "3-9"),
        ("ann", "3-10"),
        ("new", "100-0"),
    ]


def test_of_one_key_asked_again_the_earliest_arrival_is_decided():
    batch = sort(
        raw(entry("ann", "r1", A2), entry("ann", "r1", A1, first_arrival="3-1", gateway="g2"), start=100)
    )
    assert [(ask.arrival, ask.wish.seat, ask.conflict) for ask in batch.asks] == [
        ("3-1", 0, False),
        ("100-0", 1, True),
    ]


UNREADABLE = [
    b"",
    b"not json",
    b'["ann","r1"]',
    b'["ann","r1",{"seats":["A-1"]},7]',
    b'["ann","r1",' + b"[" * 100_000 + b"]" * 100_000 + b',"g1"]',
    b'["a\\u0000nn","r1",{"seats":["A-1"]},"g1"]',
    b'["ann","r\\t1",{"seats":["A-1"]},"g1"]',
    b'["ann\\n","r1",{"seats":["A-1"]},"g1"]',
    b'["ann","r1",{"seats":["A-1"]},"g1","yesterday"]',
    b'["ann","r1",{"seats":["A-1"]},"g1","1-1\\n"]',
]


@pytest.mark.parametrize("value", UNREADABLE, ids=lambda value: repr(value[:40]))
def test_an_entry_nobody_can_read_is_invalid_under_its_arrival_and_never_dropped(value):
    batch = sort(raw(value, entry("bob", "r1", A1)))
    assert kinds(batch) == [("10-0", "unreadable", False), ("r1", "", False)]
    assert (batch.asks[0].buyer, batch.asks[0].want) == ("", "null")
    assert batch.gateways == ["", "g1"]


def test_an_entry_nobody_can_read_that_was_decided_is_not_decided_again_when_it_is_read_again():
    keys = Keys()
    sort(raw(b"not json"), None, keys)
    asked: list[list[Key]] = []

    def ledger(of: Sequence[Key]) -> dict[Key, Known]:
        asked.append(list(of))
        return {("", "10-0"): Known("null", "10-0", "invalid", '{"reason":"unreadable"}')}

    batch = sort_out(raw(b"not json"), keys, Wishes(Layout(plan_of())), ledger)
    assert asked == [[("", "10-0")]]
    assert batch.asks == []


@pytest.mark.parametrize(
    "want", [b'{"seats":["\xff"]}', b'{"seats":\t["A-1"]}', b'"text"', b"{\n}", b"7e999"]
)
def test_a_want_nobody_can_read_is_its_buyers_and_its_text_does_not_reach_the_ledger(want):
    batch = sort(raw(b'["ann","r1",' + want + b',"g1"]'))
    assert kinds(batch) == [("r1", "unreadable", False)]
    assert (batch.asks[0].buyer, batch.asks[0].want) == ("ann", "null")


@given(st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
def test_no_entry_ends_the_reading(value):
    assert len(sort(raw(value)).asks) == 1


def test_names_with_quotes_and_backslashes_are_names():
    odd = Entry('a"n\\n', "r1", msgspec.Raw(canonical_want(A1)), "g1")
    assert [ask.buyer for ask in sort(raw(encode_entry(odd))).asks] == ['a"n\\n']


def test_entries_below_the_cursor_are_asked_again_unless_decided_and_keep_their_arrival():
    below = raw(
        entry("ann", "r1", A1),
        entry("ann", "r2", A2, first_arrival="2-2"),
        entry("ann", "r3", A3),
        entry("ann", "r3", A2),
        b"not json",
        start=5,
    )
    again = [decode_entry(value) for value in undecided([*below, (b"9-9", [POKE, b"1"])], Decided(r1=A1))]
    assert [(e.request_id, e.first_arrival, bytes(e.want)) for e in again] == [
        ("r2", "2-2", canonical_want(A2)),
        ("r3", "7-0", canonical_want(A3)),
        ("r3", "8-0", canonical_want(A2)),
    ]


def test_nothing_below_the_cursor_asks_the_ledger_nothing():
    decided = Decided()
    assert undecided([(b"9-9", [POKE, b"1"])], decided) == []
    assert decided.asked == []


def test_a_key_is_suspected_from_the_second_time_on():
    keys = Keys([("ann", "r1")])
    assert keys.suspect(("ann", "r1"))
    assert not keys.suspect(("ann", "r2"))
    assert keys.suspect(("ann", "r2"))
    assert not keys.suspect(("r2", "ann"))
    assert len(keys) == 3


def test_a_conflict_that_its_gateway_appends_again_is_decided_once():
    decided = Decided(r1=A1)
    asked: list[list[str]] = []

    def conflicts(arrivals: Sequence[str]) -> set[Arrival]:
        asked.append(list(arrivals))
        return {Arrival("3-1")}

    again = raw(
        entry("ann", "r1", A2, first_arrival="3-1", gateway="g2"),
        entry("ann", "r1", A3, first_arrival="3-2"),
        start=100,
    )
    batch = sort_out(again, Keys(decided.known), Wishes(Layout(plan_of())), decided, conflicts)
    assert asked == [["3-1", "3-2"]]
    assert [(ask.arrival, ask.conflict) for ask in batch.asks] == [("3-2", True)]
    told = decision_frame("r1", "3-1", "conflict", '{"reason":"key_reused"}')
    assert batch.repeats == [Answer("g2", "ann", "r1", told)]


def test_a_conflict_and_its_second_appending_in_one_batch_are_one_decision_told_twice():
    entries = raw(entry("ann", "r1", A2), entry("ann", "r1", A2, first_arrival="10-0", gateway="g2"))
    batch = sort(entries, Decided(r1=A1))
    assert [(ask.arrival, ask.conflict) for ask in batch.asks] == [("10-0", True)]
    assert batch.echoes == [("g2", 0)]


def test_other_content_of_a_decided_key_is_asked_again_too():
    below = raw(
        entry("ann", "r1", A1), entry("ann", "r1", A2), entry("ann", "r2", A1), entry("ann", "r2", A3)
    )
    again = [decode_entry(value) for value in undecided(below, Decided(r1=A1))]
    assert [(e.request_id, e.first_arrival) for e in again] == [
        ("r1", "11-0"),
        ("r2", "12-0"),
        ("r2", "13-0"),
    ]


def test_of_one_key_and_content_below_the_cursor_the_first_is_asked_again():
    below = raw(entry("ann", "r1", A1), entry("ann", "r1", A1, gateway="g2"), start=5)
    again = [decode_entry(value) for value in undecided(below, Decided())]
    assert [(e.request_id, e.first_arrival, e.gateway) for e in again] == [("r1", "5-0", "g1")]


def test_of_many_keys_only_those_that_were_there_are_suspected():
    keys = Keys([("ann", "r1")])
    assert keys.suspects([("bob", "r1"), ("cem", "r1"), ("bob", "r1"), ("dan", "r1")]) == [2]
    assert keys.suspects([("eve", "r1"), ("ann", "r1"), ("dan", "r1")]) == [1, 2]
    assert keys.suspects([("gus", "r1"), ("hal", "r1")]) == []
    assert len(keys) == 7


def test_a_repeat_that_goes_first_because_it_was_lost_is_still_a_repeat():
    again = raw(entry("bob", "r1", A2), entry("ann", "r1", A1, first_arrival="3-1", gateway="g2"), start=100)
    batch = sort(again, Decided(r1=A1))
    assert [ask.buyer for ask in batch.asks] == ["bob"]
    assert [(answer.gateway, answer.buyer) for answer in batch.repeats] == [("g2", "ann")]
