"""Tables that contradict what a batch is about to write: it writes nothing, whatever each count would allow.

They cannot come about by onsale's own statements. Each guard stands on its own all the same: the day one
of them is wrong, the next one holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from allocator import sql
from allocator.decided import Decided
from allocator.ports import Begun
from allocator.truth import PostgresTruth
from store.errors import Unavailable
from store.words import Arrival, Want
from tests.allocator.house import Owner, check_laws, entry, owner_of, seats


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    with owner_of(database_url, redis_url) as made:
        yield made


def stands(places: int = 3) -> Want:
    return Want(areas={"floor": places})


def test_a_seat_that_is_sold_is_not_freed_by_a_hold_that_ran_out(owner, caplog):
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.make_holds_old()
    owner.query_nothing("UPDATE seat SET state = 'sold' WHERE seat_no = 0")
    with pytest.raises(Unavailable):
        owner.loop.turn()
    assert "ALERT: facts and expiries cannot be written" in caplog.text
    assert owner.query("SELECT state, hold_id FROM seat WHERE seat_no = 0") == [
        ("sold", owner.hold_of("ann"))
    ]
    assert owner.query("SELECT state FROM hold") == [("active",)]


def test_a_seat_that_another_hold_keeps_is_not_made_available(owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.make_holds_old()
    owner.query_nothing("UPDATE hold_seat SET hold_id = 4711")
    owner.loop.turn()
    assert owner.query("SELECT state FROM seat WHERE seat_no = 0") == [("held",)]
    assert owner.outcomes(entry("bob", "r1", seats("A-1"))) == ["taken"]


def test_places_that_no_row_keeps_are_not_counted_free(owner):
    owner.ask(entry("ann", "r1", stands()), entry("bob", "r1", stands()))
    owner.make_holds_old()
    owner.query_nothing("DELETE FROM hold_area WHERE hold_id = %s", owner.hold_of("ann"))
    owner.loop.turn()
    assert owner.query("SELECT held FROM area") == [(3,)]


def test_places_that_no_counter_counts_are_not_freed_and_no_constraint_fires(owner, caplog):
    owner.ask(entry("ann", "r1", stands()))
    owner.make_holds_old()
    owner.query_nothing("UPDATE area SET held = 2")
    with pytest.raises(AssertionError):  # memory that was loaded from such tables is not gone on with
        owner.loop.turn()
    assert owner.query("SELECT held FROM area") == [(2,)]
    assert owner.query("SELECT state FROM hold") == [("active",)]
    assert "a constraint refused" not in caplog.text


def before_it_is_written(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]) -> None:
    """`change` happens once, between the decision of a batch and its writing."""
    write = PostgresTruth.write
    left = [change]

    def changed_first(
        truth: PostgresTruth, batch_no: int, begun: Begun, arrival: Arrival, pieces: Iterator[Decided]
    ) -> Decided:
        while left:
            left.pop()()
        return write(truth, batch_no, begun, arrival, pieces)

    monkeypatch.setattr(PostgresTruth, "write", changed_first)


def test_places_paid_for_in_the_moment_they_run_out_stay_paid_for(owner, monkeypatch):
    """Another hold in the same area, so that its counter alone would let the batch take them back; and more
    holds ran out before than a batch locks.
    """
    monkeypatch.setattr(sql, "LOCK_DUE", "SELECT 1 WHERE false")
    owner.ask(entry("ann", "r1", stands(3)), entry("bob", "r1", stands(5)))

    def move_end(by: str) -> None:
        owner.query_nothing(f"UPDATE hold SET expires_at = expires_at + interval '{by}' WHERE buyer = 'ann'")

    def pay_just_in_time() -> None:
        move_end("1 day")
        owner.confirm("ann")
        move_end("-1 day")

    move_end("-1 day")
    owner.reload()
    before_it_is_written(monkeypatch, pay_just_in_time)
    owner.loop.tick()
    assert owner.query("SELECT state FROM hold WHERE buyer = 'ann'") == [("paid",)]
    assert owner.query("SELECT held, sold FROM area") == [(5, 3)]
    check_laws(owner.database_url, owner.event_id)
