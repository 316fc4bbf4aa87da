"""The ballot on Postgres and Valkey, with whatever may be killed, lost or done twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allocator import ballot as sweeps
from allocator import loop as loops
from allocator.__main__ import ON_SALE
from store.database import connect
from store.events import close_for_good
from store.room import ballot, entering
from store.room.ballot import REQUEST_ID
from store.stream.port import CREATED, REQUEST
from store.wire import stream_key
from store.words import Best, Choice, EventState, Want
from tests.allocator.balloting import Balloting, balloting, begin
from tests.allocator.house import SLUG, Owner, best, change_event, entry, owner_of, plan_of, seats

WANTS = {f"b{n}": Want(best=Best(1 + n % 3), fallbacks=(Choice(areas={"floor": 1}),)) for n in range(30)}
FAR_AHEAD = "99999999999999-7"


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "PIECE_MAX", 4)
    monkeypatch.setattr(sweeps, "AHEAD_MAX", 12)
    monkeypatch.setattr(loops, "GATHER_SECONDS", 0.02)


@pytest.fixture
def held(database_url: str, redis_url: str) -> Iterator[Balloting]:
    plan = plan_of(rows=3, standing=4)
    with balloting(database_url, redis_url, WANTS, priority=("b3", "b7", "b20"), plan=plan) as made:
        yield made


def test_wishes_are_decided_in_the_draws_order_and_winners_are_inside(held):
    held.run()
    held.check()
    assert {buyer for buyer, _ in held.decided()[:3]} == {"b3", "b7", "b20"}
    assert {"held", "sold_out"} <= {outcome for _, outcome in held.decided()}
    assert held.room().admitted == sum(outcome == "held" for _, outcome in held.decided())


def answers(owner: Owner) -> dict[str, Any]:
    """What each buyer was told, without times and numbers that depend on batches."""
    rows = owner.query(
        "SELECT buyer, outcome, result::text FROM ledger WHERE event_id = %s AND kind = 'request'",
        owner.event_id,
    )
    told = {buyer: (outcome, json.loads(result)) for buyer, outcome, result in rows}
    for _, result in told.values():
        for name in ("hold", "expires_at", "wait"):
            result.pop(name, None)
    return told


CHOICES = st.one_of(
    st.builds(
        Choice, best=st.builds(Best, st.integers(1, 4), category=st.sampled_from([None, "Gold", "Silver"]))
    ),
    st.builds(
        Choice,
        seats=st.lists(st.sampled_from(["A-1", "A-2", "B-1", "B-2", "nowhere"]), min_size=1, unique=True).map(
            tuple
        ),
    ),
    st.builds(Choice, areas=st.builds(lambda n: {"floor": n}, st.integers(1, 3))),
)


def as_want(first: Choice, fallbacks: list[Choice], waits: bool) -> Want:
    return Want(first.seats, first.best, first.areas, fallbacks=tuple(fallbacks), waitlist=waits)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.builds(as_want, CHOICES, st.lists(CHOICES, max_size=2), st.booleans()), min_size=1, max_size=14
    )
)
def test_the_outcome_is_as_if_each_wish_had_been_decided_by_itself_in_the_draws_order(
    worker_database, redis_url, wants
):
    wished = {f"b{n}": want for n, want in enumerate(wants)}
    plan = plan_of(rows=2, seats_a_row=4, standing=4)
    worker_database.empty()
    with balloting(worker_database.url, redis_url, wished, plan=plan) as held:
        held.owner.redis.flushdb()
        held.owner.loop.attend()
        held.run()
        held.check()
        order, told = held.order(), answers(held.owner)
    with owner_of(worker_database.url, redis_url, plan, slug="alone") as alone:
        for buyer in order:
            alone.ask(entry(buyer, REQUEST_ID, wished[buyer]))
        assert answers(alone) == told


@pytest.mark.parametrize("how", ["before it was done", "after it was done", "the reply was cut"])
def test_a_keeper_killed_at_any_step_is_followed_by_one_that_goes_on(held, how):
    at = 1
    while held.interrupted(at, done=how != "before it was done", cut=how == "the reply was cut"):
        at += 1
    held.run()
    held.check()
    assert held.room().admitted == sum(outcome == "held" for _, outcome in held.decided())


def test_an_owner_killed_at_any_batch_is_followed_by_one_that_goes_on(held):
    for _ in range(4):
        assert held.keeper()() is not None
        held.decide()
        held.owner.close()
        owner = held.owner
        held.owner = Owner(owner.database_url, owner.redis_url, owner.event_id, batch_size_max=5)
    held.run()
    held.check()
    assert len({epoch for (epoch,) in held.owner.query("SELECT epoch FROM ledger_batch")}) == 5


@pytest.mark.parametrize("batches", [0, 1, 3])
def test_a_stream_that_is_wiped_in_the_middle_costs_nobody_the_place_in_the_order(held, batches):
    step = held.keeper()
    step()
    for _ in range(batches):
        held.owner.loop.turn()
        step()
    held.owner.redis.flushdb()
    assert step() is not None
    held.owner.loop.attend()
    held.run(step)
    held.check()


def test_a_stream_that_came_back_with_an_older_file_is_noticed_by_who_appends_behind_it(held):
    """Nothing says so: no marker, no error. What was there last is not, so nothing goes behind it."""
    step = held.keeper()
    step()
    newest = held.owner.redis.xrevrange(stream_key(SLUG), count=5)
    held.owner.redis.xdel(stream_key(SLUG), *[identifier for identifier, _ in newest])
    held.run(step)
    held.check()


def test_what_a_dead_owner_appended_beyond_the_cursor_and_what_is_appended_again_keep_the_order(held):
    for _ in range(3):
        held.keeper()()
    wishes = [fields for _, fields in held.owner.redis.xrange(stream_key(SLUG)) if REQUEST in fields]
    assert len(wishes) == 36, "each keeper began at the first undecided"
    held.run()
    held.check()


def test_wishes_that_landed_behind_the_cursor_go_before_those_that_follow_them(held):
    """As after a server came back with an old file, with a clock that is behind the cursor."""
    owner = held.owner
    owner.query_nothing("UPDATE event_cursor SET arrival = %s", FAR_AHEAD)
    owner.reload()
    owner.redis.delete(stream_key(SLUG))
    owner.redis.xadd(stream_key(SLUG), {CREATED: b"1"}, id="1-1")
    step = held.keeper()
    step()
    owner.loop.attend()
    assert owner.loop.reappended == 12
    held.run(step)
    held.check()


def test_two_keepers_at_once_decide_nobody_twice(held):
    one, other = held.keeper(), held.keeper()

    def both() -> float | None:
        steps = (one(), other())
        return None if steps == (None, None) else 0.0

    held.run(both)
    held.check()


def test_a_postgres_that_was_away_is_gone_on_with(held):
    step = held.keeper()
    step()
    held.owner.query("SELECT pg_terminate_backend(%s)", held.conn.info.backend_pid)
    with pytest.raises(psycopg.OperationalError):
        step()
    held.conn = connect(held.owner.database_url, "test keeper")
    held.run(step)
    held.check()


def test_a_stream_that_is_missing_is_waited_for_and_not_made_by_the_ballot(held):
    held.owner.redis.delete(stream_key(SLUG))
    assert held.keeper()() == sweeps.AWAY_SECONDS
    assert not held.owner.redis.exists(stream_key(SLUG))


def test_a_pause_keeps_the_ballot_where_it_is(held):
    step = held.keeper()
    step()
    held.decide()
    change_event(held.owner.database_url, EventState.PAUSED)
    held.decide()
    so_far = held.decided()
    for _ in range(5):
        assert step() == sweeps.WAIT_SECONDS
        held.decide()
    assert held.decided() == so_far
    assert held.room().ballot_ended_at is None
    change_event(held.owner.database_url, EventState.OPEN)
    held.run(step)
    held.check()


@pytest.mark.parametrize("how", ["closed", "called off"])
def test_closing_answers_those_the_ballot_had_not_reached(held, how):
    step = held.keeper()
    step()
    held.decide()
    if how == "closed":
        change_event(held.owner.database_url, EventState.CLOSED)
    else:
        with psycopg.connect(held.owner.database_url) as conn:
            close_for_good(conn, SLUG)
    assert (held.owner.event_id, SLUG) in held.owner.query(ON_SALE, 10), "somebody still attends to it"
    held.run(step)
    outcomes = [outcome for _, outcome in held.decided()]
    assert outcomes[-1] == "closed"
    assert outcomes.index("closed") >= 7, "whom it had reached keeps the answer"
    held.check()


def test_an_event_that_is_closed_is_attended_to_until_its_ballot_is_over(database_url, redis_url):
    with balloting(database_url, redis_url, {"ann": seats("nowhere")}) as held:
        change_event(database_url, EventState.CLOSED)
        held.decide()
        assert held.owner.query(ON_SALE, 10) == [(held.owner.event_id, SLUG)]
        held.run()
        held.check()
        assert held.owner.query(ON_SALE, 10) == []


def test_a_ballot_without_wishes_is_over_at_once(database_url, redis_url):
    with balloting(database_url, redis_url, {}) as held:
        assert held.keeper()() is None
        held.check()


def test_nothing_is_appended_before_the_draw_and_after_the_end(database_url, redis_url):
    with balloting(database_url, redis_url, {"ann": best(1)}) as held:
        held.owner.query_nothing("UPDATE room SET drawn_at = NULL")
        before = held.owner.redis.xlen(stream_key(SLUG))
        assert held.keeper()() is None
        assert held.owner.redis.xlen(stream_key(SLUG)) == before
        held.owner.query_nothing("UPDATE room SET drawn_at = now()")
        held.run()
        trimmed = held.owner.redis.xlen(stream_key(SLUG))
        assert held.keeper()() is None
        assert held.owner.redis.xlen(stream_key(SLUG)) == trimmed


def test_who_left_the_line_in_time_gets_nothing(held):
    for buyer in ("b1", "b2", "b3"):
        held.owner.conn.execute(entering.LEAVE, {"event": held.owner.event_id, "buyer": buyer})
    held.run()
    held.check()
    assert not {"b1", "b2", "b3"} & {buyer for buyer, _ in held.decided()}


def test_an_event_without_a_room_owes_nothing(database_url, redis_url):
    with owner_of(database_url, redis_url) as owner:
        keeps = sweeps.BallotKeeper(owner.event_id, owner.arrivals)
        assert keeps(owner.conn) is None


def test_what_is_decided_is_found_however_many_are(database_url, monkeypatch):
    """Beyond the few that are looked up one by one."""
    begin(database_url, {f"b{n}": best(1) for n in range(3)})
    monkeypatch.setattr(ballot, "UNDECIDED_NEAR", f"SELECT NULL, {ballot.NEAR_MAX}")
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("SET enable_seqscan = off")
        found = ballot.first_undecided(conn, 1)
        assert found is not None
        assert found.position == 1
        assert conn.execute("SHOW enable_seqscan").fetchall() == [("off",)], (
            "settings stay in their transaction"
        )
