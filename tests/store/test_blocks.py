"""Operators block, unblock and release: all or nothing, what nobody has, with fact, history and audit."""

from __future__ import annotations

import psycopg
import pytest
from msgspec import json

from store import audit, blocks, events, holds
from store.errors import BadRequest, Conflicted, NotFound, Unavailable
from store.venues.rows import save_venue
from store.words import EventState, HoldState
from tests.allocator.waiting import held_up, is_free
from tests.store.test_holds import HOLD, PLAN, change, everything, hold

SAID = audit.said("Olga", "a broken chair")
GUID = [seat.guid for seat in PLAN.seats]
FLOOR = PLAN.areas[0].guid


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def make_event(conn, slug):
    number = events.create_event(conn, slug, slug, save_venue(conn, "arena", PLAN), PLAN)
    events.set_state(conn, slug, EventState.OPEN)
    conn.execute("DELETE FROM fact")
    return number


@pytest.fixture
def event(conn):
    return make_event(conn, "gig")


def block(conn, event, *seats, places=0, said=SAID):
    areas = {FLOOR: places} if places else {}
    return blocks.block(conn, event, PLAN, [GUID[seat] for seat in seats], areas, said)


def unblock(conn, event, *seats, places=0, said=SAID):
    areas = {FLOOR: places} if places else {}
    return blocks.unblock(conn, event, PLAN, [GUID[seat] for seat in seats], areas, said)


def seats_of(conn, event):
    return conn.execute(
        "SELECT seat_no, state FROM seat WHERE event_id = %s AND state <> 'available' ORDER BY 1", (event,)
    ).fetchall()


def places_of(conn):
    return conn.execute("SELECT held, sold, blocked FROM area ORDER BY event_id").fetchall()


def facts_of(conn):
    found = conn.execute("SELECT event_id, kind, hold_id, body::text FROM fact ORDER BY id").fetchall()
    return [(event, kind, hold_id, body and json.decode(body)) for event, kind, hold_id, body in found]


def all_of(conn):
    return everything(conn), places_of(conn), facts_of(conn), audited(conn)


def audited(conn):
    return conn.execute("SELECT event_id, who, why, what FROM audit ORDER BY id").fetchall()


def test_what_is_blocked_is_off_sale_with_fact_history_and_audit(conn, event):
    row = block(conn, event, 4, 2, places=5)
    assert seats_of(conn, event) == [(2, "blocked"), (4, "blocked")]
    assert places_of(conn) == [(0, 0, 5)]
    assert facts_of(conn) == [(event, "blocked", None, {"seats": [2, 4], "areas": [[0, 5]]})]
    assert everything(conn)["history"] == [(2, "blocked", None, "Olga"), (4, "blocked", None, "Olga")]
    what = {"change": "block", "seats": [GUID[2], GUID[4]], "areas": {FLOOR: 5}}
    assert audited(conn) == [(event, "Olga", "a broken chair", what)]
    assert (row.who, row.why, row.what) == ("Olga", "a broken chair", what)


def test_what_is_unblocked_is_on_sale_again(conn, event):
    block(conn, event, 2, 4, places=5)
    unblock(conn, event, 4, places=3)
    assert seats_of(conn, event) == [(2, "blocked")]
    assert places_of(conn) == [(0, 0, 2)]
    assert facts_of(conn)[1:] == [(event, "unblocked", None, {"seats": [4], "areas": [[0, 3]]})]
    assert everything(conn)["history"][-1] == (4, "blocked", None, "Olga")  # by seat, then by state
    assert everything(conn)["history"][-2] == (4, "available", None, "Olga")
    assert audited(conn)[1][3] == {"change": "unblock", "seats": [GUID[4]], "areas": {FLOOR: 3}}


def test_seats_alone_and_places_alone_can_be_blocked(conn, event):
    block(conn, event, 1)
    block(conn, event, places=2)
    assert [fact[3] for fact in facts_of(conn)] == [
        {"seats": [1], "areas": []},
        {"seats": [], "areas": [[0, 2]]},
    ]


def test_a_seat_that_somebody_has_or_that_is_blocked_is_refused_by_name_and_nothing_is_changed(conn, event):
    hold(conn, event, seats=(3,), places=0)
    hold(conn, event, hold_id=HOLD + 1, buyer="bob", seats=(5,), places=0)
    change(conn, holds.confirm, event, "bob", HOLD + 1)
    block(conn, event, 6)
    before = all_of(conn)
    with pytest.raises(Conflicted) as refused:
        block(conn, event, 2, 3, 5, 6)
    assert refused.value.code == "seats_not_free"
    said = str(refused.value)
    for part in (f"{GUID[3]} (held by hold {HOLD})", f"{GUID[5]} (sold by hold", f"{GUID[6]} (blocked)"):
        assert part in said
    assert GUID[2] not in said
    assert all_of(conn) == before


