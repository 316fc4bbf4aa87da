"""Programs kept running, and RQ's worker as one of them: what it watches outlives RQ's Redis."""

from __future__ import annotations

import logging
import os

import psutil
import pytest
import redis
from rq import Queue
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.utils import now

from onsale.engines.ports import free_port
from store.jobs import crew
from store.jobs.crew import Crew, Hand
from store.jobs.worker import TiedWorker

log = logging.getLogger("onsale.tests")
WITHIN_SECONDS = 30


@pytest.fixture
def hand(monkeypatch):
    """A program that serves files, kept running as onsale's own are."""
    monkeypatch.setattr(crew, "PAUSE_SECONDS", (0.0, 0.0))
    made = Hand("http.server", ["0", "--bind", "127.0.0.1"], "the server", log)
    yield made
    Crew([made]).stop()


def test_who_ended_is_started_again_and_it_is_said(hand, caplog):
    hand.look()
    first = hand.pid
    hand.look()
    assert hand.pid == first, "it runs"
    process = psutil.Process(first)
    process.kill()
    while hand.pid == first:
        hand.look()
    assert "the server ended with -9" in caplog.text
    assert hand.pid != first


def test_they_end_when_they_are_asked_to_and_are_killed_when_they_do_not(hand):
    hand.look()
    process = psutil.Process(hand.pid)
    process.suspend()
    Crew([hand]).stop(seconds_max=0.1)
    assert psutil.wait_procs([process], WITHIN_SECONDS)[1] == []


def test_watching_a_run_does_not_need_rqs_redis(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        queue = Queue("test", connection=client, serializer=JSONSerializer)
        worker = TiedWorker([queue], connection=client, serializer=JSONSerializer)
        job = queue.enqueue("builtins.print", job_timeout=-1)
        worker.prepare_execution(job)
        away = redis.Redis(port=free_port(), socket_connect_timeout=1)
        with away:
            worker.connection = away
            job = Job(id=job.id, connection=away, serializer=JSONSerializer)
            worker.set_current_job_working_time(1.0)
            worker.maintain_heartbeats(job)
            worker._shutdown_requested_date = now()
            worker.set_shutdown_requested_date()
    assert worker.pid == os.getpid()
