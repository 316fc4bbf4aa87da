"""Categories of one event's seats are moved, before its sale or during it; venue and other events stay."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocator.load import load_layout
from allocator.replay import Finding, verify
from bench.truth import read_truth
from store import audit, blocks, events, lookups
from store.categories import recategorised
from store.errors import Conflicted, NotFound
from store.plan import Plan, check, encode, fingerprint, number
from store.recategorise import recategorise
from store.venues.rows import load_plan, save_venue
from store.words import EventState
from tests.allocator import histories
from tests.allocator.house import Owner, best, entry, plan_of

PLAN = plan_of()
SAID = audit.said("Olga", "the pillar")


@given(histories.plans(), st.data())
def test_blocks_are_cut_as_if_the_plan_had_been_made_so_and_back_again(plan: Plan, data):
    drawn = st.lists(st.integers(0, 1), min_size=len(plan.seats), max_size=len(plan.seats))
    seats, areas = data.draw(drawn), [1 - area.category for area in plan.areas]
    moved = recategorised(plan, seats, areas)
    check(moved)
    made = number(
        plan.name,
        plan.currency,
        plan.categories,
        plan.sections,
        moved.seats,
        moved.areas,
        focal=(plan.focal_x, plan.focal_y),
        size=(plan.width, plan.height),
    )
    assert moved == made
    assert [area.category for area in moved.areas] == areas
    old = [seat.category for seat in plan.seats], [area.category for area in plan.areas]
    assert recategorised(plan, *old) == plan


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        for slug in ("gig", "gig-2"):
            events.create_event(connection, slug, slug, save_venue(connection, "house", PLAN), PLAN)
        yield connection


def number_of(conn, slug="gig"):
    return events.get_event(conn, slug).id


def move(conn, category, *seats, areas=(), slug="gig"):
    return recategorise(conn, slug, category, seats, areas, SAID)


def categories(conn, slug="gig"):
    """Of the seats of row A and of the floor, as the allocator decides by."""
    plan = load_layout(conn, number_of(conn, slug)).plan
    row = [plan.categories[seat.category].name for seat in plan.seats if seat.row == "A"]
    return row, plan.categories[plan.areas[0].category].name


def test_seats_and_areas_have_another_category_at_this_event_only(conn):
    made = move(conn, "Silver", "A-1", "A-2", areas=("floor",))
    assert (made.category, made.seats, made.areas) == ("Silver", ["A-1", "A-2"], ["floor"])
    move(conn, "Gold", areas=("floor",))
    assert categories(conn) == (["Silver"] * 2 + ["Gold"] * 8, "Gold")
    assert categories(conn, "gig-2") == (["Gold"] * 10, "Silver")
    assert load_plan(conn, events.get_event(conn, "gig").venue_id) == PLAN
    assert read_truth(conn, "gig").plan == load_layout(conn, number_of(conn)).plan
    conn.autocommit = True
    rows = audit.read(conn, number_of(conn))
    assert [(row.what["category"], row.what["areas"]) for row in rows] == [
        ("Gold", {"floor": 20}),
        ("Silver", {"floor": 20}),
    ]


def test_the_same_again_changes_nothing_and_leaves_no_row(conn):
    first = move(conn, "Silver", "A-1")
    assert move(conn, "Silver", "A-1") == first
    move(conn, "Gold", "A-3")
    assert len(audit.read(conn, number_of(conn))) == 1


def test_gateways_read_the_plan_of_the_event_and_notice_that_it_changed(conn, database_url):
    async def read(slug):
        async with await psycopg.AsyncConnection.connect(database_url) as own:
            row = await lookups.event_by_slug(own, slug)
            text, sha256 = await lookups.plan_text(own, row.id)
            assert await lookups.plan_sha256(own, row.id) == sha256
            return row, text, sha256

    before, _, sha256 = asyncio.run(read("gig"))
    assert before.plan_sha256 == sha256
    move(conn, "Silver", "A-1")
    after, text, sha256 = asyncio.run(read("gig"))
    assert after.plan_sha256 == sha256 != before.plan_sha256
    assert b'["A-1",0,"A","1",1,' in text
    assert asyncio.run(read("gig-2"))[0].plan_sha256 == before.plan_sha256


def test_best_available_and_its_replay_follow_the_moved_categories(conn, database_url, redis_url):
    move(conn, "Silver", *[f"A-{n}" for n in range(1, 6)])
    events.set_state(conn, "gig", EventState.OPEN)
    owner = Owner(database_url, redis_url, number_of(conn), "gig")
    try:
        owner.settle_down()
        asked = [entry("ann", f"r{n}", best(4, category="Gold")) for n in range(2)]
        (_, got), (refused, why) = owner.ask(*asked)
        assert all(seat in got for seat in ("A-7", "A-8", "A-9", "A-10"))
        assert (refused, '"largest":1' in why) == ("sold_out", True)
        found = verify(owner.conn, owner.event_id)
        assert [one for one in found if isinstance(one, Finding)] == []
    finally:
        owner.close()


def facts(conn):
    rows = conn.execute("SELECT body FROM fact WHERE kind = 'recategorised' ORDER BY id").fetchall()
    return [body for (body,) in rows]


def versions(conn):
    return conn.execute(
        "SELECT version, ledger_at, moved FROM event_plan ORDER BY event_id, version"
    ).fetchall()


def begin(conn, state):
    events.set_state(conn, "gig", EventState.OPEN if state is EventState.PAUSED else state)
    if state is EventState.PAUSED:
        events.set_state(conn, "gig", state)


@pytest.mark.parametrize("state", [EventState.LOBBY, EventState.OPEN, EventState.PAUSED])
def test_while_the_sale_runs_each_move_is_a_fact_and_a_plan_of_its_own(conn, state):
    move(conn, "Silver", "A-9")
    begin(conn, state)
    assert move(conn, "Gold", "A-1", "A-9", areas=("floor",)).version == 1
    assert move(conn, "Silver", "A-2").version == 2
    assert facts(conn) == [
        {"version": 1, "category": 0, "seats": [0, 8], "areas": [0]},
        {"version": 2, "category": 1, "seats": [1], "areas": []},
    ]
    assert versions(conn) == [
        (0, None, None),
        (1, None, {"seats": [[0, 0], [8, 1]], "areas": [[0, 1]]}),
        (2, None, {"seats": [[1, 0]], "areas": []}),
    ]
    rows = audit.read(conn, number_of(conn))[:2]
    assert [(one.who, one.what["version"], one.what["seats"]) for one in rows] == [
        ("Olga", 2, ["A-2"]),
        ("Olga", 1, ["A-1", "A-9"]),
    ]


def test_until_a_batch_takes_it_in_everybody_reads_the_plan_before(conn):
    events.set_state(conn, "gig", EventState.OPEN)
    move(conn, "Silver", "A-1")
    assert categories(conn)[0] == ["Gold"] * 10
    conn.execute("UPDATE event_plan SET ledger_at = 65536")
    assert categories(conn)[0][0] == "Silver"


def test_the_same_move_again_changes_nothing_while_the_sale_runs(conn):
    events.set_state(conn, "gig", EventState.OPEN)
    assert [move(conn, "Silver", "A-1").version for _ in range(2)] == [1, 1]
    assert (len(facts(conn)), len(audit.read(conn, number_of(conn)))) == (1, 1)


def test_of_two_operators_who_saw_the_same_plan_the_second_is_told(conn):
    events.set_state(conn, "gig", EventState.OPEN)
    recategorise(conn, "gig", "Silver", ["A-1"], [], SAID, version=0)
    with pytest.raises(Conflicted) as refused:
        recategorise(conn, "gig", "Silver", ["A-2"], [], SAID, version=0)
    assert (refused.value.code, len(facts(conn))) == ("plan_changed", 1)


def test_who_saw_another_plan_of_a_draft_is_told_and_one_that_was_moved_back_is_the_same(conn):
    def move_seen(category, guid, seen):
        return recategorise(conn, "gig", category, [guid], [], SAID, seen=seen)

    seen = fingerprint(encode(PLAN))
    move_seen("Silver", "A-1", seen)
    with pytest.raises(Conflicted) as refused:
        move_seen("Silver", "A-2", seen)
    assert refused.value.code == "plan_changed"
    assert categories(conn)[0] == ["Silver"] + ["Gold"] * 9
    move(conn, "Gold", "A-1")
    assert move_seen("Silver", "A-2", seen).seats == ["A-2"]


def test_moves_at_the_same_time_are_made_one_after_the_other(conn, database_url):
    events.set_state(conn, "gig", EventState.OPEN)

    def move_one(guid):
        with psycopg.connect(database_url, autocommit=True) as own:
            return move(own, "Silver", guid)

    with ThreadPoolExecutor() as pool:
        found = list(pool.map(move_one, [seat.guid for seat in PLAN.seats[:6]]))
    assert sorted(one.version for one in found) == [1, 2, 3, 4, 5, 6]
    conn.execute("UPDATE event_plan SET ledger_at = version")
    assert categories(conn)[0] == ["Silver"] * 6 + ["Gold"] * 4


@pytest.mark.parametrize(
    ("limited", "to", "seats", "areas"),
    [("Silver", "Silver", ["A-1"], []), ("Gold", "Silver", ["A-1"], []), ("Silver", "Gold", [], ["floor"])],
)
def test_what_is_of_a_limited_category_is_settled_when_the_sale_begins(conn, limited, to, seats, areas):
    events.set_policy(conn, "gig", limits={limited: 2})
    events.set_state(conn, "gig", EventState.OPEN)
    with pytest.raises(Conflicted, match=f"{limited} has a limit") as refused:
        move(conn, to, *seats, areas=areas)
    assert (refused.value.code, facts(conn)) == ("category_limited", [])


def test_there_is_a_most_of_moves(conn, monkeypatch):
    monkeypatch.setattr("store.recategorise.VERSIONS_MAX", 2)
    events.set_state(conn, "gig", EventState.OPEN)
    move(conn, "Silver", "A-1")
    move(conn, "Silver", "A-2")
    with pytest.raises(Conflicted) as refused:
        move(conn, "Silver", "A-3")
    assert (refused.value.code, len(facts(conn))) == ("too_many_moves", 2)


def test_once_the_sale_is_over_categories_are_settled(conn):
    events.set_state(conn, "gig", EventState.OPEN)
    events.set_state(conn, "gig", EventState.CLOSED)
    with pytest.raises(Conflicted) as refused:
        move(conn, "Silver", "A-1")
    assert (refused.value.code, facts(conn)) == ("categories_fixed", [])


@pytest.mark.parametrize(("minutes", "version"), [(4, 1), (6, 0)])
@pytest.mark.parametrize("first", ["lobby_opens_at", "opens_at"])
def test_minutes_before_an_event_begins_by_itself_a_move_is_a_fact_too(conn, first, minutes, version):
    conn.execute("UPDATE event SET opens_at = now() + interval '2 hours'")
    conn.execute(f"UPDATE event SET {first} = now() + make_interval(mins => %s)", (minutes,))
    assert (move(conn, "Silver", "A-1").version, len(facts(conn))) == (version, version)


def test_a_draft_that_was_attended_to_before_its_times_were_moved_is_moved_by_facts(conn):
    conn.execute("UPDATE event SET opens_at = now() + interval '2 hours'")
    conn.execute("UPDATE event_cursor SET batch_no = 1")
    assert (move(conn, "Silver", "A-1").version, len(facts(conn))) == (1, 1)


def test_a_draft_that_had_a_fact_goes_on_with_facts(conn):
    conn.execute("UPDATE event SET opens_at = now() + interval '4 minutes'")
    move(conn, "Silver", "A-1")
    conn.execute("UPDATE event SET opens_at = now() + interval '2 hours'")
    assert move(conn, "Silver", "A-2").version == 2


def test_while_the_sale_runs_what_somebody_has_can_be_moved(conn):
    events.set_state(conn, "gig", EventState.OPEN)
    conn.execute("UPDATE seat SET state = 'sold', hold_id = 7 WHERE seat_no = 1")
    conn.execute("UPDATE area SET sold = 1")
    assert move(conn, "Silver", PLAN.seats[1].guid, areas=("floor",)).version == 1


def test_before_the_sale_what_somebody_has_keeps_its_category(conn):
    conn.execute("UPDATE seat SET state = 'sold', hold_id = 7 WHERE seat_no = 1")
    conn.execute("UPDATE area SET sold = 1")
    with pytest.raises(Conflicted) as seat:
        move(conn, "Silver", PLAN.seats[0].guid, PLAN.seats[1].guid)
    with pytest.raises(Conflicted) as area:
        move(conn, "Gold", areas=("floor",))
    assert (seat.value.code, area.value.code) == ("seats_not_free", "places_not_free")
    assert PLAN.seats[1].guid in str(seat.value)
    assert audit.read(conn, number_of(conn)) == []


def test_blocked_seats_and_places_can_be_moved(conn):
    blocks.block(conn, number_of(conn), PLAN, ["A-1"], {"floor": 3}, SAID)
    move(conn, "Silver", "A-1", areas=("floor",))
    assert categories(conn)[0][0] == "Silver"


@pytest.mark.parametrize(
    ("category", "seats", "areas", "code"),
    [
        ("Paper", ["A-1"], [], "unknown_category"),
        ("Silver", ["nowhere"], [], "unknown_seat"),
        ("Silver", [], ["nowhere"], "unknown_area"),
    ],
)
def test_what_the_plan_does_not_have_is_refused(conn, category, seats, areas, code):
    with pytest.raises(NotFound) as refused:
        recategorise(conn, "gig", category, seats, areas, SAID)
    assert refused.value.code == code
