"""The fast gate refuses who describes seats of which nothing is left, and nobody else."""

from __future__ import annotations

import random

import psycopg
import pytest

from gateway.gate import HELD_BEYOND_NOW_US, NoneLeft, Seats
from gateway.stock import AVAILABLE, HELD, STALE_MAX, WISHES_MAX
from store import events
from store.lookups import SeatMap
from store.plan import Area, Category, Seat, Section, number
from store.wire import Delta
from store.words import Best, EventState, Micros, Want
from tests.gateway.rig import EVENT, SEATS, StandIn, gateway, make_event, scenario, until

NOW = 1_000_000_000
FAR = NOW + HELD_BEYOND_NOW_US + 1_000_000
SOON = NOW + HELD_BEYOND_NOW_US
GOLD, SILVER = Category("Gold", 9000, "EUR", "#aa8800"), Category("Silver", 5000, "EUR", "#888888")


def house():
    """Stalls: four Gold (0 to 3), two Silver, of which 5 is a wheelchair place; Circle: two Silver."""
    row = [Seat(f"A-{n}", 0, "A", str(n), 0, float(n), 1.0) for n in range(4)]
    row += [Seat(f"B-{n}", 0, "B", str(n), 1, float(n), 2.0, accessible=n == 1) for n in range(2)]
    row += [Seat(f"C-{n}", 1, "C", str(n), 1, float(n), 3.0) for n in range(2)]
    areas = [Area("floor", "Floor", 0, 5, 0, 0, 1, 1), Area("bar", "Bar", 0, 5, 0, 0, 1, 1)]
    sections = [Section("Stalls"), Section("Circle")]
    return number("House", "EUR", [GOLD, SILVER], sections, row, areas, focal=(2.0, 0.0), size=(9.0, 5.0))


def seats(states, held=(), areas=(5, 5), places=()):
    made = Seats(house())
    assert [one.guid for one in house().seats][4:] == ["B-0", "B-1", "C-0", "C-1"]
    made.load(SeatMap(7, Micros(NOW), states, list(held), list(areas), list(places)))
    return made


GONE = {
    "sold": seats("ssssaaaa"),
    "blocked": seats("bbbbaaaa"),
    "held well beyond now": seats("hhhhaaaa", [(no, FAR) for no in range(4)]),
}


@pytest.mark.parametrize("why", GONE)
def test_who_describes_what_is_gone_is_refused(why):
    assert GONE[why].none_left(Want(best=Best(1, category="Gold")), NOW)
    assert GONE[why].none_left(Want(best=Best(2, price_min=9000)), NOW)
    assert GONE[why].none_left(Want(best=(Best(1), Best(1, "Stalls", "Gold"))), NOW)


@pytest.mark.parametrize(
    "best",
    [
        Best(4),
        Best(4, section="Stalls"),
        Best(4, category="Silver"),
        Best(4, price_max=5000),
        Best(4, "Circle"),
    ],
)
def test_who_describes_what_is_free_is_queued_however_many_they_are(best):
    assert GONE["sold"].none_left(Want(best=best), NOW) is None


@pytest.mark.parametrize(
    ("states", "best"),
    [
        ("aaaaaass", Best(1, section="Circle")),
        ("ssssaaaa", Best(1, category="Gold")),
        ("ssssaaaa", Best(1, price_min=5001)),
        ("aaaassss", Best(1, price_max=8999)),
    ],
)
def test_only_what_a_party_describes_counts(states, best):
    assert seats(states).none_left(Want(best=best), NOW) == NoneLeft(0, None)
    assert seats("a" * 8).none_left(Want(best=best), NOW) is None


