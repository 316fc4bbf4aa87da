"""Events: made whole, changed by one operator at a time, and every change told to the allocator."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import msgspec
import psycopg
import pytest
from msgspec.structs import replace

from store import events, opening
from store.audit import Said
from store.errors import BadRequest, Conflicted, NotFound, Unavailable
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState, Policy

DRAFT, LOBBY, OPEN, PAUSED, CLOSED = EventState
ROUTES = {
    DRAFT: [],
    LOBBY: [LOBBY],
    OPEN: [OPEN],
    PAUSED: [OPEN, PAUSED],
    CLOSED: [OPEN, CLOSED],
}
ALLOWED = {
    (DRAFT, LOBBY), (DRAFT, OPEN), (LOBBY, OPEN),
    (OPEN, PAUSED), (OPEN, CLOSED), (PAUSED, OPEN), (PAUSED, CLOSED),
}  # fmt: skip


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def plan():
    return make("arena", 200, standing=500)


@pytest.fixture
def event(conn, plan):
    return events.create_event(conn, "gig", "The gig", save_venue(conn, "arena", plan), plan)


def facts(conn):
    """The policies the allocator will consume, in order; consumed by reading."""
    rows = conn.execute("DELETE FROM fact WHERE kind = 'policy' RETURNING id, body::text").fetchall()
    return [msgspec.json.decode(body, type=Policy) for _, body in sorted(rows)]


def add_hold(conn, event, hold_id, *, state="active", expires_in_seconds=60.0):
    conn.execute(
        "INSERT INTO hold (event_id, hold_id, buyer, request_id, state, quantity, expires_at, paid_at) VALUES"
        " (%s, %s, 'b', 'r', %s, 1, clock_timestamp() + make_interval(secs => %s),"
        " CASE WHEN %s = 'paid' THEN now() END)",
        (event, hold_id, state, expires_in_seconds, state),
    )


def expiries(conn):
    return dict(conn.execute("SELECT hold_id, expires_at FROM hold").fetchall())


# making


def test_a_new_event_has_a_row_for_every_seat_and_area(conn, event, plan):
    count = (
        "SELECT count(*), min(seat_no), max(seat_no) FROM seat WHERE event_id = %s AND state = 'available'"
    )
    assert conn.execute(count, [event]).fetchone() == (200, 0, 199)
    areas = conn.execute("SELECT area_no, capacity FROM area WHERE event_id = %s", [event]).fetchall()
    assert areas == [(number, area.capacity) for number, area in enumerate(plan.areas)]
    for table in ("event_cursor", "lease"):
        assert conn.execute(f"SELECT count(*) FROM {table} WHERE event_id = %s", [event]).fetchone() == (1,)
    assert events.get_event(conn, "gig").state is DRAFT


def test_the_first_policy_is_told_to_the_allocator_too(conn, event):
    assert facts(conn) == [Policy(state=DRAFT, hold_ttl_seconds=480, seats_per_buyer_max=8)]


def test_the_seat_table_has_statistics_at_once(conn, event):
    assert conn.execute("SELECT reltuples FROM pg_class WHERE relname = 'seat'").fetchone() == (200.0,)


def test_two_events_of_one_venue_are_apart(conn, event, plan):
    other = events.create_event(conn, "gig-2", "Again", save_venue(conn, "arena", plan), plan)
    assert other != event
    assert conn.execute("SELECT count(*) FROM seat").fetchone() == (400,)
    assert [listed.slug for listed in events.list_events(conn)] == ["gig-2", "gig"]


def test_a_plan_without_seats_and_one_without_areas_can_be_sold(conn):
    for slug, plan in (("standing", make("hall", 0, standing=50)), ("seated", make("theatre", 20))):
        events.create_event(conn, slug, slug, save_venue(conn, slug, plan), plan)
    assert conn.execute("SELECT count(*) FROM seat").fetchone() == (20,)


def test_a_slug_is_taken_once_and_nothing_of_the_second_stays(conn, event, plan):
    with pytest.raises(Conflicted, match="'gig'") as refused:
        events.create_event(conn, "gig", "Other", save_venue(conn, "arena", plan), plan)
    assert refused.value.code == "event_exists"
    assert conn.execute("SELECT count(*) FROM seat").fetchone() == (200,)


@pytest.mark.parametrize(
    "changed",
    [
        {"slug": ""}, {"slug": "A"}, {"slug": "a b"}, {"slug": "{a}"}, {"slug": "-a"}, {"slug": "a" * 65},
        {"slug": "a\n"}, {"name": " "}, {"name": "n" * 201}, {"name": "a\0b"}, {"hold_ttl_seconds": 0},
        {"hold_ttl_seconds": 86_401}, {"seats_per_buyer_max": 0}, {"seats_per_buyer_max": 1001},
        {"opens_at": datetime(2031, 1, 1)},  # noqa: DTZ001 - without an offset on purpose
    ],
)  # fmt: skip
def test_values_out_of_bounds_are_refused_by_name(conn, plan, changed):
    values = {"slug": "gig", "name": "Gig", "venue_id": 1, "plan": plan} | changed
    with pytest.raises(BadRequest, match=next(iter(changed))):
        events.create_event(conn, **values)


def test_an_event_needs_a_venue(conn, plan):
    with pytest.raises(NotFound, match="venue 77"):
        events.create_event(conn, "gig", "Gig", 77, plan)


def test_the_longest_slug_fits(conn, plan):
    slug = "a" * 64
    events.create_event(conn, slug, "Gig", save_venue(conn, slug, plan), plan)
    assert events.get_event(conn, slug).slug == slug


# changing the state


@pytest.mark.parametrize("before", list(EventState))
@pytest.mark.parametrize("to", list(EventState))
def test_only_the_transitions_of_the_design_are_allowed(conn, event, before, to):
    for step in ROUTES[before]:
        events.set_state(conn, "gig", step)
    facts(conn)
    if (before, to) in ALLOWED:
        changed = events.set_state(conn, "gig", to)
        assert changed == events.get_event(conn, "gig")
        assert changed.state is to
        assert [policy.state for policy in facts(conn)] == [to]
    else:
        with pytest.raises(Conflicted, match=f"is {before}") as refused:
            events.set_state(conn, "gig", to)
        assert refused.value.code == "event_state"
        assert facts(conn) == []
        assert events.get_event(conn, "gig").state is before


def test_a_refused_change_says_what_is_allowed(conn, event):
    with pytest.raises(Conflicted, match="it can become lobby or open"):
        events.set_state(conn, "gig", PAUSED)
    for step in (OPEN, CLOSED):
        events.set_state(conn, "gig", step)
    with pytest.raises(Conflicted, match="closed already; that is final"):
        events.set_state(conn, "gig", CLOSED)


def test_an_unknown_event_is_not_found(conn):
    for change in (
        lambda: events.set_state(conn, "none", OPEN),
        lambda: events.set_policy(conn, "none", fast_gate=True),
        lambda: events.get_event(conn, "none"),
        lambda: events.load_policy(conn, 99),
    ):
        with pytest.raises(NotFound):
            change()


def test_running_holds_get_exactly_the_lost_time_back(conn, event):
    events.set_state(conn, "gig", OPEN)
    add_hold(conn, event, 1)
    add_hold(conn, event, 2, expires_in_seconds=7200.000001)
    add_hold(conn, event, 3, expires_in_seconds=-5)  # over before the pause
    add_hold(conn, event, 4, state="paid")
    add_hold(conn, event, 5, state="released")
    before = expiries(conn)
    events.set_state(conn, "gig", PAUSED)
    paused = facts(conn)[-1]
    assert paused == events.load_policy(conn, event)
    assert paused.paused_at is not None
    events.set_state(conn, "gig", OPEN)
    resumed = facts(conn)[-1]
    assert resumed.paused_at is None
    assert resumed.holds_extended_us > 0
    lost = timedelta(microseconds=resumed.holds_extended_us)
    assert expiries(conn) == before | {1: before[1] + lost, 2: before[2] + lost}


@pytest.mark.parametrize("days", [0, 3, 400])
def test_long_pauses_are_given_back_to_the_microsecond(conn, event, days):
    for step in (OPEN, PAUSED):
        events.set_state(conn, "gig", step)
    paused_at = datetime.now(UTC) - timedelta(days=days, microseconds=123_457)
    conn.execute("UPDATE event SET paused_at = %s", [paused_at])
    add_hold(conn, event, 1, expires_in_seconds=-0.01)  # ran at the pause, is over by the clock
    before = expiries(conn)[1]
    events.set_state(conn, "gig", OPEN)
    lost = timedelta(microseconds=facts(conn)[-1].holds_extended_us)
    assert expiries(conn)[1] - before == lost >= timedelta(days=days, microseconds=123_457)


def test_closing_a_paused_event_gives_the_time_back_too(conn, event):
    for step in (OPEN, PAUSED):
        events.set_state(conn, "gig", step)
    add_hold(conn, event, 1)
    before = expiries(conn)[1]
    assert events.set_state(conn, "gig", CLOSED).paused_at is None
    lost = facts(conn)[-1].holds_extended_us
    assert expiries(conn)[1] - before == timedelta(microseconds=lost)


def test_holds_of_other_events_keep_their_time(conn, event, plan):
    other = events.create_event(conn, "other", "Other", save_venue(conn, "arena", plan), plan)
    add_hold(conn, other, 1)
    before = expiries(conn)
    for step in (OPEN, PAUSED, OPEN):
        events.set_state(conn, "gig", step)
    assert expiries(conn) == before


# policy


def test_a_new_policy_is_whole_and_told_once(conn, event):
    facts(conn)
    changed = events.set_policy(conn, "gig", hold_ttl_seconds=90)
    assert (changed.hold_ttl_seconds, changed.seats_per_buyer_max) == (90, 8)
    events.set_policy(conn, "gig", seats_per_buyer_max=4)
    first = Policy(state=DRAFT, hold_ttl_seconds=90, seats_per_buyer_max=8)
    assert facts(conn) == [first, replace(first, seats_per_buyer_max=4)]


def test_the_fast_gate_is_no_part_of_decisions(conn, event):
    facts(conn)
    assert events.set_policy(conn, "gig", fast_gate=False).fast_gate is False
    assert facts(conn) == []


def test_a_policy_out_of_bounds_changes_nothing(conn, event):
    facts(conn)
    with pytest.raises(BadRequest, match="hold_ttl_seconds"):
        events.set_policy(conn, "gig", hold_ttl_seconds=0, fast_gate=False)
    assert events.get_event(conn, "gig").fast_gate is True
    assert facts(conn) == []


def test_a_policy_of_a_paused_event_keeps_its_pause(conn, event):
    for step in (OPEN, PAUSED):
        events.set_state(conn, "gig", step)
    before = facts(conn)[-1]
    events.set_policy(conn, "gig", hold_ttl_seconds=90)
    assert facts(conn) == [replace(before, hold_ttl_seconds=90)]


def test_a_policy_is_changed_only_where_it_is_what_was_seen(conn, event):
    anna, bob = Said("anna", "late trains"), Said("bob", "in the console")
    events.set_policy(conn, "gig", anna, limits={"A": 2}, starts_at=datetime(2031, 5, 1, tzinfo=UTC))
    moment = datetime(2031, 5, 1, 0, 0, 0, 900, tzinfo=UTC)
    seen = {"hold_ttl_seconds": 480, "limits": {"A": 2}, "starts_at": moment}
    assert events.set_policy(conn, "gig", bob, seen=seen, hold_ttl_seconds=300).hold_ttl_seconds == 300
    facts(conn)
    others: list[dict[str, object]] = [{"hold_ttl_seconds": 480}, {"limits": {}}, {"starts_at": None}]
    for other in others:
        with pytest.raises(Conflicted, match=f"meanwhile by .*{next(iter(other))} is") as refused:
            events.set_policy(
                conn, "gig", bob, seen=seen | {"hold_ttl_seconds": 300} | other, fast_gate=False
            )
        assert refused.value.code == "event_changed"
        assert ("by bob" in str(refused.value)) == ("hold_ttl_seconds" in other)
    assert events.get_event(conn, "gig").fast_gate is True
    assert facts(conn) == []


# at once


def at_once(database_url, *changes):
    """Runs each change on a connection of its own, started together; returns results and errors."""
    outcomes: list[object] = []
    start = threading.Barrier(len(changes))

    def run(change):
        with psycopg.connect(database_url, autocommit=True) as connection:
            start.wait()
            try:
                outcomes.append(change(connection))
            except Exception as error:
                outcomes.append(error)

    threads = [threading.Thread(target=run, args=(change,)) for change in changes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_of_two_operators_who_pause_at_once_one_is_told_it_is_paused(conn, database_url, event):
    events.set_state(conn, "gig", OPEN)
    facts(conn)
    outcomes = at_once(database_url, *[lambda c: events.set_state(c, "gig", PAUSED)] * 4)
    refused = [outcome for outcome in outcomes if isinstance(outcome, Conflicted)]
    assert len(refused) == 3
    assert all("paused already" in str(error) for error in refused)
    assert [policy.state for policy in facts(conn)] == [PAUSED]


def test_two_who_resume_at_once_extend_holds_once(conn, database_url, event):
    for step in (OPEN, PAUSED):
        events.set_state(conn, "gig", step)
    add_hold(conn, event, 1)
    before = expiries(conn)[1]
    facts(conn)
    at_once(database_url, *[lambda c: events.set_state(c, "gig", OPEN)] * 4)
    told = facts(conn)
    assert len(told) == 1
    assert expiries(conn)[1] - before == timedelta(microseconds=told[0].holds_extended_us)


def test_two_policies_at_once_both_count(conn, database_url, event):
    facts(conn)
    at_once(
        database_url,
        lambda c: events.set_policy(c, "gig", hold_ttl_seconds=90),
        lambda c: events.set_policy(c, "gig", seats_per_buyer_max=4),
    )
    last = facts(conn)[-1]
    assert (last.hold_ttl_seconds, last.seats_per_buyer_max) == (90, 4)


def test_two_events_of_one_slug_at_once_are_one(conn, database_url, event, plan):
    venue = save_venue(conn, "arena", plan)
    outcomes = at_once(database_url, *[lambda c: events.create_event(c, "new", "New", venue, plan)] * 3)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Conflicted", "Conflicted", "int"]


def test_resuming_waits_for_the_batch_under_way_and_extends_its_holds(conn, database_url, event):
    for step in (OPEN, PAUSED):
        events.set_state(conn, "gig", step)
    facts(conn)
    with psycopg.connect(database_url) as batch:
        batch.execute("UPDATE event_cursor SET batch_no = batch_no + 1 WHERE event_id = %s", [event])
        add_hold(batch, event, 1)
        before = expiries(batch)[1]
        resumed = threading.Thread(
            target=lambda: at_once(database_url, lambda c: events.set_state(c, "gig", OPEN))
        )
        resumed.start()
        waiting = (
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        while conn.execute(waiting).fetchone() == (0,):
            pass
        batch.commit()
        resumed.join()
    lost = timedelta(microseconds=facts(conn)[-1].holds_extended_us)
    assert expiries(conn)[1] == before + lost


def test_an_operator_does_not_wait_for_ever(conn, database_url, event, monkeypatch):
    monkeypatch.setattr(events, "LOCK_WAIT_SECONDS_MAX", 0.05)
    with psycopg.connect(database_url) as other:
        other.execute("SELECT 1 FROM event FOR UPDATE")
        with pytest.raises(Unavailable, match="nothing was changed"):
            events.set_state(conn, "gig", OPEN)


def test_a_change_belongs_to_its_callers_transaction(conn, event):
    with conn.transaction(force_rollback=True):
        events.set_state(conn, "gig", OPEN)
    assert events.get_event(conn, "gig").state is DRAFT
    assert [policy.state for policy in facts(conn)] == [DRAFT]


# venues


def test_a_venue_is_found_by_its_slug(conn, event, plan):
    assert events.find_venue(conn, "arena")[1] == plan


def test_an_unknown_venue_names_those_there_are(conn, plan):
    with pytest.raises(NotFound, match="Import or make one"):
        events.find_venue(conn, "x")
    save_venue(conn, "arena", plan)
    with pytest.raises(NotFound, match="There are: arena"):
        events.find_venue(conn, "x")


# opening by schedule


def scheduled(conn, plan, in_seconds, *steps):
    """An event that opens by itself, that many seconds from now; its facts so far are consumed."""
    opens_at = datetime.now(UTC) + timedelta(seconds=in_seconds)
    event = events.create_event(conn, "gig", "Gig", save_venue(conn, "arena", plan), plan, opens_at=opens_at)
    for step in steps:
        events.set_state(conn, "gig", step)
    facts(conn)
    return event


@pytest.mark.parametrize("steps", [(), (LOBBY,)], ids=["draft", "lobby"])
def test_an_event_whose_time_has_come_opens_once_and_tells_the_allocator(conn, plan, steps):
    event = scheduled(conn, plan, -1, *steps)
    assert opening.open_when_due(conn, event) == 0
    assert events.get_event(conn, "gig").state is OPEN
    assert facts(conn) == [events.load_policy(conn, event)]
    assert opening.open_when_due(conn, event) is None
    assert facts(conn) == []


def test_before_its_time_an_event_stays_as_it_is_and_says_how_long(conn, plan):
    event = scheduled(conn, plan, 3600)
    left_us = opening.open_when_due(conn, event)
    assert left_us is not None
    assert 3_000_000_000 < left_us <= 3_600_000_000
    assert events.get_event(conn, "gig").state is DRAFT
    assert facts(conn) == []


@pytest.mark.parametrize("to", [PAUSED, CLOSED])
def test_what_an_operator_did_after_the_opening_is_not_overridden(conn, plan, to):
    event = scheduled(conn, plan, -1, OPEN, to)
    assert opening.open_when_due(conn, event) is None
    assert events.get_event(conn, "gig").state is to
    assert facts(conn) == []


def test_an_event_without_a_schedule_waits_for_its_operator(conn, event):
    assert opening.open_when_due(conn, event) is None
    assert events.get_event(conn, "gig").state is DRAFT


def test_an_operator_who_changes_a_due_event_goes_first(conn, database_url, plan):
    event = scheduled(conn, plan, -1)
    with psycopg.connect(database_url) as operator, operator.transaction():
        events.set_state(operator, "gig", LOBBY)
        assert opening.open_when_due(conn, event) == opening.OPENING_LOCKED_US
    assert opening.open_when_due(conn, event) == 0
    assert events.get_event(conn, "gig").state is OPEN


def test_of_many_who_open_a_due_event_at_once_one_does(conn, database_url, plan):
    event = scheduled(conn, plan, -1)
    outcomes = at_once(database_url, *[lambda c: opening.open_when_due(c, event)] * 4)
    assert outcomes.count(0) == 1
    assert [policy.state for policy in facts(conn)] == [OPEN]
