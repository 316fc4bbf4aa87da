"""`./run bench seating`: what it prints, writes and exits with."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.report import Report, at_least, at_most
from bench.seating import run
from bench.seating.judge import Verdict
from bench.seating.results import GREEDY, ONSALE, SKIP_LOCKED, Sale, SeatingReport
from onsale.commands.bench import app
from store.errors import OnsaleError


def found(**own: Any) -> SeatingReport:
    verdicts = {
        ONSALE: Verdict(60, 50, **own),
        SKIP_LOCKED: Verdict(60, 50, split=12, split_needlessly=9, overtaken=31, stories=["party 7 …"]),
        GREEDY: Verdict(60, 50, split=8, split_needlessly=8),
    }
    sales = [Sale("Arena", 100, name, verdict) for name, verdict in verdicts.items()]
    rows = run.quality_rows(sales, lawful=True)
    return SeatingReport(
        Report({}, [*rows, at_least("seating_decisions", [20_000], "decisions/s", 15_000)]), sales
    )


def invoke(monkeypatch, report, *arguments):
    efforts = []

    def run_seating(say, effort):
        efforts.append(effort)
        say("seating people")
        if isinstance(report, Exception):
            raise report
        return report

    monkeypatch.setattr(run, "run_seating", run_seating)
    return CliRunner().invoke(app, ["seating", *arguments]), efforts


def test_it_prints_a_table_for_each_house_and_writes_everything(tmp_path, monkeypatch):
    out = tmp_path / "out.json"
    ran, (effort,) = invoke(monkeypatch, found(), "--json", str(out), "--quick")
    assert ran.exit_code == 0, ran.output
    assert effort.quick
    assert "Arena: 100 seats, 60 parties" in ran.output
    assert [line.split() for line in ran.output.splitlines() if line.startswith("SKIP LOCKED ")] == [
        ["SKIP", "LOCKED", "50", "12", "9", "31", "0", "0.0", "0", "0"]
    ]
    assert "party 7" in ran.output
    written = json.loads(out.read_text())
    assert [sale["strategy"] for sale in written["sales"]] == ["onsale", "skip_locked", "greedy"]
    assert written["sales"][1]["verdict"]["overtaken"] == 31
    assert [row["name"] for row in written["measured"]["rows"]] == [
        "seating_overtaken", "seating_split_needlessly", "seating_decisions",
    ]  # fmt: skip


@pytest.mark.parametrize("fault", ["overtaken", "split_needlessly", "wrong"])
def test_it_exits_with_one_when_onsale_did_what_it_must_not(monkeypatch, fault):
    ran, _ = invoke(monkeypatch, found(**{fault: 1}))
    assert ran.exit_code == 1


def test_it_exits_with_one_when_a_reach_is_missed_or_the_replay_finds_something(monkeypatch):
    slow = found()
    slow.measured.rows.append(at_most("seat_state", [300], "bytes", 200))
    assert invoke(monkeypatch, slow)[0].exit_code == 1
    assert not any(row.reached for row in run.quality_rows(found().sales, lawful=False))


def test_what_stops_it_is_told_in_a_sentence(monkeypatch):
    ran, _ = invoke(monkeypatch, OnsaleError("The allocator did not decide."))
    assert ran.exit_code == 1
    assert "could not be measured. The allocator did not decide." in ran.output
    assert "Traceback" not in ran.output