def test_only_blocked_seats_are_unblocked_and_none_if_one_is_not(conn, event):
    block(conn, event, 2)
    hold(conn, event, seats=(3,), places=0)
    before = all_of(conn)
    for other in (3, 4):
        with pytest.raises(Conflicted) as refused:
            unblock(conn, event, 2, other)
        assert refused.value.code == "seats_not_blocked"
        assert GUID[other] in str(refused.value)
    assert all_of(conn) == before


def test_no_more_places_are_blocked_than_are_free(conn, event):
    hold(conn, event, seats=(3,), places=20)
    block(conn, event, places=20)
    before = all_of(conn)
    with pytest.raises(Conflicted, match="has 10 free places, not 11") as refused:
        block(conn, event, 1, places=11)
    assert refused.value.code == "places_not_free"
    assert all_of(conn) == before
    with pytest.raises(Conflicted, match="has 10 free places"):
        block(conn, event, places=10**30)
    block(conn, event, places=10)
    assert places_of(conn) == [(20, 0, 30)]


def test_no_more_places_are_unblocked_than_are_blocked(conn, event):
    hold(conn, event, seats=(3,), places=20)
    block(conn, event, 1, places=5)
    before = all_of(conn)
    with pytest.raises(Conflicted, match="has 5 blocked places, not 6") as refused:
        unblock(conn, event, 1, places=6)
    assert refused.value.code == "places_not_blocked"
    assert all_of(conn) == before
    unblock(conn, event, places=5)
    assert places_of(conn) == [(20, 0, 0)]


def test_seats_and_places_of_another_event_stay_as_they_are(conn, event):
    other = make_event(conn, "gig-2")
    hold(conn, event, seats=(3,), places=2)
    block(conn, other, 2, places=4)
    unblock(conn, other, 2, places=4)
    block(conn, other, 3, places=4)
    assert seats_of(conn, event) == [(3, "held")]
    assert places_of(conn) == [(2, 0, 0), (0, 0, 4)]
    block(conn, event, 4, places=1)
    unblock(conn, other, 3, places=4)
    assert seats_of(conn, event) == [(3, "held"), (4, "blocked")]
    assert places_of(conn) == [(2, 0, 1), (0, 0, 0)]
    with pytest.raises(NotFound):
        blocks.release_hold(conn, other, PLAN, HOLD, SAID)
    assert [len(audit.read(conn, one)) for one in (event, other)] == [1, 4]


@pytest.mark.parametrize(
    ("seats", "areas", "code"),
    [
        ([], {}, "nothing_asked"),
        ([GUID[1], GUID[1]], {}, "seat_twice"),
        (["nowhere"], {}, "unknown_seat"),
        ([GUID[1]], {"nowhere": 1}, "unknown_area"),
        ([GUID[1]], {FLOOR: 0}, "invalid_places"),
        ([GUID[1]], {FLOOR: -3}, "invalid_places"),
        ([f"s{n}" for n in range(blocks.SEATS_MAX + 1)], {}, "too_many_asked"),
    ],
)
@pytest.mark.parametrize("work", [blocks.block, blocks.unblock])
def test_what_the_plan_does_not_have_is_refused(conn, event, work, seats, areas, code):
    with pytest.raises(NotFound if code.startswith("unknown") else BadRequest) as refused:
        work(conn, event, PLAN, seats, areas, SAID)
    assert refused.value.code == code
    assert audited(conn) == []


def test_a_refusal_says_back_a_bounded_part_of_what_was_asked(conn, event):
    with pytest.raises(NotFound, match="and 5 more") as refused:
        block_named(conn, event, [f"{n}" + "x" * 10_000 for n in range(blocks.TOLD_MAX + 5)])
    assert len(str(refused.value)) < 2_000


def block_named(conn, event, guids):
    blocks.block(conn, event, PLAN, guids, {}, SAID)


@pytest.mark.parametrize("who", ["", "  ", "x" * 101, "a\nb", "a\0b", "allocator", "buyer", "expiry"])
def test_who_must_be_an_operators_name(who):
    with pytest.raises(BadRequest) as refused:
        audit.said(who, "because")
    assert refused.value.code == "who_required"


@pytest.mark.parametrize("why", ["", " ", "x" * 201, "a\nb", "a\0b"])
def test_why_must_be_said(why):
    with pytest.raises(BadRequest) as refused:
        audit.said("Olga", why)
    assert refused.value.code == "why_required"


