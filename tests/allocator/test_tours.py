"""A tour: what a buyer has on its other dates counts, whichever of them decides at the same moment."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from random import Random
from typing import Any

import psycopg
import pytest

from allocator import replay
from allocator.decide import Fact
from allocator.follow import Follower
from allocator.load import load_keys, load_memory
from bench.checker import judge
from bench.truth import read_truth
from store import audit, tours
from store.database import connect
from store.events import create_event, set_state
from store.venues.rows import save_venue
from store.words import Best, EventState, TourLimit, Want
from tests.allocator.house import (
    SLUG,
    Owner,
    change_event,
    check_laws,
    entry,
    plan_of,
    seats,
    snapshot,
    wire_of,
)
from tests.allocator.pure_sale import Sale
from tests.allocator.waiting import held_up, is_free

LIMIT = 4
SAID = audit.said("Olga", "for this test")
ROW_OF = "FROM tour_buyer WHERE buyer = "


def over(elsewhere: int) -> dict[str, Any]:
    return {"reason": "tour_limit", "limit": LIMIT, "elsewhere": elsewhere}


class Dates:
    """Owners of two dates of a tour, and of an event that is of none."""

    def __init__(self, database_url: str, redis_url: str) -> None:
        self.database_url = database_url
        with connect(database_url, "test") as conn:
            tours.create_tour(conn, "tour", "The tour", LIMIT)
            venue = save_venue(conn, "house", plan_of())
            names = [f"{SLUG}-{name}" for name in ("first", "second", "alone")]
            numbers = [create_event(conn, name, name, venue, plan_of()) for name in names]
            for name in names[:2]:
                tours.add_event(conn, "tour", name, SAID)
            for name in names:
                set_state(conn, name, EventState.OPEN)
        owners = [Owner(database_url, redis_url, *one) for one in zip(numbers, names, strict=True)]
        for owner in owners:
            owner.settle_down()
        self.first, self.second, self.alone = self.all = owners
        self.ledger_tells_all = True
        """Nothing was changed that the ledger does not know of, so it can be decided again."""

    def close(self) -> None:
        for owner in self.all:
            owner.close()
            check_laws(self.database_url, owner.event_id)
            with psycopg.connect(self.database_url) as conn:
                if not self.ledger_tells_all:
                    continue
                told = list(replay.verify(conn, owner.event_id))
            assert [one for one in told if isinstance(one, replay.Finding)] == []


@pytest.fixture
def dates(database_url: str, redis_url: str) -> Iterator[Dates]:
    made = Dates(database_url, redis_url)
    yield made
    made.close()


def ask(owner: Owner, buyer: str, request_id: str, want: Want) -> tuple[str, dict[str, Any]]:
    [(outcome, result)] = owner.ask(entry(buyer, request_id, want))
    return outcome, json.loads(result)


def elsewhere_rows(owner: Owner) -> list[Any]:
    """What the event's batches found on the other dates, in order."""
    rows = owner.query(
        "SELECT input->'body' FROM ledger WHERE event_id = %s AND kind = 'fact' AND outcome = 'elsewhere'"
        " ORDER BY batch_no, position",
        owner.event_id,
    )
    return [body for (body,) in rows]


def test_what_is_held_on_another_date_counts_here_and_is_told(dates):
    assert ask(dates.first, "ann", "r1", seats("A-1", "A-2", "A-3"))[0] == "held"
    assert ask(dates.second, "ann", "r1", seats("A-1", "A-2")) == ("limit_reached", over(3))
    assert ask(dates.second, "ann", "r2", seats("A-1"))[0] == "held"
    assert ask(dates.second, "ann", "r3", seats("A-2")) == ("limit_reached", over(3))
    assert ask(dates.first, "ann", "r2", seats("B-1")) == ("limit_reached", over(1))
    assert ask(dates.second, "bob", "r1", seats("B-1", "B-2", "B-3", "B-4"))[0] == "held"


def test_an_event_that_is_of_no_tour_counts_for_itself(dates):
    four = seats("A-1", "A-2", "A-3", "A-4")
    assert ask(dates.first, "ann", "r1", four)[0] == "held"
    assert ask(dates.alone, "ann", "r1", four)[0] == "held"
    assert ask(dates.second, "ann", "r1", seats("A-1")) == ("limit_reached", over(4))


def test_up_to_takes_what_the_tour_leaves(dates):
    ask(dates.first, "ann", "r1", seats("A-1", "A-2", "A-3"))
    outcome, result = ask(dates.second, "ann", "r1", Want(seats=("A-1", "A-2"), up_to=True))
    assert (outcome, result["seats"]) == ("held", ["A-1"])


