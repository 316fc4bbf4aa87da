"""The benchmark's report: its fields, its rows, and that a tiny backlog is counted right."""

from __future__ import annotations

import io
import json

import msgspec
import pytest
from rich.console import Console

from bench import core, show
from bench.backlog import alone, mixed
from bench.effort import Effort
from bench.processes import machine, resident_bytes, tree_cpu_seconds
from bench.report import Report, at_least, at_most
from store.errors import BadRequest, OnsaleError
from store.wire import decode_entry
from tests.checker.sale import plan


def test_a_report_has_the_documented_fields():
    report = Report(machine(), [at_least("a", [0.5], "ratio", 0.4), at_most("b", [250, 260, 300], "ms", 250)])
    built = json.loads(json.dumps(msgspec.to_builtins(report)))
    assert built["rows"] == [
        {"name": "a", "value": 0.5, "unit": "ratio", "reach": "≥ 0.4", "reached": True,
         "rounds": [0.5], "note": ""},
        {"name": "b", "value": 260, "unit": "ms", "reach": "≤ 250", "reached": False,
         "rounds": [250, 260, 300], "note": ""},
    ]  # fmt: skip
    described = {
        "cpu",
        "cores",
        "memory_gb",
        "system",
        "fsync_us",
        "python",
        "postgres",
        "valkey",
        "load_1m_before",
    }
    assert described <= set(built["machine"])


def test_a_row_whose_event_was_not_lawful_is_missed_however_fast_it_was():
    assert at_least("a", [2.0], "x", 1).reached
    assert not at_least("a", [2.0], "x", 1, lawful=False).reached
    assert not at_most("a", [0.5], "s", 1, lawful=False).reached


def test_the_table_shows_every_row_and_where_time_goes():
    report = Report({}, [at_least("allocator_mixed", [61_234.5], "decisions/s", 60_000)], {"gateway-1": 30.5})
    console = Console(width=120, file=io.StringIO(), record=True)
    console.print(show.core_report(report))
    text = console.export_text()
    assert "allocator_mixed" in text
    assert "61,234" in text
    assert "gateway-1 30.5" in text


def test_rows_are_chosen_by_group_or_name():
    assert core.chosen([], Effort()) == list(core.GROUPS)
    assert core.chosen([], Effort(quick=True)) == list(core.QUICK)
    assert set(core.QUICK) < set(core.GROUPS)
    assert core.chosen(["memory_per_key"], Effort(quick=True)) == ["memory"]
    assert core.chosen(["memory", "allocator_mixed"], Effort()) == ["backlog", "memory"]
    with pytest.raises(BadRequest, match="There are: sockets"):
        core.chosen(["speed"], Effort())


def test_a_group_that_cannot_be_measured_does_not_cost_the_others(monkeypatch):
    def breaks(report, say, effort):
        raise OnsaleError("The gateway ended.")

    def works(report, say, effort):
        report.rows.append(at_least("fine", [2.0], "x", 1))

    groups = {"sockets": (breaks, ("end_to_end",)), "http": (works, ("fine",))}
    monkeypatch.setattr(core, "GROUPS", groups)
    report = core.run_core([], lambda _: None, Effort())
    assert report.failures == {"sockets": "OnsaleError: The gateway ended."}
    assert [row.name for row in report.rows] == ["fine"]
    assert list(report.seconds_by_group) == ["sockets", "http"]
    assert not report.passed


def test_a_mixed_backlog_has_as_many_seats_as_are_to_be_held():
    entries = [decode_entry(entry) for entry in mixed(plan(), 40, 4)]
    assert len({entry.buyer for entry in entries}) == 40
    wants = [bytes(entry.want) for entry in entries]
    firsts = [number for number, want in enumerate(wants) if want not in wants[:number]]
    assert firsts == [0, 10, 20, 30]


def test_a_small_backlog_is_decided_and_counted(alone_stack):
    stack = alone_stack
    with alone(stack, 10) as one:
        before = tree_cpu_seconds(stack.pid("postgres"))
        decided = one.decide(mixed(one.event.plan, 5_000, 10))
        assert one.outcomes() == {"held": 10, "taken": 4_990}
        assert decided.decisions == 5_000
        assert sum(decided.sizes) == 5_000
        assert decided.per_second > 0
        assert tree_cpu_seconds(stack.pid("postgres")) >= before
        assert resident_bytes(stack.pid("valkey")) > 0
