"""Keepers of a waiting room beside each other, cut off, stopped: nobody is admitted twice; and their news."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from typing import Any

import psycopg
import pytest

from allocator.keeper import Keeper, Steps
from allocator.worker import EventWorker
from store import events
from store.database import connect
from store.errors import ShortWrite
from store.room import admitting
from store.room.news import room_channel
from store.room.words import PlaceState
from store.stream.redis_stream import connect as connect_stream
from store.words import EventState
from tests.allocator.kept import change, keeping

WAIT_SECONDS_MAX = 30


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def kept(conn, engine_urls):
    with keeping(conn, engine_urls) as make:
        yield make


def test_of_two_who_decided_by_the_same_version_one_changes_something(kept):
    line = kept(policy="fifo", shopping_max=2)
    line.join("ann", "bob")
    line.drawn()
    standing = line.standing()
    [ann, bob] = [line.place(buyer).id for buyer in ("ann", "bob")]
    admitting.write(line.own, line.event, standing, change(standing, called=[ann], serving=1))
    with pytest.raises(ShortWrite):
        admitting.write(line.own, line.event, standing, change(standing, called=[bob], serving=2))
    assert line.states() == {"ann": "admitted", "bob": "waiting"}
    assert line.room("version", "serving", "admitted") == (standing.version + 1, 1, 1)


def test_who_was_overtaken_reads_again_and_goes_on(kept, monkeypatch):
    line = kept(policy="fifo", shopping_max=2)
    line.join("ann", "bob")
    line.drawn()
    overtaken = [True]
    due = admitting.due

    def overtake(own: Any, event_id: int, run_by: Any) -> Any:
        if overtaken.pop() if overtaken else False:
            line.steps().step()
            line.leave("ann")
        return due(own, event_id, run_by)

    monkeypatch.setattr(admitting, "due", overtake)
    line.join("eve")
    line.step()
    assert line.states() == {"ann": "left", "bob": "admitted", "eve": "admitted"}


@pytest.mark.parametrize("what", ["called", "returners", "ended"])
def test_where_one_place_is_not_as_it_was_read_nothing_is_changed(kept, what):
    line = kept(policy="fifo", shopping_max=2)
    line.join("ann", "bob")
    line.drawn()
    [ann, bob] = [line.place(buyer).id for buyer in ("ann", "bob")]
    standing = line.standing()
    if what == "ended":
        line.step()
        standing = line.standing()
        line.begin("ann")
        ends = [admitting.Ending(place, PlaceState.EXPIRED, True) for place in (ann, bob)]
        told: Any = {"ended": ends}
    else:
        line.leave("ann")
        told = {what: [ann, bob]}
    states = line.states()
    with pytest.raises(ShortWrite):
        admitting.write(line.own, line.event, standing, change(standing, **told))
    assert line.states() == states
    assert line.room("version") == standing.version


def test_two_keepers_at_once_admit_nobody_twice_and_no_faster(kept, redis_url):
    line = kept(policy="fifo", pace=12_000)
    buyers = [f"b{n:03}" for n in range(300)]
    line.join(*buyers)
    line.drawn()
    line.conn.execute("CREATE TABLE seen_admitted AS SELECT id FROM place LIMIT 0")
    line.conn.execute(
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO seen_admitted VALUES (NEW.id); RETURN NEW; END $$"
    )
    line.conn.execute(
        "CREATE TRIGGER note AFTER UPDATE ON place FOR EACH ROW"
        " WHEN (NEW.state = 'admitted' AND OLD.state <> 'admitted') EXECUTE FUNCTION note()"
    )

    def keep() -> None:
        with connect(line.url, "another keeper") as own, closing(connect_stream(redis_url)) as client:
            own.autocommit = True
            steps = Steps(own, client, line.event, line.slug)
            while line_waits(own):
                steps.step()

    def line_waits(own: Any) -> bool:
        text = "SELECT EXISTS (SELECT FROM place WHERE event_id = %s AND state = 'waiting')"
        return bool(own.execute(text, (line.event,)).fetchone()[0])

    try:
        threads = [threading.Thread(target=keep) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_SECONDS_MAX)
        text = "SELECT extract(epoch FROM max(admitted_at) - (SELECT drawn_at FROM room)) FROM place"
        took = float(line.conn.execute(text).fetchone()[0])
        [admissions] = line.conn.execute("SELECT count(*) FROM seen_admitted").fetchone()
    finally:
        line.conn.execute("DROP TRIGGER note ON place; DROP FUNCTION note; DROP TABLE seen_admitted")
    assert line.order() == buyers
    assert admissions == 300
    assert line.room("admitted", "serving") == (300, 300)
    assert 1 + 200 * took >= 300, "no faster than one keeper at that pace"


def test_gateways_are_poked_with_the_version_that_there_is(kept):
    line = kept(policy="fifo", shopping_max=1)
    line.join("ann")
    with closing(line.client.pubsub(ignore_subscribe_messages=True)) as listening:
        listening.subscribe(room_channel(line.slug))
        listening.get_message(timeout=WAIT_SECONDS_MAX)
        line.open()
        for _ in ("drawn", "admitted"):
            line.step()
            told = json.loads(listening.get_message(timeout=WAIT_SECONDS_MAX)["data"])
            assert told == {"version": line.room("version")}
        line.step()
        assert listening.get_message(timeout=0) is None


def test_without_news_it_goes_on_all_the_same(kept):
    line = kept(policy="fifo", shopping_max=1)
    line.join("ann")
    line.drawn()
    with closing(connect_stream("redis://127.0.0.1:1/0")) as nobody:
        Steps(line.own, nobody, line.event, line.slug).step()
    assert line.called() == ["ann"]


def test_a_step_in_which_nothing_happens_writes_nothing(kept):
    line = kept(policy="fifo", pace=60)
    line.join("ann")
    line.drawn()
    line.step()
    before = line.room("version", "xmin::text")
    for _ in range(3):
        line.step()
    assert line.room("version", "xmin::text") == before


def test_a_worker_that_owns_an_event_keeps_its_room(kept, engine_urls):
    line = kept(shopping_max=2)
    line.join("ann", "bob", "eve")
    worker = EventWorker(engine_urls.database_url, engine_urls.redis_url, line.event, line.slug, "here:1")
    worker.start()
    try:
        line.open()
        for _ in range(WAIT_SECONDS_MAX * 20):
            if len(line.called()) == 2:
                break
            worker.join(timeout=0.05)
        assert len(line.called()) == 2
    finally:
        worker.stop()
        worker.join(timeout=WAIT_SECONDS_MAX)
    names = [thread.name for thread in threading.enumerate()]
    assert f"keeper-{line.slug}" not in names


def test_where_there_is_no_room_and_none_can_come_nobody_keeps_it(conn, engine_urls, kept):
    line = kept()
    line.open()
    events.set_state(conn, line.slug, EventState.CLOSED)
    conn.execute("DELETE FROM room")
    keeper = Keeper(engine_urls.database_url, engine_urls.redis_url, line.event, line.slug)
    keeper.start()
    keeper.join(WAIT_SECONDS_MAX)
    assert not keeper.is_alive()


def test_a_keeper_told_to_stop_ends_in_the_middle_of_a_statement_and_has_changed_nothing(engine_urls, kept):
    line = kept(shopping_max=2)
    line.join("ann")
    line.drawn()
    keeper = Keeper(engine_urls.database_url, engine_urls.redis_url, line.event, line.slug)
    with connect(line.url, "holds the room") as other, other.transaction():
        other.execute("SELECT 1 FROM room WHERE event_id = %s FOR UPDATE", (line.event,))
        keeper.start()
        waits = (
            "SELECT FROM pg_stat_activity"
            " WHERE application_name = %s AND wait_event_type = 'Lock' AND datname = current_database()"
        )
        for _ in range(WAIT_SECONDS_MAX * 20):
            if line.conn.execute(waits, (f"onsale keeper {line.slug}",)).fetchone() is not None:
                break
            keeper.join(timeout=0.05)
        keeper.stop()
        keeper.join(WAIT_SECONDS_MAX)
    assert not keeper.is_alive()
    assert line.called() == []
