"""Who leaves after being called and before beginning: the organiser asked for beginnings, so the pace gets
that back, as from who lets the time to begin run out. Once, whoever is killed or runs twice meanwhile.
"""

from __future__ import annotations

from contextlib import closing

import psycopg
import pytest

from allocator.keeper import Steps
from store.database import connect
from store.errors import ShortWrite
from store.lookups import PLAN_BY_KEY
from store.room import admitting
from tests.allocator.kept import change, keeping
from tests.faults.proxy import CuttingProxy


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def kept(conn, engine_urls):
    with keeping(conn, engine_urls) as make:
        yield make


@pytest.fixture
def line(kept):
    """One a minute is called; ann is."""
    line = kept(policy="fifo", pace=1, begin_seconds=600)
    line.join("ann", "bob", "eve", "joe")
    line.drawn()
    line.step()
    assert line.called() == ["ann"]
    return line


def test_who_leaves_before_beginning_gives_the_admission_back_once(line):
    line.leave("ann")
    line.step()
    assert line.called() == ["bob"]
    for _ in range(3):
        line.step()
        line.keeper = line.steps()
    assert line.called() == ["bob"]
    assert line.admissions() == (2, 2)


def test_who_leaves_after_beginning_or_while_they_wait_gives_nothing_back(line):
    line.begin("ann")
    line.leave("ann")
    line.leave("bob")
    line.step()
    assert line.called() == []
    line.step(60.0)
    assert line.called() == ["eve"]


def test_who_came_back_and_then_leaves_was_counted_when_they_did_not_begin(line):
    line.conn.execute("UPDATE place SET begin_by = clock_timestamp() WHERE buyer = 'ann'")
    line.step()
    assert line.called() == ["bob"]
    line.join("ann")
    line.leave("ann")
    line.step()
    assert line.called() == ["bob"]


def test_who_leaves_while_admission_is_paused_is_counted_then_and_used_when_it_goes_on(line):
    line.conn.execute("UPDATE room SET admission = 'paused'")
    line.leave("ann")
    line.step()
    assert (line.called(), line.giving_back()) == ([], 0)
    line.conn.execute("UPDATE room SET admission = 'running'")
    line.step()
    assert line.called() == ["bob"]


def test_of_two_who_count_the_same_leaver_one_does(line):
    line.leave("ann")
    was, [ann] = line.standing(), admitting.giving_back(line.own, line.event)
    admitting.write(line.own, line.event, was, change(was, left=[ann], credit=1.0))
    with pytest.raises(ShortWrite):
        admitting.write(line.own, line.event, was, change(was, left=[ann], credit=1.0))
    now = line.standing()
    with pytest.raises(ShortWrite):
        admitting.write(line.own, line.event, now, change(now, left=[ann], credit=9.0))
    assert line.room("credit", "version") == (1.0, now.version)


def test_more_have_left_than_one_step_counts(line, monkeypatch):
    line.conn.execute("UPDATE room SET pace = 100000")
    line.step(60.0)
    monkeypatch.setattr(admitting, "ENDS_MAX", 2)
    monkeypatch.setattr(admitting, "GIVING_BACK", admitting.GIVING_BACK.replace("LIMIT 1000", "LIMIT 2"))
    for buyer in ("ann", "bob", "eve"):
        line.leave(buyer)
    line.step()
    assert line.giving_back() == 1
    line.step()
    assert line.giving_back() == 0


@pytest.mark.parametrize("word", [
    b"UPDATE room SET version = version + 1, serving", b"UPDATE place SET gives_back",
    b"UPDATE place SET state = 'admitted'", b"COMMIT",
])  # fmt: skip
@pytest.mark.parametrize("how", ["cut_before", "cut_reply_to"])
def test_a_keeper_that_is_cut_off_anywhere_counts_each_leaver_once(line, word, how):
    line.leave("ann")
    with CuttingProxy.before(line.url) as proxy:
        getattr(proxy, how)(word)
        with closing(connect(proxy.url(line.url), "is cut off")) as own:
            own.autocommit = True
            own.execute(PLAN_BY_KEY)
            with pytest.raises(psycopg.OperationalError):
                Steps(own, line.client, line.event, line.slug).step()
        proxy.heal()
    for _ in range(3):
        line.keeper = line.steps()
        line.step()
    assert line.called() == ["bob"]
    assert (line.admissions(), line.giving_back()) == ((2, 2), 0)