def test_the_longest_name_and_reason_are_kept(conn, event):
    block(conn, event, 1, said=audit.said("ö" * audit.WHO_LENGTH_MAX, "ü" * audit.WHY_LENGTH_MAX))
    assert audited(conn)[0][1:3] == ("ö" * 100, "ü" * 200)


# --- each guard alone: what the others keep from coming about ---


def looks_only(monkeypatch):
    """The look at the locked rows finds nothing wrong, so that the writes stand alone."""
    monkeypatch.setattr(blocks, "_refuse_seats", lambda *_: None)
    monkeypatch.setattr(blocks, "_refuse_places", lambda *_: None)


def test_a_change_that_turned_too_few_is_undone_and_alarms(conn, event, monkeypatch):
    looks_only(monkeypatch)
    hold(conn, event, seats=(3,), places=20)
    before = all_of(conn)
    for attempt in (lambda: block(conn, event, 2, 3, places=1), lambda: block(conn, event, 2, places=31)):
        with pytest.raises(AssertionError, match="are locked and were looked at"):
            attempt()
        assert all_of(conn) == before


def test_each_statement_stands_alone_against_a_seat_that_is_not_as_it_must_be(conn, event):
    hold(conn, event, seats=(3,), places=0)
    values = {"event": event, "seats": [2, 3], "was": "available", "becomes": "blocked", "who": "Olga"}
    with pytest.raises(
        psycopg.errors.CheckViolation
    ):  # a blocked seat names no hold: the last line of defence
        conn.execute("UPDATE seat SET state = 'blocked' WHERE seat_no = 3")
    assert conn.execute(blocks.TURN_SEATS, values).rowcount == 1
    assert seats_of(conn, event) == [(2, "blocked"), (3, "held")]


@pytest.mark.parametrize(("places", "moved"), [(31, 0), (30, 1), (-6, 0), (-5, 1)])
def test_each_statement_stands_alone_against_an_area_that_is_not_as_it_must_be(conn, event, places, moved):
    hold(conn, event, seats=(3,), places=15)
    block(conn, event, places=5)
    values = {"event": event, "areas": [0], "quantities": [places]}
    assert conn.execute(blocks.MOVE_PLACES, values).rowcount == moved


# --- release ---


def test_a_hold_that_an_operator_releases_frees_all_it_had(conn, event):
    hold(conn, event)
    hold(conn, event, hold_id=HOLD + 1, seats=(5,), places=3)
    assert blocks.release_hold(conn, event, PLAN, HOLD, SAID).state is HoldState.RELEASED
    assert everything(conn) == {
        "hold": [("released",), ("active",)],
        "seats": [(5, "held", HOLD + 1)],
        "hold_seat": [(5, HOLD + 1)],
        "area": [(3, 0)],
        "hold_area": [(HOLD + 1, 3)],
        "facts": [("released", HOLD)],
        "history": [(3, "available", HOLD, "Olga"), (4, "available", HOLD, "Olga")],
    }
    had = {"buyer": "ann", "seats": [GUID[3], GUID[4]], "areas": {FLOOR: 2}}
    assert audited(conn) == [
        (event, "Olga", "a broken chair", {"change": "release", "hold": str(HOLD), **had})
    ]


def test_releasing_again_gives_the_same_answer_and_changes_nothing(conn, event):
    hold(conn, event)
    blocks.release_hold(conn, event, PLAN, HOLD, SAID)
    before = all_of(conn)
    assert blocks.release_hold(conn, event, PLAN, HOLD, SAID).state is HoldState.RELEASED
    assert all_of(conn) == before


def test_what_ran_out_is_told_and_an_order_or_no_hold_is_refused(conn, event):
    hold(conn, event, places=0)
    hold(conn, event, hold_id=HOLD + 1, seats=(5,), places=0)
    change(conn, holds.confirm, event, hold_id=HOLD + 1)
    conn.execute("UPDATE hold SET state = 'expired' WHERE hold_id = %s", (HOLD,))
    before = all_of(conn)
    assert blocks.release_hold(conn, event, PLAN, HOLD, SAID).state is HoldState.EXPIRED
    with pytest.raises(Conflicted) as refused:
        blocks.release_hold(conn, event, PLAN, HOLD + 1, SAID)
    assert refused.value.code == "hold_paid"
    with pytest.raises(NotFound) as unknown:
        blocks.release_hold(conn, event, PLAN, 10**18, SAID)
    assert unknown.value.code == "hold_not_found"
    assert all_of(conn) == before


