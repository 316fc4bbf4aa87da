"""Two events in one database, in which the same happened: nothing done in one touches the other.

A hold's id says where it was decided in its own event, so both events have holds of the same ids, of
the same buyers, on the same seats. Only the event's number tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from store.database import connect
from store.events import set_policy
from store.words import EventState, Want
from tests.allocator.house import (
    SLUG,
    Owner,
    change_event,
    check_laws,
    entry,
    open_event,
    plan_of,
    seats,
    snapshot,
)
from tests.allocator.test_contradictions import before_it_is_written

TABLES = (
    "seat",
    "hold",
    "hold_seat",
    "hold_area",
    "area",
    "seat_history",
    "ledger_batch",
    "fact",
    "event_cursor",
)


class Twins:
    """Two owners of two events with the same past; `one` is changed, `other` must not notice."""

    def __init__(self, database_url: str, redis_url: str) -> None:
        self.one, self.other = (
            Owner(database_url, redis_url, open_event(database_url, plan_of(), slug), slug)
            for slug in (SLUG, f"{SLUG}-2")
        )
        for owner in (self.one, self.other):
            owner.settle_down()
            owner.ask(
                entry("ann", "r1", Want(seats=("A-1", "A-2"), areas={"floor": 3})),
                entry("bob", "r1", Want(seats=("A-3",), areas={"floor": 2})),
            )
        assert self.one.hold_of("ann") == self.other.hold_of("ann")
        self.other.release("bob")  # a fact that waits

    def rows_of_other(self) -> dict[str, list[Any]]:
        """Everything the other event has; the ledger without its times, which are JSON."""
        rows = {
            table: self.other.query(
                f"SELECT t::text FROM {table} AS t WHERE event_id = %s ORDER BY 1", self.other.event_id
            )
            for table in TABLES
        }
        rows["ledger"] = self.other.ledger()
        rows["event"] = self.other.query("SELECT e::text FROM event AS e WHERE id = %s", self.other.event_id)
        return rows


@pytest.fixture
def twins(database_url: str, redis_url: str) -> Iterator[Twins]:
    made = Twins(database_url, redis_url)
    yield made
    for owner in (made.one, made.other):
        owner.close()
        check_laws(database_url, owner.event_id)


def expire(owner: Owner) -> None:
    owner.make_holds_old()
    owner.settle_down()


def pay(owner: Owner) -> None:
    owner.confirm("ann")
    owner.settle_down()


def give_back(owner: Owner) -> None:
    owner.release("ann")
    owner.settle_down()


def give_some_back(owner: Owner) -> None:
    owner.release_some("ann", (0,), 2)
    owner.settle_down()


def extend(owner: Owner) -> None:
    owner.extend("ann")
    owner.settle_down()


def move(owner: Owner) -> None:
    want = Want(seats=("A-2", "A-5"), areas={"floor": 1}, move=str(owner.hold_of("ann")))
    assert owner.outcomes(entry("ann", "r2", want)) == ["held"]


def claim(owner: Owner) -> None:
    assert owner.outcomes(entry("eve", "r1", Want(seats=("A-4",), areas={"floor": 1}))) == ["held"]


def pause_and_resume(owner: Owner) -> None:
    change_event(owner.database_url, EventState.PAUSED, owner.slug)
    owner.settle_down()
    change_event(owner.database_url, EventState.OPEN, owner.slug)
    owner.settle_down()


def new_rules(owner: Owner) -> None:
    with connect(owner.database_url, "operator") as conn:
        set_policy(conn, owner.slug, seats_per_buyer_max=2)
    owner.settle_down()


@pytest.mark.parametrize(
    "change",
    [claim, expire, pay, give_back, give_some_back, extend, move, pause_and_resume, new_rules],
    ids=lambda change: change.__name__,
)
def test_what_happens_in_one_event_changes_no_row_of_another(twins: Twins, change: Callable[[Owner], None]):
    before = twins.rows_of_other()
    change(twins.one)
    assert twins.rows_of_other() == before


def test_facts_of_another_event_are_no_reason_for_a_batch(twins: Twins):
    before = twins.one.memory.batch_no
    twins.one.loop.tick()
    assert twins.one.memory.batch_no == before


def test_a_hold_that_the_table_gives_longer_does_not_run_out_with_its_namesake(twins: Twins):
    twins.one.release("bob")  # each has one hold now, of the same number
    twins.one.settle_down()
    twins.other.make_holds_old()
    twins.one.make_holds_old()
    twins.one.query_nothing(
        "UPDATE hold SET expires_at = expires_at + interval '2 days' WHERE event_id = %s", twins.one.event_id
    )
    assert twins.one.outcomes(entry("eve", "r1", seats("A-1"))) == ["taken"]
    states = twins.one.query(
        "SELECT state FROM hold WHERE event_id = %s AND buyer = 'ann'", twins.one.event_id
    )
    assert states == [("active",)]


def test_a_hold_is_moved_with_its_own_end_and_not_with_its_namesakes(twins: Twins, monkeypatch):
    """Each has a hold of the same number, buyer and end; then one is extended in the moment it is moved."""
    one, other = twins.one, twins.other
    one.query_nothing("UPDATE hold SET expires_at = (SELECT max(expires_at) FROM hold)")
    one.reload()
    before_it_is_written(monkeypatch, lambda: one.extend("ann"))
    move(one)
    ends = "SELECT DISTINCT expires_at FROM hold WHERE buyer = 'ann' AND event_id = %s"
    assert len(one.query(ends, one.event_id)) == 1
    assert one.query(ends, one.event_id) != one.query(ends, other.event_id)


def test_extensions_are_carried_over_within_an_event(twins: Twins):
    """The hold that is new in one has a namesake that is new in the other."""
    twins.other.extend("ann")
    claim(twins.other)
    twins.one.release("bob")
    twins.one.extend("ann")
    move(twins.one)
    new = "SELECT extensions FROM hold WHERE hold_id = %s ORDER BY event_id"
    assert twins.one.hold_of("ann") == twins.other.hold_of("eve")
    assert twins.one.query(new, twins.one.hold_of("ann")) == [(1,), (0,)]


def test_memory_is_loaded_from_its_own_event(twins: Twins):
    twins.one.reload()
    before = snapshot(twins.one.memory)
    claim(twins.other)
    twins.other.confirm("ann")
    twins.other.query_nothing("UPDATE seat SET state = 'blocked' WHERE event_id = %s AND seat_no = 30",
                              twins.other.event_id)  # fmt: skip
    twins.one.reload()
    assert snapshot(twins.one.memory) == before


def test_a_key_that_is_decided_in_another_event_is_not_known_here(twins: Twins):
    twins.other.ask(entry("eve", "r1", seats("A-4")))
    assert twins.one.truth.known([("eve", "r1")]) == {}
    assert set(twins.one.truth.known([("ann", "r1")])) == {("ann", "r1")}