def test_orders_elsewhere_count_and_what_was_given_back_does_not(dates):
    ask(dates.first, "ann", "r1", seats("A-1", "A-2", "A-3"))
    dates.first.release_some("ann", [0])
    dates.first.confirm("ann")  # its allocator has not heard of either: the tables say so
    assert ask(dates.second, "ann", "r1", seats("A-1", "A-2", "A-3")) == ("limit_reached", over(2))
    ask(dates.first, "bob", "r1", seats("B-1"))
    dates.first.release("bob")
    assert ask(dates.second, "bob", "r1", seats("B-1", "B-2", "B-3", "B-4"))[0] == "held"
    assert elsewhere_rows(dates.second) == [{"ann": 2}]


def test_a_hold_elsewhere_that_ran_out_counts_until_its_own_allocator_lets_it_go(dates):
    ask(dates.first, "ann", "r1", seats("A-1", "A-2", "A-3", "A-4"))
    dates.first.make_holds_old()
    dates.ledger_tells_all = False
    assert ask(dates.second, "ann", "r1", seats("A-1")) == ("limit_reached", over(4))
    dates.first.loop.tick()
    assert ask(dates.second, "ann", "r2", seats("A-1"))[0] == "held"


def test_a_move_within_the_event_takes_nothing_from_the_tour(dates):
    ask(dates.first, "ann", "r1", seats("A-1", "A-2"))
    ask(dates.second, "ann", "r1", seats("A-1", "A-2"))
    hold = str(dates.second.hold_of("ann"))
    assert ask(dates.second, "ann", "r2", Want(seats=("B-1", "B-2"), move=hold))[0] == "held"
    hold = str(dates.second.hold_of("ann"))
    more = Want(seats=("C-1", "C-2", "C-3"), move=hold)
    assert ask(dates.second, "ann", "r3", more) == ("limit_reached", over(2) | {"kept": hold})


def test_the_own_limit_is_told_before_the_tours():
    sale = Sale(seats_per_buyer_max=3, tour=TourLimit(1, 4))
    sale.batch(facts=[Fact(0, "elsewhere", None, '{"ann":2}')])
    assert sale.memory.elsewhere == {}  # known in that batch only
    decided = sale.batch(
        sale.ask("ann", seats("A-1", "A-2", "A-3", "A-4")),
        sale.ask("ann", seats("A-1", "A-2", "A-3")),
        sale.ask("ann", seats("A-1", "A-2")),
        facts=[Fact(0, "elsewhere", None, '{"ann":2}')],
    )
    reasons = [json.loads(row.result).get("reason", "") for row in decided.rows[1:]]
    assert reasons == ["limit", "tour_limit", ""]
    assert sale.memory.elsewhere == {}


def test_the_ledger_has_what_was_found_of_who_has_something_there(dates):
    ask(dates.first, "ann", "r1", seats("A-1"))
    dates.second.ask(
        entry("ann", "r1", seats("A-1")), entry("bob", "r1", seats("A-2")), entry("ann", "r2", seats("A-3"))
    )
    assert elsewhere_rows(dates.second) == [{"ann": 1}]
    assert elsewhere_rows(dates.first) == []


def test_a_ledger_without_what_was_found_is_not_decided_the_same(dates):
    ask(dates.first, "ann", "r1", seats("A-1", "A-2", "A-3", "A-4"))
    ask(dates.second, "ann", "r1", seats("A-1"))
    [batch] = [
        one
        for one in replay.read_batches(dates.second.conn, dates.second.event_id, 0)
        if any(row.outcome == "elsewhere" for row in one.rows)
    ]
    without = batch._replace(rows=[row for row in batch.rows if row.outcome != "elsewhere"])
    memory, _ = load_memory(dates.second.conn, dates.second.event_id, dates.second.memory.layout)
    memory.batch_no -= 1
    assert [row.outcome for row in replay.decide_again(memory, dates.second.loop._wishes, without)] == [
        "held"
    ]


def test_a_standby_follows_what_was_found(dates):
    with connect(dates.database_url, "test standby") as conn:
        second = dates.second
        memory, _ = load_memory(conn, second.event_id, second.memory.layout)
        follower = Follower(conn, second.event_id, memory, load_keys(conn, second.event_id))
        ask(dates.first, "ann", "r1", seats("A-1", "A-2"))
        ask(second, "ann", "r1", seats("A-1", "A-2"))
        follower.catch_up()
        follower.memory.reflected = second.memory.reflected
        assert snapshot(follower.memory) == snapshot(second.memory)


# at the same moment


def decide_beside(owner: Owner, done: list[BaseException | None]) -> threading.Thread:
    def run() -> None:
        try:
            owner.loop.turn()
            done.append(None)
        except BaseException as error:
            done.append(error)

    return threading.Thread(target=run)


