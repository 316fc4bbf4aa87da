"""A host's agent: whom it has begun, whom it takes for gone, and what it goes on without."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading

import psycopg
import pytest
import redis
from rq import Queue
from rq.serializers import JSONSerializer

from allocator.fleet.host import Agent, Enlister
from allocator.fleet.settings import HostSettings
from onsale.engines.ports import free_port
from store.fleet.hosts import Host, HostTaken, enlist
from store.processes import process_name

STOP = threading.Event()


class Planning:
    """A planner that counts its turns, or fails."""

    def __init__(self) -> None:
        self.turns = 0
        self.failure: Exception | None = None

    def turn(self) -> None:
        self.turns += 1
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def settings(engine_urls):
    return HostSettings(engine_urls, engine_urls.redis_url, "hall", 2)


@pytest.fixture
def queue(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        yield Queue("onsale-host-hall", connection=client, serializer=JSONSerializer)


@pytest.fixture
def planning():
    return Planning()


@pytest.fixture
def said():
    return []


@pytest.fixture
def agent(settings, planning, said, conn, fleet):
    made = Agent(settings, planning, said.append)
    enlist(conn, Host("hall", 2, process_name(), "1"))
    yield made
    made.close()


def waiting(queue):
    return [(job.func_name, *job.args, job.timeout) for job in queue.get_jobs()]


def told_to_begin(*wanted):
    return [("allocator.fleet.job.attend", str(worker), -1) for worker in wanted]


def ended_process():
    """Of this machine."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process_name(process.pid)


def namesakes():
    """Other machines of this one's hostname: a copy of it, and one of before names had marks."""
    return f"{socket.gethostname()}/00000000", socket.gethostname()


def test_who_is_wanted_is_told_to_begin_once(fleet, agent, queue):
    first, second = fleet.worker(), fleet.worker()
    fleet.worker("attic")
    fleet.worker(process=process_name())
    agent.look(STOP)
    agent.look(STOP)
    assert waiting(queue) == told_to_begin(first, second)


def test_after_a_wipe_they_are_told_again_from_postgres(fleet, agent, queue, redis_url):
    worker = fleet.worker()
    agent.look(STOP)
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()
    agent.look(STOP)
    assert waiting(queue) == told_to_begin(worker)


def test_on_a_draining_host_nothing_begins(conn, fleet, agent, queue, said, planning):
    fleet.host("attic")
    conn.execute("UPDATE fleet_host SET draining_at = clock_timestamp() WHERE name = 'hall'")
    worker = fleet.worker()
    agent.look(STOP)
    assert waiting(queue) == []
    assert (said[-1], planning.turns) == ("draining: nothing new begins here", 1)
    conn.execute("UPDATE fleet_host SET draining_at = NULL")
    agent.look(STOP)
    assert waiting(queue) == told_to_begin(worker)


def test_on_a_draining_host_they_begin_while_no_other_one_is_there(conn, fleet, agent, queue, said):
    conn.execute("UPDATE fleet_host SET draining_at = clock_timestamp()")
    worker = fleet.worker()
    agent.look(STOP)
    assert waiting(queue) == told_to_begin(worker)
    assert said[-1].startswith("draining, but no other host is there: what is on sale stays here")
    fleet.host("attic")
    queue.empty()
    agent.look(STOP)
    assert (waiting(queue), said[-1]) == ([], "draining: nothing new begins here")


def test_workers_whose_process_ended_are_taken_away_at_once(conn, fleet, agent):
    dead, alive = fleet.worker(process=ended_process()), fleet.worker(process=process_name())
    gone = ended_process().rpartition(":")[2]
    elsewhere = {fleet.worker(process=f"{where}:{gone}") for where in ("another-machine", *namesakes())}
    agent.look(STOP)
    assert {one for (one,) in conn.execute("SELECT id FROM fleet_worker").fetchall()} == {alive, *elsewhere}
    assert ("lost", "hall") in fleet.log()
    assert fleet.one("SELECT worker_id FROM fleet_log WHERE what = 'lost'") == dead


