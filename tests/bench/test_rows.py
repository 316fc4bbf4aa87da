"""Every group of rows, in small: it gives the rows it promises, judged and lawful. Speed is not looked at."""

from __future__ import annotations

from contextlib import contextmanager
from shutil import which
from types import ModuleType

import pytest

from bench import (
    rows_allocator,
    rows_http,
    rows_page,
    rows_sockets,
    rows_stampede,
    rows_takeover,
    rows_waiting,
)
from bench.browser import NAMES
from bench.core import GROUPS
from bench.effort import Effort
from bench.report import Report
from store.errors import OnsaleError

SMALL: dict[ModuleType, dict[str, float]] = {
    rows_sockets: {"SOCKETS": 20, "ROUND_SECONDS": 0.4, "OPEN_SECONDS": 0.6},
    rows_http: {"CONNECTIONS": 20, "ROUND_SECONDS": 0.4},
    rows_stampede: {"SOCKETS": 20, "REQUESTS_EACH": 5, "SEATS": 20},
    rows_allocator: {"BACKLOG": 5_000, "ALL_HELD": 5_000},
    rows_waiting: {"SEATS": 1_000, "BACKLOG": 1_000, "BURST": 250},
    rows_page: {"SEATS": 4_000, "ROUND_SECONDS": 1.0},
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
    monkeypatch.setattr(rows_waiting, "allocator_stack", lambda: with_stack(alone_stack))
    monkeypatch.setattr(Effort, "size", lambda effort, whole, quick: min(whole, 5_000))

    def measure(group):
        report = Report({})
        said: list[str] = []
        GROUPS[group][0](report, said.append, Effort(quick=True))
        assert said, "a person sees what is going on"
        return report

    return measure


@pytest.mark.parametrize("group", ["sockets", "http", "rush", "backlog", "takeover", "waiting"])
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


@pytest.mark.skipif(not any(map(which, NAMES)), reason="No Chromium: install the chromium package.")
def test_the_page_row_tells_of_frames_in_which_the_map_was_drawn(measured):
    report = measured("page")
    (row,) = report.rows
    assert (row.name, len(row.rounds)) == ("map_frame_p95", 1)
    assert 0 < row.value <= max(report.details["map_frame_p95"]["longest_ms"])
    assert report.details["map_frame_p95"]["elements"] < rows_page.SEATS


def test_without_a_browser_the_page_row_says_what_to_install(measured, monkeypatch):
    monkeypatch.setattr("bench.browser.NAMES", ())
    with pytest.raises(OnsaleError, match="install the chromium package"):
        measured("page")