def test_a_hold_that_ends_soon_may_come_back_in_time():
    ends = [(0, FAR), (1, FAR), (2, SOON), (3, FAR)]
    assert seats("hhhhssss", ends).none_left(Want(best=Best(1)), NOW) is None
    assert seats("hhhhssss", ends).none_left(Want(best=Best(1)), NOW - 1) == NoneLeft(4, SOON // 1000)


def test_a_refusal_counts_what_is_held_of_what_was_described_and_says_until_when():
    left = seats("hhsshsss", [(0, FAR + 9_000_000), (1, FAR), (4, FAR - 500_000)])
    assert left.none_left(Want(best=Best(1, category="Gold")), NOW) == NoneLeft(2, FAR // 1000)
    assert left.none_left(Want(best=Best(1)), NOW) == NoneLeft(3, (FAR - 500_000) // 1000)
    assert left.none_left(Want(best=Best(1, "Circle")), NOW) == NoneLeft(0, None)
    assert left.first_end_ms() == (FAR - 500_000) // 1000
    assert seats("s" * 8).first_end_ms() is None


def test_accessible_places_are_counted_for_who_asks_for_them_only():
    left = seats("sssssass")
    assert left.none_left(Want(best=Best(1)), NOW) == NoneLeft(0, None)
    assert left.none_left(Want(best=Best(1, accessible=1)), NOW) is None


@pytest.mark.parametrize(
    "want",
    [
        Want(best=Best(1, section="Attic")),
        Want(best=Best(1, "Circle", "Gold")),
        Want(best=(Best(1), Best(1, category="Paper"))),
        Want(best=Best(1), areas={"cellar": 1}),
    ],
)
def test_what_the_plan_has_not_is_left_to_the_decision(want):
    assert seats("s" * 8, areas=(0, 0)).none_left(want, NOW) is None


def test_places_are_gone_when_none_is_free_and_none_held_there_ends_soon():
    floor = Want(areas={"floor": 1})
    assert seats("a" * 8, areas=(0, 5)).none_left(floor, NOW) == NoneLeft(0, None)
    assert seats("a" * 8, areas=(1, 0)).none_left(floor, NOW) is None
    held = seats("a" * 8, areas=(0, 0), places=[(0, FAR), (0, FAR + 5_000_000), (1, NOW)])
    assert held.none_left(floor, NOW) == NoneLeft(0, FAR // 1_000_000 * 1000)
    assert held.none_left(Want(areas={"bar": 1}), NOW) is None
    assert held.none_left(Want(best=Best(1), areas={"floor": 1}), NOW)


def test_a_hold_of_places_is_forgotten_once_a_batch_after_its_end_was_decided():
    left = seats("a" * 8, areas=(0, 0))
    floor = Want(areas={"floor": 1})
    left.apply(Delta(8, NOW, [], [], [], [(0, 0)], places_held=[(0, SOON)]))
    assert left.none_left(floor, NOW) is None
    left.apply(Delta(9, SOON, [], [], [], []))
    assert left.none_left(floor, SOON) is None
    left.apply(Delta(10, SOON + 1_000_000, [], [], [], []))
    assert left.none_left(floor, SOON + 1_000_000) == NoneLeft(0, None)


def test_what_a_batch_frees_holds_extends_or_sells_is_counted_at_once():
    left = seats("s" * 8)
    gold = Want(best=Best(1, category="Gold"))
    left.apply(Delta(8, NOW, [(1, SOON)], [0, 1], [], []))
    assert left.none_left(gold, NOW) is None
    left.apply(Delta(9, NOW, [(0, SOON)], [], [], []))
    assert left.none_left(gold, NOW) is None
    left.apply(Delta(10, NOW, [(0, FAR)], [], [1], []))
    assert left.none_left(gold, NOW) == NoneLeft(1, FAR // 1000)
    left.apply(Delta(11, NOW, [], [], [], [], "", [0]))
    assert left.none_left(gold, NOW) == NoneLeft(0, None)


def test_counts_and_ends_are_those_of_the_map_after_any_changes():
    random.seed(7)
    left, stock = seats("a" * 8), None
    for batch_no in range(3_000):
        letters = left.letters
        free = [no for no in range(8) if letters[no] == AVAILABLE]
        held = [no for no in range(8) if letters[no] == HELD]
        claimed = random.sample(free, min(len(free), random.randint(0, 3)))
        freed = random.sample(held, min(len(held), random.randint(0, 2)))
        claimed += [no for no in held if no not in freed and random.random() < 0.2]  # extended
        freed += [no for no in free if no not in claimed and random.random() < 0.2]  # taken and freed at once
        until = NOW + random.randint(1, 50)
        left.apply(Delta(batch_no, NOW, [(no, until) for no in claimed], freed, [], []))
        stock = left.stock
        for kind in range(len(stock.free)):
            mine = [no for no in range(8) if stock._kind_of[no] == kind]
            ends = [left.held_until[no] for no in mine if letters[no] == HELD]
            assert stock.free[kind] == sum(letters[no] == AVAILABLE for no in mine)
            assert stock.held[kind] == len(ends)
            if batch_no % 3 == 0:
                assert stock._soonest([kind]) == min(ends, default=None)


def test_what_is_remembered_has_bounds():
    left = seats("s" * 8)
    longest = 0
    for batch_no in range(10 * STALE_MAX):
        left.apply(Delta(batch_no, NOW, [(0, FAR + batch_no)], [], [], [], places_held=[(0, FAR + batch_no)]))
        if batch_no in (0, 5 * STALE_MAX):
            assert left.first_end_ms() == (FAR + batch_no) // 1000
        longest = max(longest, len(left.stock._ends[left.stock._kind_of[0]] or ()))
    assert STALE_MAX <= longest <= STALE_MAX + 3
    assert len(left.stock._area_ends[0]) == 1
    for quantity in range(WISHES_MAX + 10):
        left.none_left(Want(best=Best(quantity + 1)), NOW)
    assert len(left.stock._known) == 10


# in a gateway


@pytest.fixture
def event(database_url):
    """Of the first seat's section and category nothing is left; of everything else all."""
    number_of = make_event(database_url)
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("UPDATE seat SET state = 'sold', hold_id = 1")
    return number_of


@scenario
async def test_who_describes_what_is_gone_is_refused_both_ways_in_and_uses_no_place(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        async with served.socket() as ann:
            [loaded] = served.runtime.events.loaded()
            await until(lambda: loaded.gate(Want(best=Best(1))))
            await ann.ask("r1", best={"quantity": 2})
            refusal = {"type": "not_queued", "id": "r1", "reason": "none_left", "on_hold": 0}
            assert await ann.receive() == refusal | {"held_until": None}
            await ann.ask("r2", best={"quantity": 2}, waitlist=True)
            await ann.receive("decision")
        answer = await served.post({"best": {"quantity": 2}}, "r3")
        assert (answer.status, answer.json()["code"], answer.json()["reason"], answer.json()["on_hold"]) == (
            409, "not_queued", "none_left", 0,
        )  # fmt: skip
        assert [entry.request_id for entry in allocator.read] == ["r2"]


@scenario
async def test_while_paused_nobody_is_refused_for_what_is_held(engine_urls, event, database_url):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event), served.socket():
        [loaded] = served.runtime.events.loaded()
        await until(lambda: loaded.gate(Want(best=Best(1))))
        with psycopg.connect(database_url, autocommit=True) as conn:
            events.set_state(conn, EVENT, EventState.PAUSED)
        await until(lambda: loaded.row.state is EventState.PAUSED)
        assert loaded.gate(Want(best=Best(1))) is None
        assert loaded.gate(Want((SEATS[0],)))


@scenario
async def test_the_seat_map_says_when_the_first_hold_runs_out(engine_urls, event, database_url):
    with psycopg.connect(database_url, autocommit=True) as conn:
        for hold_id, seat, until_us in ((5, 3, FAR), (6, 4, SOON)):
            conn.execute(
                "INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at)"
                " VALUES (%s, %s, 'ann', 'r', 1, to_timestamp(%s / 1000000.0))", (event, hold_id, until_us),
            )  # fmt: skip
            conn.execute("INSERT INTO hold_seat VALUES (%s, %s, %s)", (event, seat, hold_id))
            conn.execute("UPDATE seat SET state = 'held', hold_id = %s WHERE seat_no = %s", (hold_id, seat))
        conn.execute("INSERT INTO hold_area VALUES (%s, 6, 0, 2)", (event,))
    async with gateway(engine_urls) as served, served.socket(hello={"watch": True}) as ann:
        seen = (await served.http("GET", f"/v1/events/{EVENT}/seats")).json()
        assert seen["held_until"] == SOON // 1000
        [loaded] = served.runtime.events.loaded()
        assert loaded.seats.stock.soonest_place(0) == SOON // 1_000_000 * 1_000_000
        await until(lambda: loaded.following and not loaded._reloading)
        loaded.changed(Delta(loaded.watch.batch_no + 1, 0, [], [4], [], []))
        assert (await ann.receive("seats", but=()))["held_until"] == SOON // 1_000_000 * 1000
