"""A worker's row: run by one process, heard of, told what to attend to, gone with who ran it."""

from __future__ import annotations

from store.fleet import workers
from store.fleet.workers import Assignment, Running

LOAD = (7, 3, 120, 4_000, 80.0, 90.5, 12, 4.5, None)


def test_one_process_runs_a_row(conn, fleet):
    fleet.host("hall")
    worker = fleet.worker()
    assert workers.nobody_runs(conn, "hall") == [worker]
    assert workers.claim(conn, worker, "hall:1")
    assert not workers.claim(conn, worker, "hall:2")
    assert workers.nobody_runs(conn, "hall") == []
    assert workers.running(conn, "hall") == [Running(worker, "hall", "hall:1")]


def test_what_is_to_stop_or_is_wanted_elsewhere_is_not_begun(conn, fleet):
    fleet.host("hall", "attic")
    stopped = fleet.worker()
    fleet.worker("attic")
    conn.execute("UPDATE fleet_worker SET stop_at = clock_timestamp() WHERE id = %s", (stopped,))
    assert workers.nobody_runs(conn, "hall") == []
    assert not workers.claim(conn, stopped, "hall:1")


def test_a_beat_tells_how_it_is_and_hears_whether_to_stop(conn, fleet):
    worker = fleet.worker(process="hall:1", silent_seconds=60)
    assert workers.beat(conn, worker, "hall:1", memory=100, cpu=0.5) is False
    how = "SELECT memory_bytes, cpu, seen_at > clock_timestamp() - interval '30 seconds' FROM fleet_worker"
    assert conn.execute(how).fetchall() == [(100, 0.5, True)]
    conn.execute("UPDATE fleet_worker SET stop_at = clock_timestamp()")
    assert workers.beat(conn, worker, "hall:1", memory=100, cpu=0.5) is True


def test_who_lost_its_row_hears_that_and_takes_nobodys_along(conn, fleet):
    worker = fleet.worker(process="hall:2")
    fleet.assign(1, worker)
    assert workers.beat(conn, worker, "hall:1", memory=1, cpu=0) is None
    workers.ended(conn, worker, "hall:1")
    assert workers.running(conn, "hall") == [Running(worker, "hall", "hall:2")]
    workers.ended(conn, worker, "hall:2")
    assert fleet.one("SELECT count(*) FROM fleet_worker") == 0
    assert fleet.one("SELECT count(*) FROM fleet_assignment") == 0


def test_those_whose_process_is_gone_are_taken_away_and_told(conn, fleet):
    dead, alive, again = (fleet.worker(process=f"hall:{number}") for number in (1, 2, 3))
    fleet.assign(1, dead)
    fleet.assign(1, alive)
    workers.lost(conn, [Running(dead, "hall", "hall:1"), Running(again, "hall", "hall:0")], "hall:9")
    assert {one.worker for one in workers.running(conn, "hall")} == {alive, again}
    assert fleet.one("SELECT worker_id FROM fleet_assignment") == alive
    assert fleet.log() == [("lost", "hall")]
    workers.lost(conn, [], "hall:9")


def test_a_worker_hears_what_it_attends_to_and_what_others_are_for(conn, fleet):
    mine, other = fleet.worker(process="hall:1"), fleet.worker("attic", "attic:1")
    owned, stood_by, anybodys = fleet.event("a", hot=True), fleet.event("b"), fleet.event("c")
    fleet.event("d")
    fleet.assign(owned, mine, preferred=True)
    fleet.assign(owned, other)
    fleet.assign(stood_by, mine)
    fleet.assign(stood_by, other, preferred=True, warm_batch=0)
    fleet.assign(anybodys, mine)
    assert workers.assigned_to(conn, mine) == [
        Assignment(owned, "a", True, False, False),
        Assignment(stood_by, "b", False, True, True),
        Assignment(anybodys, "c", None, True, False),
    ]
    [running] = workers.running(conn, "hall")
    assert running.events == ("a", "b", "c")


def test_an_operators_word_is_above_the_load(conn, fleet):
    worker = fleet.worker(process="hall:1")
    fleet.assign(fleet.event("gala"), worker)
    shared = {}
    for mode in ("auto", "hot", "cold"):
        for hot in (True, False):
            conn.execute("DELETE FROM fleet_event")
            insert = "INSERT INTO fleet_event (event_id, mode, hot) SELECT id, %s, %s FROM event"
            conn.execute(insert, (mode, hot))
            shared[mode, hot] = workers.assigned_to(conn, worker)[0].shared
    assert [key for key, is_shared in shared.items() if not is_shared] == [
        ("auto", True),
        ("hot", True),
        ("hot", False),
    ]


def successor_of(conn, worker):
    [one] = workers.assigned_to(conn, worker)
    return one.preferred, one.successor_warm


def test_a_successor_is_warm_only_while_it_lives_follows_and_is_to_go_on(conn, fleet):
    mine, other = fleet.worker(process="hall:1"), fleet.worker("attic", "attic:1")
    event = fleet.event("a")
    fleet.assign(event, mine)
    fleet.assign(event, other, preferred=True)
    assert successor_of(conn, mine) == (False, False), "it has followed nothing yet"
    workers.report_warm(conn, other, {event: 0})
    assert successor_of(conn, mine) == (False, True)
    conn.execute("UPDATE fleet_assignment SET warm_at = warm_at - interval '1 minute'")
    assert successor_of(conn, mine) == (False, False), "it follows no more"
    workers.report_warm(conn, other, {event: 0})
    conn.execute("UPDATE fleet_worker SET seen_at = seen_at - interval '1 minute' WHERE id = %s", (other,))
    assert successor_of(conn, mine) == (False, False), "nothing was heard of it"
    workers.beat(conn, other, "attic:1", memory=1, cpu=0)
    conn.execute("UPDATE fleet_worker SET stop_at = clock_timestamp() WHERE id = %s", (other,))
    assert successor_of(conn, mine) == (False, False), "it is to stop"
    conn.execute("DELETE FROM fleet_worker WHERE id = %s", (other,))
    assert successor_of(conn, mine) == (None, False), "nobody is waited for that is not there"


def test_reports_are_of_what_is_assigned_and_in_one_statement(conn, fleet):
    worker = fleet.worker(process="hall:1")
    first, second, third = (fleet.event(slug) for slug in "abc")
    fleet.assign(first, worker)
    fleet.assign(second, worker)
    workers.report_warm(conn, worker, {first: 5, second: 6, third: 7})
    told = "SELECT event_id, warm_batch FROM fleet_assignment WHERE warm_at IS NOT NULL ORDER BY 1"
    assert conn.execute(told).fetchall() == [(first, 5), (second, 6)]
    workers.report_warm(conn, worker, {})


def test_loads_are_the_latest_owners(conn, fleet):
    worker = fleet.worker(process="hall:1")
    workers.report_loads(conn, worker, "hall:1", [LOAD, (8, *LOAD[1:])])
    workers.report_loads(conn, worker, "hall:1", [(7, 4, *LOAD[2:])])
    workers.report_loads(conn, worker, "old:1", [(7, 3, 1, *LOAD[3:])])
    workers.report_loads(conn, worker, "hall:1", [])
    columns = ", ".join(workers.LOAD)
    rows = conn.execute(f"SELECT process, {columns} FROM event_load ORDER BY event_id").fetchall()
    assert rows == [("hall:1", 7, 4, *LOAD[2:]), ("hall:1", 8, *LOAD[1:])]
