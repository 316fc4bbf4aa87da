"""Chores are enqueued when they are due, once for all hosts, whatever becomes of Redis."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

import psycopg
import pytest
import redis
from rq import Queue
from rq.serializers import JSONSerializer

from onsale.chores import planner as planning
from onsale.chores import trim as trimming
from onsale.chores.catalogue import SHORT
from onsale.chores.planner import Planner
from onsale.chores.trim import trim
from store.chores import runs
from store.errors import Unavailable
from store.fleet import log
from store.stream.redis_stream import RedisIntake, connect_async
from tests.onsale.chores.doings import doing, settings_of

NAMES = {chore.name for chore in SHORT}


@pytest.fixture
def planner(database_url, redis_url):
    with contextlib.closing(Planner(settings_of(database_url, redis_url))) as made:
        yield made


@pytest.fixture
def queued(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        yield lambda name: Queue(f"onsale-{name}", connection=client, serializer=JSONSerializer).jobs


def due(conn):
    conn.execute("UPDATE chore_run SET due_at = clock_timestamp()")


def test_what_is_due_is_enqueued_and_then_it_is_not_due(conn, planner, queued):
    assert set(planner.turn()) >= NAMES
    assert planner.turn() == []
    [job] = queued("mail")
    assert (job.func_name, job.args, job.timeout) == ("onsale.chores.run.job", ["mail"], 120)
    assert job.result_ttl == 0
    assert job.failure_ttl == planning.FAILED_SECONDS


def test_one_run_waits_at_most_however_long_nobody_comes(conn, planner, queued):
    for _ in range(3):
        planner.turn()
        due(conn)
    assert len(queued("mail")) == 1


def test_two_hosts_plan_each_slot_once(conn, database_url, redis_url, planner, queued):
    with contextlib.closing(Planner(settings_of(database_url, redis_url))) as other:
        claimed = planner.turn() + other.turn()
    assert sorted(claimed) == sorted(set(claimed))
    runs.enlist(conn, [("nap", 1, False)])
    conn.execute("SET lock_timeout = '2s'")
    with psycopg.connect(database_url) as somebody:
        assert runs.claim(somebody, ["nap"]) == ["nap"]
        assert runs.claim(conn, ["nap"]) == [], "nobody waits for another host's turn"
    assert runs.claim(conn, ["nap"]) == []


def test_a_redis_that_is_away_puts_the_slot_off(conn, database_url):
    with (
        contextlib.closing(Planner(settings_of(database_url))) as planner,
        pytest.raises(Unavailable, match="Redis"),
    ):
        planner.turn()
    late = "SELECT count(*) FROM chore_run WHERE due_at > clock_timestamp() + interval '3 seconds'"
    assert conn.execute(late).fetchone() == (0,)


def test_both_engines_away_at_once_are_waited_for(conn, database_url, monkeypatch):
    """Redis when a chore is enqueued, and Postgres when it is put back."""
    claim = runs.claim

    def claimed(connection, names):
        found = claim(connection, names)
        conn.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
        return found

    monkeypatch.setattr(runs, "claim", claimed)
    with (
        contextlib.closing(Planner(settings_of(database_url))) as planner,
        pytest.raises(Unavailable, match="Postgres"),
    ):
        planner.turn()


def test_a_redis_that_was_wiped_gets_the_next_slot(conn, planner, queued, redis_url):
    planner.turn()
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()
    assert queued("mail") == []
    due(conn)
    planner.turn()
    assert len(queued("mail")) == 1


def test_a_database_that_was_away_is_asked_again(conn, planner, queued):
    planner.turn()
    conn.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'onsale chores'"
        " AND datname = current_database()"
    )
    due(conn)
    with pytest.raises(Unavailable, match="Postgres"):
        planner.turn()
    assert set(planner.turn()) >= NAMES


def test_rq_may_have_a_redis_of_its_own(conn, database_url, redis_url, queued):
    apart = replace(settings_of(database_url), rq_url=redis_url)
    assert apart.engines.redis_url != redis_url
    with contextlib.closing(Planner(apart)) as planner:
        assert set(planner.turn()) >= NAMES
    assert len(queued("mail")) == 1


def test_keys_of_rq_and_of_events_do_not_meet(conn, planner, redis_url):
    planner.turn()
    with redis.Redis.from_url(redis_url) as client:
        assert all(key.startswith(b"rq:") for key in client.scan_iter())

    async def last():
        client = connect_async(redis_url)
        try:
            return await RedisIntake(client, "rq").last_arrival()
        finally:
            await client.aclose()

    assert asyncio.run(last()) is None


def test_what_is_old_is_forgotten_and_the_rest_stays(conn, database_url):
    old = "clock_timestamp() - interval '91 days'"
    notice = "INSERT INTO payment_notice (provider, notice_id, payment_id, kind, became, at) VALUES"
    conn.execute(f"{notice} ('x', 'old', 1, 'succeeded', 'succeeded', {old})")
    conn.execute(f"{notice} ('x', 'new', 1, 'succeeded', 'succeeded', clock_timestamp())")
    mail = "INSERT INTO mail (event_id, outbox_id, address, kind, body, state, ended_at) VALUES"
    conn.execute(f"{mail} (1, 1, 'a@x', 'order.paid', '{{}}', 'sent', {old})")
    conn.execute(f"{mail} (1, 2, 'a@x', 'order.paid', '{{}}', 'sent', clock_timestamp())")
    conn.execute(f"{mail} (1, 3, 'a@x', 'order.paid', '{{}}', 'due', NULL)")
    assert doing(database_url, trim).done == 2
    assert conn.execute("SELECT notice_id FROM payment_notice").fetchall() == [("new",)]
    assert conn.execute("SELECT outbox_id FROM mail ORDER BY 1").fetchall() == [(2,), (3,)]


def test_who_was_turned_away_long_ago_is_forgotten(conn, database_url):
    refused = "INSERT INTO room_refused (event_id, minute, reason, count, addresses) VALUES"
    for days in (trimming.REFUSED_DAYS + 1, trimming.REFUSED_DAYS - 1):
        conn.execute(
            f"{refused} (1, clock_timestamp() - interval '{days} days', 'proof_used', {days}, '{{}}')"
        )
    assert doing(database_url, trim).done == 1
    assert conn.execute("SELECT count FROM room_refused").fetchall() == [(trimming.REFUSED_DAYS - 1,)]


def test_what_others_forget_is_forgotten_some_rows_at_a_time(conn, database_url, monkeypatch):
    asked = []

    def forget(connection, *, limit):
        asked.append((connection.autocommit, limit))
        return limit if len(asked) < 3 else 0

    monkeypatch.setattr(trimming, "FORGETS", (forget,))
    assert doing(database_url, trim).done == 2 * trimming.ROWS_MAX
    assert asked == [(True, trimming.ROWS_MAX)] * 3


def test_the_fleets_log_is_trimmed(database_url, conn):
    for days in (log.KEPT_DAYS + 1, log.KEPT_DAYS - 1):
        conn.execute(
            "INSERT INTO fleet_log (at, what, who, why)"
            " VALUES (now() - make_interval(days => %s), 'joined', 'a', 'b')",
            (days,),
        )
    assert doing(database_url, trim).done == 1
