"""Every group of rows, in small: it gives the rows it promises, judged and lawful. Speed is not looked at."""

from __future__ import annotations

from contextlib import contextmanager
from types import ModuleType

import pytest

from bench import rows_allocator, rows_http, rows_sockets, rows_stampede, rows_takeover
from bench.core import GROUPS
from bench.effort import Effort
from bench.report import Report

SMALL: dict[ModuleType, dict[str, float]] = {
    rows_sockets: {"SOCKETS": 20, "ROUND_SECONDS": 0.4, "OPEN_SECONDS": 0.6},
    rows_http: {"CONNECTIONS": 20, "ROUND_SECONDS": 0.4},
    rows_stampede: {"SOCKETS": 20, "REQUESTS_EACH": 5, "SEATS": 20},
    rows_allocator: {"BACKLOG": 5_000, "ALL_HELD": 5_000},
    rows_takeover: {"KILL_AFTER_SECONDS": 0.3, "WARM_SECONDS": 1.0, "COLD_SECONDS": 4.0, "LOOKS": 3},
}


@pytest.fixture
def measured(whole_stack, target, alone_stack, monkeypatch):
    @contextmanager
    def with_target():
        yield target, whole_stack.pid

    @contextmanager
    def with_stack(stack=whole_stack, **_):
        yield stack

    for module, small in SMALL.items():
        for name, value in small.items():
            monkeypatch.setattr(module, name, value)
        if hasattr(module, "throwaway_target"):
            monkeypatch.setattr(module, "throwaway_target", with_target)
    monkeypatch.setattr(rows_takeover, "throwaway_stack", with_stack)
    monkeypatch.setattr(rows_allocator, "allocator_stack", lambda: with_stack(alone_stack))
    monkeypatch.setattr(Effort, "size", lambda effort, whole, quick: min(whole, 5_000))

    def measure(group):
        report = Report({})
        said: list[str] = []
        GROUPS[group][0](report, said.append, Effort(quick=True))
        assert said, "a person sees what is going on"
        return report

    return measure


@pytest.mark.parametrize("group", ["sockets", "http", "rush", "backlog", "takeover"])
def test_a_group_gives_its_rows_and_what_it_measured_is_lawful(measured, group):
    report = measured(group)
    assert sorted(row.name for row in report.rows) == sorted(GROUPS[group][1])
    assert all(row.value > 0 for row in report.rows), report.rows
    assert all(len(row.rounds) == 1 for row in report.rows), "a quick run has one round of each"
    assert report.judged
    assert report.lawful, report.judged
    assert all(one.decisions > 0 for one in report.judged)
    if group == "sockets":
        details = report.details["open_loop"]
        assert {"rate_wanted", "rate_sent", "behind_schedule_share"} <= set(details)
        assert list(details["latency_ms"]) == ["p50", "p95", "p99", "p99_9"]