def test_a_hold_whose_seats_do_not_add_up_is_left_alone_and_alarms(conn, event):
    hold(conn, event)
    conn.execute("UPDATE seat SET state = 'blocked', hold_id = NULL WHERE seat_no = 3")
    before = all_of(conn)
    with pytest.raises(AssertionError, match="counts 4 but 3"):
        blocks.release_hold(conn, event, PLAN, HOLD, SAID)
    assert all_of(conn) == before


# --- locks ---


def locking(rows):
    return f"SELECT 1 {rows} FOR UPDATE"


@pytest.mark.parametrize("work", [block, unblock])
def test_seats_are_locked_by_number_and_before_places(conn, event, database_url, work):
    if work is unblock:
        block(conn, event, 2, 4, places=3)
    first = "FROM seat WHERE seat_no = 2"
    with held_up(database_url, locking(first), lambda: work(conn, event, 4, 2, places=3)) as other:
        assert is_free(other, "FROM seat WHERE seat_no = 4")
        assert is_free(other, "FROM area")
    assert len(audited(conn)) == (1 if work is block else 2)


def test_a_released_hold_is_locked_before_its_seats_and_they_before_its_places(conn, event, database_url):
    hold(conn, event)
    hold(conn, event, hold_id=HOLD + 1, seats=(5, 6))

    def release(hold_id):
        return lambda: blocks.release_hold(conn, event, PLAN, hold_id, SAID)

    with held_up(database_url, locking(f"FROM hold WHERE hold_id = {HOLD}"), release(HOLD)) as other:
        assert is_free(other, "FROM seat WHERE seat_no = 3")
        assert is_free(other, "FROM area")
    with held_up(database_url, locking("FROM seat WHERE seat_no = 5"), release(HOLD + 1)) as other:
        assert is_free(other, "FROM seat WHERE seat_no = 6")
        assert is_free(other, "FROM area")
    assert [row[0] for row in everything(conn)["hold"]] == ["released"] * 2


def test_a_lock_held_for_long_is_waited_for_a_bounded_time(conn, event, database_url, monkeypatch):
    monkeypatch.setattr(blocks, "LOCK_WAIT_MS_MAX", 20)
    with psycopg.connect(database_url) as other:
        other.execute("SELECT 1 FROM seat WHERE seat_no = 3 FOR UPDATE")
        with pytest.raises(Unavailable, match="nothing was changed"):
            block(conn, event, 3)
    assert audited(conn) == []


@pytest.mark.parametrize("release", [False, True])
def test_no_lock_is_waited_for_longer_than_the_bound(conn, event, monkeypatch, release):
    hold(conn, event)
    waits = []
    write = audit.write

    def looks(*args):
        waits.append(conn.execute("SELECT current_setting('lock_timeout')").fetchone()[0])
        return write(*args)

    monkeypatch.setattr(audit, "write", looks)
    monkeypatch.setattr(blocks, "LOCK_WAIT_MS_MAX", 777)
    if release:
        blocks.release_hold(conn, event, PLAN, HOLD, SAID)
    else:
        block(conn, event, 9)
    assert waits == ["777ms"]


@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (psycopg.errors.DeadlockDetected, blocks.TRIES_MAX),
        (psycopg.errors.SerializationFailure, blocks.TRIES_MAX),
        (psycopg.errors.LockNotAvailable, blocks.TRIES_MAX),
        (psycopg.errors.CheckViolation, 1),
    ],
)
def test_only_what_may_be_retried_is_retried_and_three_times(conn, event, monkeypatch, error, tries):
    tried = []

    def fails(*_args):
        tried.append(1)
        raise error("as in life")

    monkeypatch.setattr(audit, "write", fails)
    with pytest.raises(error if tries == 1 else Unavailable):
        block(conn, event, 3)
    assert len(tried) == tries
    assert seats_of(conn, event) == []
    assert facts_of(conn) == []


def test_audit_is_read_newest_first_in_pages(conn, event):
    for seat in range(4):
        block(conn, event, seat)
    newest = audit.read(conn, event, limit=2)
    assert [row.what["seats"] for row in newest] == [[GUID[3]], [GUID[2]]]
    older = audit.read(conn, event, before=newest[-1].id)
    assert [row.what["seats"] for row in older] == [[GUID[1]], [GUID[0]]]
    assert newest[0].at >= newest[1].at


def test_seats_are_found_by_key(conn, event):
    with conn.transaction():
        conn.execute("SET LOCAL enable_seqscan = off")  # which a table of six seats would rather have
        plan = conn.execute("EXPLAIN " + blocks.LOCK_SEATS, {"event": event, "seats": [3, 4]}).fetchall()
    assert any("Index Cond" in line and "seat_no = ANY" in line for (line,) in plan), plan