def test_what_happens_is_told_in_plain_words(conn, fleet, agent, said):
    worker = fleet.worker(process=process_name())
    agent.look(STOP)
    fleet.assign(fleet.event("gala"), worker)
    agent.look(STOP)
    agent.look(STOP)
    conn.execute("DELETE FROM fleet_worker")
    agent.look(STOP)
    told = f"worker {str(worker)[:8]}"
    assert said == [
        f"{told} runs as process {process_name()}",
        f"{told} attends to gala",
        f"{told} ended",
    ]


def test_neither_a_planner_that_fails_nor_engines_that_are_away_end_it(fleet, agent, planning, queue, caplog):
    worker = fleet.worker()
    for failure in (ValueError("a mistake"), psycopg.OperationalError("away")):
        planning.failure = failure
        agent.look(STOP)
    assert "ALERT: the fleet cannot be planned" in caplog.text
    assert waiting(queue) == told_to_begin(worker)
    fleet.conn.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE application_name = 'onsale fleet host' AND datname = current_database()"
    )
    planning.failure = None
    agent.look(STOP)
    agent.look(STOP)
    assert planning.turns == 3


def test_what_postgres_refuses_ends_no_host(conn, fleet, agent, caplog):
    """As one that takes no writes just now."""
    agent.look(STOP)
    agent._conn.execute("SET default_transaction_read_only = on")
    agent.look(STOP)
    assert "ALERT: this host cannot say that it is there" in caplog.text
    conn.execute("UPDATE fleet_host SET load = NULL")
    agent.look(STOP)
    assert fleet.one("SELECT load FROM fleet_host") is not None


def test_while_rqs_redis_is_away_the_others_go_on(settings, planning, fleet, conn, engine_urls):
    agent = Agent(HostSettings(engine_urls, f"redis://127.0.0.1:{free_port()}", "hall", 2), planning)
    enlist(conn, Host("hall", 2, process_name(), "1"))
    fleet.worker()
    with contextlib.closing(agent):
        agent.look(STOP)
        agent.look(STOP)
    assert planning.turns == 2


def test_of_a_redis_that_never_answers_one_answer_is_waited_for(settings, planning, fleet, conn, engine_urls):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}"
        agent = Agent(HostSettings(engine_urls, url, "hall", 2), planning)
        enlist(conn, Host("hall", 2, process_name(), "1"))
        fleet.worker()
        with contextlib.closing(agent):
            agent.look(STOP)
            agent.look(STOP)
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
    assert planning.turns == 2


def test_a_machines_load_is_told_by_core(fleet, agent, monkeypatch):
    monkeypatch.setattr("os.getloadavg", lambda: (6.0, 9.0, 9.0))
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    agent.look(STOP)
    assert fleet.one("SELECT load FROM fleet_host") == 1.5


def test_who_was_taken_for_lost_enlists_again(conn, fleet, agent):
    conn.execute("DELETE FROM fleet_host")
    agent.look(STOP)
    assert fleet.one("SELECT process FROM fleet_host") == process_name()


@pytest.mark.parametrize("other", ["another", *namesakes()])
def test_a_predecessor_that_ended_is_relieved_at_once_and_one_that_lives_is_not(conn, fleet, agent, other):
    conn.execute("UPDATE fleet_host SET process = %s", (ended_process(),))
    agent.look(STOP)
    assert fleet.one("SELECT process FROM fleet_host") == process_name()
    other = f"{other}:{ended_process().rpartition(':')[2]}"
    conn.execute("UPDATE fleet_host SET process = %s", (other,))
    beating = threading.Event()

    def beat() -> None:
        with psycopg.connect(conn.info.dsn, password=conn.info.password, autocommit=True) as other:
            while not beating.wait(0.1):
                other.execute("UPDATE fleet_host SET seen_at = clock_timestamp()")

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        with pytest.raises(HostTaken, match=other):
            agent.look(STOP)
    finally:
        beating.set()
        thread.join()


def test_a_job_that_waits_is_not_enqueued_again_and_rq_is_asked_no_more_than_needed(settings, queue, fleet):
    worker = fleet.worker()
    with contextlib.closing(Enlister(settings)) as enlister:
        enlister.enqueue([])
        enlister.enqueue([worker])
        enlister.enqueue([worker])
    assert waiting(queue) == told_to_begin(worker)