def test_two_dates_that_decide_at_the_same_moment_give_exactly_the_limit(dates):
    for round_ in range(10):
        buyers = [f"b{round_}-{n}" for n in range(8)]
        for owner in (dates.first, dates.second):
            wanted = buyers if owner is dates.first else buyers[::-1]
            owner.append(
                [entry(buyer, f"r{n}", Want(areas={"floor": 1})) for buyer in wanted for n in range(LIMIT)]
            )
        done: list[BaseException | None] = []
        both = [decide_beside(owner, done) for owner in (dates.first, dates.second)]
        for one in both:
            one.start()
        for one in both:
            one.join(timeout=60)
        assert done == [None, None]
        got = dates.first.query(
            "SELECT buyer, sum(quantity) FROM hold WHERE tour_id IS NOT NULL AND state = 'active' GROUP BY 1"
        )
        assert dict(got) == dict.fromkeys(buyers, LIMIT)
        for owner in (dates.first, dates.second):
            for buyer, hold in owner.query(
                "SELECT buyer, hold_id FROM hold WHERE event_id = %s AND state = 'active'", owner.event_id
            ):
                owner.release(buyer, hold)
            owner.settle_down()


def test_a_batch_waits_for_the_other_dates_batch_about_the_same_buyer_and_sees_what_it_gave(dates):
    dates.second.append([entry("ann", "r1", seats("A-1", "A-2"))])
    lock = "INSERT INTO tour_buyer SELECT id, 'ann' FROM tour"
    with held_up(dates.database_url, lock, dates.second.loop.turn) as other:
        other.execute(
            "INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at, tour_id)"
            " SELECT %s, 1 << 20, 'ann', 'r0', 3, clock_timestamp() + interval '1 minute', id FROM tour",
            (dates.first.event_id,),
        )
        other.commit()
    assert dates.second.outcomes(entry("ann", "r1", seats("A-1", "A-2"))) == ["limit_reached"]
    dates.second.query_nothing("DELETE FROM hold WHERE hold_id = 1 << 20")


def test_a_batch_about_other_buyers_waits_for_nobody(dates):
    ask(dates.first, "ann", "r1", seats("A-1"))
    with psycopg.connect(dates.database_url) as other:
        other.execute(f"SELECT 1 {ROW_OF}'ann' FOR UPDATE")
        assert ask(dates.second, "bob", "r1", seats("A-1"))[0] == "held"


def test_buyers_are_locked_by_name_and_before_holds_and_seats(dates):
    ask(dates.first, "ann", "r1", seats("A-1"))
    ask(dates.first, "bob", "r1", seats("A-2"))
    ask(dates.first, "eve", "r1", seats("A-3"))
    ask(dates.second, "bob", "r0", seats("A-9"))
    hold = dates.second.hold_of("bob")
    move = Want(seats=("A-1",), move=str(hold))
    dates.second.append(
        [entry("eve", "r1", seats("A-4")), entry("bob", "r1", move), entry("ann", "r1", seats("A-2"))]
    )
    with held_up(dates.database_url, f"SELECT 1 {ROW_OF}'bob' FOR UPDATE", dates.second.loop.turn) as other:
        assert not is_free(other, f"{ROW_OF}'ann'")
        assert is_free(other, f"{ROW_OF}'eve'")
        assert is_free(other, f"FROM hold WHERE event_id = {dates.second.event_id} AND hold_id = {hold}")
        assert is_free(other, f"FROM seat WHERE event_id = {dates.second.event_id} AND seat_no = 0")
    assert len(dates.second.memory.holds) == 3


def test_an_owner_that_dies_in_a_batch_keeps_nobody_from_deciding(dates):
    ask(dates.first, "ann", "r1", seats("A-1"))
    dates.first.truth.begin(dates.first.memory.batch_no, dates.first.loop.cursor.arrival)
    assert dates.first.truth.elsewhere(1, ["ann"]) == {}
    dates.second.append([entry("ann", "r1", seats("A-1"))])
    pid = dates.first.conn.info.backend_pid
    with held_up(dates.database_url, "SELECT 1", dates.second.loop.turn):
        dates.first.query("SELECT pg_terminate_backend(%s)", pid)
    dates.first.truth.rollback()
    dates.first.truth.committed(dates.first.memory.batch_no)  # as the loop does: a new connection
    assert dates.second.outcomes(entry("ann", "r1", seats("A-1"))) == ["held"]


