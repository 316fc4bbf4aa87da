"""Supervised gateways and allocators: named, ready when said so, restarted when wanted, gone at the end."""

from __future__ import annotations

import json
import queue
import signal
import socket
import urllib.request

import psutil
import pytest
from standardwebhooks import Webhook

from onsale import processes
from onsale.engines import engines, session
from onsale.processes import AddressTaken, NotReady, Stack, require_free, throwaway_stack


@pytest.fixture(autouse=True)
def stand_ins(front_door, monkeypatch):
    monkeypatch.setattr(processes, "REPOSITORY", front_door)
    monkeypatch.setattr(processes, "engines", session.engines)  # new ones, that have to be migrated


def test_a_throwaway_stack_is_ready_named_and_gone_afterwards(rig):
    with throwaway_stack(
        gateways=2, allocators=1, chores=True, database_url=rig.postgres_url, redis_url=rig.redis_url
    ) as stack:
        assert list(stack.processes) == ["allocator-1", "chores-1", "gateway-1", "gateway-2"]
        for base_url in stack.base_urls:
            with urllib.request.urlopen(f"{base_url}/health/ready") as answer:
                assert answer.status == 200
        pids = [stack.pid(name) for name in stack.processes]
        assert len(set(pids)) == 4
        data_dir = stack.engines.data_dir.path
        log = data_dir / "logs" / "allocator-1.log"
        while "allocator allocator-1" not in log.read_text():
            assert stack.processes["allocator-1"].alive
    assert not any(map(psutil.pid_exists, pids))
    assert not data_dir.parent.exists()


def test_hosts_of_a_fleet_are_told_their_names_and_slots(rig):
    with throwaway_stack(
        gateways=0,
        allocators=0,
        hosts={"hall": 3, "attic": 1},
        database_url=rig.postgres_url,
        redis_url=rig.redis_url,
    ) as stack:
        assert list(stack.processes) == ["host-hall", "host-attic"]
        for name, says in (("host-hall", "agent hall 3"), ("host-attic", "agent attic 1")):
            while says not in stack.processes[name].log_path.read_text():
                assert stack.processes[name].alive
        stack.kill("host-hall")
        stack.start_again("host-hall")
        assert stack.workers() == [], "these agents run none"


def test_a_simulated_provider_stands_between_allocators_and_gateways(rig):
    with throwaway_stack(
        gateways=2, allocators=1, payments=True, database_url=rig.postgres_url, redis_url=rig.redis_url
    ) as stack:
        assert list(stack.processes) == ["allocator-1", "provider-1", "gateway-1", "gateway-2"]
        with urllib.request.urlopen(f"{stack.provider_url}/v1/balance") as answer:
            assert json.load(answer)["intents"] == 0
        with urllib.request.urlopen(f"{stack.base_url}/environment") as answer:
            told = json.load(answer)
        assert told["ONSALE_PAYMENT_PROVIDER"] == "simulated"
        assert told["ONSALE_SIMULATED_URL"] == stack.provider_url
        assert told["ONSALE_PUBLIC_URL"] == stack.base_url
        Webhook(told["ONSALE_SIMULATED_SECRET"])  # or it raises
        pid = stack.pid("provider-1")
        stack.kill("provider-1")
        stack.start_again("provider-1")
        assert stack.pid("provider-1") != pid


def test_without_payments_gateways_know_of_no_provider(rig):
    with (
        throwaway_stack(allocators=0, database_url=rig.postgres_url, redis_url=rig.redis_url) as stack,
        urllib.request.urlopen(f"{stack.base_url}/environment") as answer,
    ):
        assert not [name for name in json.load(answer) if name.startswith(("ONSALE_PAY", "ONSALE_SIM"))]


def test_its_own_engines_are_killed_and_started_by_name():
    with throwaway_stack(gateways=0, allocators=0) as stack:
        urls, before = stack.urls, [stack.pid("postgres"), stack.pid("valkey")]
        for name in ("postgres", "valkey"):
            stack.kill(name)
            stack.start_again(name)
        assert stack.urls == urls
        assert not set(before) & {stack.pid("postgres"), stack.pid("valkey")}


def test_a_killed_process_stays_dead_until_it_is_started_again(rig, tmp_path):
    with throwaway_stack(database_url=rig.postgres_url, redis_url=rig.redis_url) as stack:
        first = stack.pid("allocator-1")
        stack.kill("allocator-1")
        assert not stack.processes["allocator-1"].alive
        assert stack.processes["allocator-2"].alive
        stack.start_again("allocator-1")
        assert stack.pid("allocator-1") != first
        stack.kill("gateway-1")
        stack.start_again("gateway-1")
        with urllib.request.urlopen(f"{stack.base_url}/health/ready") as answer:
            assert answer.status == 200


def test_a_paused_process_goes_on_after_sigcont(rig):
    with throwaway_stack(
        gateways=0, allocators=1, database_url=rig.postgres_url, redis_url=rig.redis_url
    ) as stack:
        stack.kill("allocator-1", signal.SIGSTOP)
        stack.kill("allocator-1", signal.SIGCONT)
        assert stack.processes["allocator-1"].alive


def test_where_restarts_are_wanted_a_death_is_said_and_mended(rig, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "BACKOFF_SECONDS_FIRST", 0.01)
    said: queue.Queue[str] = queue.Queue()
    with engines(tmp_path / "data", database_url=rig.postgres_url, redis_url=rig.redis_url) as both:
        stack = Stack(both, gateways=0, allocators=1, restart_dead=True, say=said.put)
        stack.start()
        try:
            for _ in range(2):
                stack.kill("allocator-1")
                message = said.get(timeout=60)
                assert "allocator-1 was ended by SIGKILL" in message
                assert str(stack.processes["allocator-1"].log_path) in message
                stack.processes["allocator-1"].wait_alive(timeout_seconds=60)
        finally:
            stack.stop()
    assert stack.processes["allocator-1"].restarts == 2
    assert not stack.processes["allocator-1"].alive


def test_a_gateway_that_ends_before_it_is_ready_says_why(rig):
    with (
        pytest.raises(NotReady, match="the gateway has a reason not to start"),
        throwaway_stack(
            database_url=rig.postgres_url, redis_url=rig.redis_url, env={"STAND_IN_GATEWAY": "fails"}
        ),
    ):
        pass


def test_a_taken_port_is_named_with_what_to_do():
    with socket.create_server(("127.0.0.1", 0)) as owner:
        port = owner.getsockname()[1]
        with pytest.raises(AddressTaken, match=rf"Port {port} .*--port {port + 1}"):
            require_free("127.0.0.1", port)


def test_a_log_has_a_bound(tmp_path, monkeypatch):
    import os
    import sys

    from onsale.engines import child

    monkeypatch.setattr(child, "LOG_BYTES_MAX", 1000)
    talker = child.spawn(
        "talker",
        [sys.executable, "-c", "for n in range(500): print('line', n)"],
        log_path=tmp_path / "talker.log",
        env=dict(os.environ),
    )
    assert talker.wait(60) == 0
    assert talker.last_words(2) == "line 498\nline 499"
    assert sorted(path.name for path in tmp_path.glob("talker*")) == ["talker.log", "talker.log.1"]
    assert all(path.stat().st_size <= 1000 for path in tmp_path.glob("talker*"))
