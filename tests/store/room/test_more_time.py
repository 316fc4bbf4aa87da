"""More time to begin and to shop: so often, while it runs, and once, however often the same act is said."""

from __future__ import annotations

import threading

import psycopg
import pytest
from msgspec.structs import replace

from store import events
from store.errors import Conflicted, ShortWrite
from store.room import admitting, entering
from store.room.admitting import Ending
from store.room.words import PlaceState
from store.words import EventState
from tests.allocator.kept import change
from tests.store.room.lines import Line
from tests.store.room.test_entering import admit, begin, leave

BEGIN_US, SHOPPING_US = 60_000_000, 601_000_000


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def line(conn, database_url):
    line = Line(conn, database_url, policy="fifo", begin_seconds=60, shopping_seconds=601)
    line.join("ann", "bob")
    line.open()
    admit(line, "ann", "bob")
    return line


def more(line, buyer, end_us=None):
    place = line.place(buyer)
    ends = end_us or place.until or place.begin_by
    return line.alone(lambda own: entering.more_time(own, line.event, buyer, ends // 1000))


def test_who_has_not_begun_gets_as_long_again_to_begin(line):
    line.conn.execute("UPDATE place SET begin_by = now() + interval '1 minute'")  # all at the same moment
    before, bob = line.place("ann"), line.place("bob")
    after = more(line, "ann")
    assert after.begin_by - before.begin_by == BEGIN_US
    assert (after.more, after.begun_at, after.until) == (1, None, None)
    assert line.place("ann") == after
    assert line.place("bob") == bob


def test_who_has_begun_gets_half_as_long_again_to_shop_and_counts_anew(line):
    more(line, "ann")
    before = begin(line, "ann")
    assert before.more == 0
    after = more(line, "ann")
    assert after.until - before.until == SHOPPING_US // 1_000_000 // 2 * 1_000_000
    assert (after.begin_by, after.begun_at, after.more) == (before.begin_by, before.begun_at, 1)


@pytest.mark.parametrize("begun", [False, True])
def test_an_act_that_is_repeated_gives_nothing_twice(line, begun):
    """As where the answer was cut: the same act once more, by the end that was known then."""
    before = begin(line, "ann") if begun else line.place("ann")
    end = before.until or before.begin_by
    given = more(line, "ann", end)
    assert more(line, "ann", end) == given
    assert more(line, "ann", end + 5_000) == given, "nor by an end that is none"
    assert given.more == 1


@pytest.mark.parametrize("begun", [False, True])
def test_it_is_given_so_often_and_no_more(line, begun):
    line.conn.execute("UPDATE room SET more_begin_max = 2 - %(begun)s, more_shopping_max = 1 + %(begun)s",
                      {"begun": int(begun)})  # fmt: skip
    if begun:
        begin(line, "ann")
    assert [more(line, "ann").more for _ in range(2)] == [1, 2]
    last = line.place("ann")
    with pytest.raises(Conflicted) as refused:
        more(line, "ann")
    assert refused.value.code == "no_more_time"
    assert "Ask for your seats now" in str(refused.value) if begun else "Begin now" in str(refused.value)
    assert line.place("ann") == last


def test_where_the_organiser_gives_none_there_is_none(line):
    line.conn.execute("UPDATE room SET more_begin_max = 0")
    with pytest.raises(Conflicted):
        more(line, "ann")


def test_a_time_that_is_over_is_not_made_longer(line):
    begin(line, "bob")
    line.ago(1_000, "ann", "bob")
    for buyer in ("ann", "bob"):
        with pytest.raises(Conflicted) as refused:
            more(line, buyer)
        assert refused.value.code == "no_more_time"


def test_who_has_bought_is_done_soon_and_gets_no_more(line):
    begin(line, "ann")
    line.conn.execute("UPDATE place SET bought_at = clock_timestamp()")
    with pytest.raises(Conflicted):
        more(line, "ann")


def test_while_the_sale_is_paused_what_ran_then_still_runs(line):
    events.set_state(line.conn, line.slug, EventState.PAUSED)
    line.conn.execute(
        "UPDATE place SET begin_by = clock_timestamp() FROM event WHERE event.id = event_id AND buyer = 'ann'"
    )
    assert more(line, "ann").more == 1


def test_who_is_not_admitted_is_told_how_they_stand_and_who_has_no_place_nothing(line):
    line.join("eve")
    end = line.place("ann").begin_by
    leave(line, "bob")
    assert more(line, "eve", end).state == "waiting"
    assert more(line, "eve", end).more == 0
    for buyer in ("bob", "zoe"):
        assert line.alone(lambda own, buyer=buyer: entering.more_time(own, line.event, buyer, end)) is None


def test_another_event_of_the_same_buyer_is_not_touched(line, conn, database_url):
    other = Line(conn, database_url, policy="fifo")
    other.join("ann")
    other.open()
    admit(other, "ann")
    before = other.place("ann")
    more(line, "ann")
    assert other.place("ann") == before


def test_who_is_called_again_may_ask_as_often_again(line):
    more(line, "ann")
    line.conn.execute("UPDATE place SET state = 'expired', ended_at = clock_timestamp() WHERE buyer = 'ann'")
    line.join("ann")
    assert line.place("ann").more == 0
    admit(line, "ann")
    assert more(line, "ann").more == 1


# --- in the same moment as the owner ends the place ---


def decided_to_end(line, buyer):
    """As the owner read it when the time was over by its clock."""
    place = line.place(buyer)
    standing = admitting.read(line.conn, line.event)
    assert standing is not None
    late = replace(standing, run_by=(place.until or place.begin_by) + 1)
    return late, change(standing, ended=[Ending(place.id, PlaceState.EXPIRED, place.begun_at is None)])


@pytest.mark.parametrize("begun", [False, True])
def test_who_was_given_more_time_before_the_owner_ends_the_place_keeps_it(line, begun):
    if begun:
        begin(line, "ann")
    late, ending = decided_to_end(line, "ann")
    given = more(line, "ann")
    with pytest.raises(ShortWrite):
        admitting.write(line.conn, line.event, late, ending)
    assert line.place("ann") == given


def test_the_owner_waits_for_who_asks_in_that_moment_and_the_other_way_round(line, conn):
    """Two connections, each stopped before its commit while the other wants the same row."""
    late, ending = decided_to_end(line, "ann")
    with psycopg.connect(line.url) as asks:
        values = {"event": line.event, "buyer": "ann", "end": line.place("ann").begin_by // 1000}
        assert asks.execute(entering.MORE, values).rowcount == 1
        ended: list[ShortWrite] = []
        owner = threading.Thread(target=_end, args=(line, late, ending, ended))
        owner.start()
        _until_one_waits(conn)
        asks.commit()
        owner.join()
    assert len(ended) == 1
    assert line.states()["ann"] == "admitted"

    late, ending = decided_to_end(line, "bob")
    with psycopg.connect(line.url) as owns:
        told = {"version": late.version, "run_by": late.run_by, "ids": [line.place("bob").id]}
        assert owns.execute(admitting.END, told | {"states": ["expired"], "unbegun": [True]}).rowcount == 1
        answers = []
        asking = threading.Thread(target=lambda: answers.append(more(line, "bob")))
        asking.start()
        _until_one_waits(conn)
        owns.commit()
        asking.join()
    assert [(place.state, place.more) for place in answers] == [("expired", 0)]


def _end(line, late, ending, ended):
    with psycopg.connect(line.url, autocommit=True) as own:
        try:
            admitting.write(own, line.event, late, ending)
        except ShortWrite as short:
            ended.append(short)


def _until_one_waits(conn):
    while not conn.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                           " AND datname = current_database()").fetchone():  # fmt: skip
        pass