def test_random_sales_of_two_dates_keep_the_limit_by_the_checkers_arithmetic_too(dates):
    random, both = Random(5), (dates.first, dates.second)
    for step in range(20):
        for owner in both:
            wants = [
                Want(areas={"floor": random.randint(1, 2)}, best=Best(1), up_to=random.random() < 0.5)
                for _ in range(3)
            ]
            buyers = [f"b{random.randrange(3)}" for _ in wants]
            owner.append(
                [
                    entry(b, f"r{step}-{n}", want)
                    for n, (b, want) in enumerate(zip(buyers, wants, strict=True))
                ]
            )
            holds = list(owner.memory.holds.items())
            if holds and random.random() < 0.7:
                hold_id, hold = random.choice(holds)
                random.choice((owner.release, owner.confirm))(hold.buyer, hold_id)
        for owner in both:
            owner.loop.turn()
    for owner in both:
        assert {row[4] for row in owner.ledger()} >= {"held", "elsewhere", "limit_reached", "released"}
        with psycopg.connect(dates.database_url) as conn:
            truth = read_truth(conn, owner.slug)
        assert truth.tour is not None
        assert len(truth.tour.counts) == 3
        assert [one for one in judge([], truth) if one.kind == "over_limit"] == []


# what it costs, and when it counts


def test_an_event_of_no_tour_is_decided_in_as_many_statements_as_ever(dates):
    seen: list[int] = []
    for owner in (dates.alone, dates.first):
        owner.append([entry("ann", "r1", seats("A-1"))])
        with wire_of(owner.conn) as messages:
            owner.loop.turn()
        seen.append(messages["Execute"])
    assert seen[1] - seen[0] == 2
    assert dates.first.query("SELECT count(*) FROM hold WHERE tour_id IS NULL") == [(1,)]


def test_buyers_on_the_events_waiting_list_are_asked_about_too(dates):
    ask(dates.first, "ann", "r1", seats("A-1", "A-2"))
    ask(dates.first, "dan", "r1", seats("A-3"))
    for owner, buyer, state in (
        (dates.second, "ann", "waiting"),
        (dates.second, "dan", "left"),
        (dates.alone, "bob", "waiting"),
    ):
        owner.query_nothing(
            "INSERT INTO waiting (event_id, wait_id, buyer, request_id, state)"
            " VALUES (%s, 65536, %s, 'w', %s)",
            owner.event_id, buyer, state,
        )  # fmt: skip
        dates.first.query_nothing("DELETE FROM tour_buyer")
        dates.second.truth.begin(dates.second.memory.batch_no, dates.second.loop.cursor.arrival)
        found = dates.second.truth.elsewhere(1, [])
        dates.second.truth.rollback()
        assert found == {"ann": 2}
        dates.second.query_nothing("UPDATE waiting SET wait_id = wait_id + 1")
    dates.second.query_nothing("DELETE FROM waiting")  # of requests that nobody made


def test_only_what_can_be_decided_is_asked_about(dates):
    unreadable = entry("ann", "r1", Want(seats=("nowhere",)))
    dates.first.ask(unreadable)
    assert dates.first.query("SELECT buyer FROM tour_buyer") == []


def test_a_date_that_does_not_sell_asks_nothing(dates):
    change_event(dates.database_url, EventState.CLOSED, dates.first.slug)
    assert dates.first.outcomes(entry("ann", "r1", seats("A-1"))) == ["closed"]
    assert dates.first.query("SELECT buyer FROM tour_buyer") == []


def test_an_event_that_joins_and_opens_with_its_first_requests_counts_them(database_url, redis_url):
    """All of it in one batch: the owner has heard of nothing but a draft of no tour."""
    dates = Dates(database_url, redis_url)
    with connect(database_url, "test") as conn:
        venue = save_venue(conn, "house", plan_of())
        late = f"{SLUG}-late"
        number = create_event(conn, late, late, venue, plan_of())
        conn.commit()
        owner = Owner(database_url, redis_url, number, late)
        owner.settle_down()
        tours.add_event(conn, "tour", late, SAID)
        set_state(conn, late, EventState.OPEN)
    ask(dates.first, "ann", "r1", seats("A-1", "A-2", "A-3", "A-4"))
    assert ask(owner, "ann", "r1", seats("A-1")) == ("limit_reached", over(4))
    assert ask(owner, "bob", "r1", seats("A-1"))[0] == "held"
    assert ask(dates.first, "bob", "r1", seats("B-1", "B-2", "B-3", "B-4")) == ("limit_reached", over(1))
    dates.all.append(owner)
    dates.close()


def test_while_a_date_is_paused_what_it_gave_counts_elsewhere(dates):
    ask(dates.first, "ann", "r1", seats("A-1", "A-2", "A-3"))
    change_event(dates.database_url, EventState.PAUSED, dates.first.slug)
    dates.first.settle_down()
    assert ask(dates.second, "ann", "r1", seats("A-1", "A-2")) == ("limit_reached", over(3))
    change_event(dates.database_url, EventState.OPEN, dates.first.slug)
    dates.first.settle_down()
