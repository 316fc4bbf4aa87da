"""The report page and its table: every row is shown, nothing is fetched, missing parts are left out."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from typer.testing import CliRunner

from bench import everything, show
from bench.core import GROUPS
from bench.everything import Everything, read_files
from bench.labels import OTHERS, grouped, label
from bench.page.build import page
from bench.page.markup import tag
from bench.payments.storming.results import Result as StormResult
from bench.report import Curve, Judged, Report, at_least, at_most, for_the_record
from bench.seating.judge import Verdict
from bench.seating.results import ONSALE, SKIP_LOCKED, Sale, SeatingReport
from bench.torture.judging import USES
from bench.torture.run import FoundIn, Result
from onsale.commands.bench import app
from store.errors import BadRequest

MACHINE = {"cpu": "a <fast> one", "cores": 2, "fsync_us": 250}
ROW_NAMES = [name for _, rows in GROUPS.values() for name in rows]


def core() -> Report:
    rows = [for_the_record(name, [number, number + 2.0, 99.0], "ms") for number, name in enumerate(ROW_NAMES)]
    rows[0] = at_least(ROW_NAMES[0], [10_000, 12_000, 11_000], "decisions/s", 9_000)
    rows[1] = at_most(ROW_NAMES[1], [0.5], "ratio", 0.4, note="</script> in a note")
    return Report(
        MACHINE,
        rows,
        {"gateway-1": 30.0, "valkey": 5.0},
        curves=[Curve.of("a steady one", [1_000_000] * 2_000), Curve.of("a rush", [2_000_000], "at once")],
        judged=[
            Judged("a rush", 100, [], "checker"),
            Judged("a loop", 5, ["lost: ann was forgotten"], "replay"),
        ],
    )


def strategy(name: str, **given: object) -> dict[str, object]:
    row: dict[str, object] = {
        "strategy": name, "transport": "http", "load": "10000x1", "decisions_per_second": 900.0,
        "p50_ms": 3.0, "p95_ms": 5.0, "p99_ms": 9.0, "unanswered": 0, "oversold": 0, "lost": 0,
        "no_winner": 0, "overtaken": 0, "split": 0, "drift": None,
    }  # fmt: skip
    return row | given


def strategies() -> dict[str, object]:
    rows = [
        strategy("naive", oversold=7),
        strategy("decr_async", drift=33),
        strategy("decr_async", drift=33, load="20x1"),
        strategy("onsale", decisions_per_second=8_000.0, drift=0),
        strategy("onsale", transport="ws", decisions_per_second=0.0),
        strategy("skip_locked", load="pairs", split=13),
        strategy("naive", load="curve-1"),
        strategy("naive", load="curve-8"),
        strategy("onsale", load="curve-1"),
    ]
    best = {"best_http": "conditional_update", "best_ws": "", "ws_vs_best_http": 7.5, "ws_vs_best_ws": None}
    against = {"keeping": best}
    ratios = {"ws_vs_best_http": 7.5, "ws_vs_best_ws": None, "http_vs_best_http": 2.5, "against": against}
    return {"rows": rows, "ratios": ratios, "not_best": ["curve-1 over http: p50 4 ms; set_nx has 2"]}


def seating() -> SeatingReport:
    rows = [at_most("seating_overtaken", [0], "parties", 0, note="SKIP LOCKED 31")]
    judged_too = [Judged("seating, Arena", 70, [], "checker and replay")]
    verdicts = {ONSALE: Verdict(60, 50), SKIP_LOCKED: Verdict(60, 50, split_needlessly=9, overtaken=31)}
    sales = [Sale("Arena", 100, name, verdict) for name, verdict in verdicts.items()]
    return SeatingReport(Report(MACHINE, rows, judged=judged_too), sales)


def torture(**found: object) -> dict[str, object]:
    result = Result(1, 10, faults=212, decisions=5_000)
    for name, value in (dict.fromkeys(USES, 3) | found).items():
        setattr(result, name, value)
    return result.as_json()


def simulation(**found: object) -> dict[str, object]:
    counters = {"fenced": 12}
    return {
        "passed": True,
        "seeds": 500,
        "steps": 9,
        "on_sales_per_cpu_minute": 700,
        "counters": counters,
    } | found


def storm(**found: object) -> dict[str, object]:
    done = StormResult(
        1, 5_000, paid=10_100, paid_while_redis_away=4_000, orders=9_000, killed={"gateway": 3}
    )
    return done.as_json() | {"passed": True, "never": []} | found


def mutants() -> dict[str, object]:
    caught_by = [{"test": "tests/x.py::test_a_stale_owner_is_fenced[1]"}, {"test": "tests/y.py::test_y"}]
    return {
        "guards": 2,
        "caught": 1,
        "outcomes": [
            {"guard": "the fence", "kind": "fence", "verdict": "caught", "caught_by": caught_by},
            {"guard": "a count", "kind": "count", "verdict": "survived", "caught_by": [], "note": "why"},
        ],
    }


def whole() -> Everything:
    taken_at = "2026-11-21T14:00:00+00:00"
    return Everything(
        taken_at,
        seconds=800.0,
        core=core(),
        seating=seating(),
        strategies=strategies(),
        torture=torture(),
        simulation=simulation(),
        mutants=mutants(),
        storm=storm(),
    )


def test_every_row_of_the_benchmark_has_a_name_for_people_and_is_on_the_page():
    built = page(whole())
    for name in ROW_NAMES:
        assert label(name) in built
    assert OTHERS not in grouped(whole().rows()), "a row without a label"
    assert sum(len(rows) for rows in grouped(whole().rows()).values()) == len(whole().rows())


def test_the_page_fetches_nothing():
    built = page(whole())
    assert re.findall(r'(?:src|href|action)="(?!data:,")[^"]*"', built) == []
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|import\(|<link rel=\"(?!icon)", built)


def test_the_page_says_in_words_what_was_reached_and_missed():
    built = page(whole())
    assert "11,000/s" in built
    assert "10,000 – 12,000" in built
    assert built.count('class="verdict reached"') == 6
    assert built.count('class="verdict missed"') == 3


def test_what_comes_from_outside_is_text():
    built = page(whole())
    assert "a &lt;fast&gt; one" in built
    assert built.count("</script>") == 3, "the page's own"
    assert tag("p", "<b>", data_x='"').startswith('<p data-x="&quot;">&lt;b&gt;')


def test_the_page_shows_what_each_strategy_did_wrong_and_where_onsale_loses():
    built = page(whole())
    assert "oversold 7" in built
    assert "split 13" in built
    assert "not tried" in built
    assert "13 ×" not in built
    assert "7.5 ×</b><small>conditional update" in built
    assert "drifted</b>: two stores" in built
    assert built.count("◆</i>33<") == 1, "a drift is counted once, whatever the number of loads"
    assert "1 connections over HTTP: p50 4 ms; set nx has 2" in built


def test_the_data_of_the_plots_is_json():
    found = re.search(r'id="data">(.*?)</script>', page(whole()), re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    assert [curve["kind"] for curve in data["curves"]] == ["steady", "at once"]
    assert data["idle"]["connections"] == [1, 8]
    assert {line["name"]: line["rate"] for line in data["idle"]["series"]} == {
        "naive": [900.0, 900.0],
        "onsale, gate off": [900.0, None],
    }


@pytest.mark.parametrize(
    "found",
    [
        Everything(),
        Everything(core=Report({}, failures={"sockets": "no"})),
        Everything(core=Report(MACHINE, [at_least("new_row", [1.0], "x", 2.0)])),
        Everything(strategies={"rows": [strategy("naive", decisions_per_second=0.0)]}),
        Everything(strategies={}),
        Everything(seating=SeatingReport(Report({}))),
        Everything(seating=seating()),
        Everything(torture=torture(lost=1)),
        Everything(simulation=simulation(broken=[{"story": "ann"}])),
        Everything(mutants={"guards": 0, "caught": 0}),
        Everything(storm=storm(killed={}, shares={})),
    ],
)
def test_parts_that_were_not_measured_are_left_out(found):
    built = page(found)
    assert built.endswith("</html>\n")
    assert "None" not in built.partition('id="data"')[0]


def test_the_page_shows_how_people_sit_and_who_looked():
    built = page(whole())
    assert "How people sit" in built
    assert "Arena: 100 seats, 60 parties" in built
    assert "◆</i>31<" in built
    assert "○</i>none<" in built
    assert "18.0%" in built, "of the fifty seated nine were split"
    assert "51.7%" in built, "of sixty parties 31 were overtaken"
    assert "seating, Arena" in built
    assert page(Everything(seating=seating())).count("2 cores of a &lt;fast&gt; one") == 1


def test_what_was_broken_on_purpose_is_told():
    built = page(whole())
    assert "fenced" in built
    assert "a stale owner is fenced and 1 more" in built
    assert "10,100 payments, 9,000 orders" in built
    assert "✗ survived: why" in built
    assert "ann lost a seat" in page(
        Everything(simulation=simulation(passed=False, broken=[{"story": "ann lost a seat"}]))
    )


def test_what_could_not_be_measured_is_said():
    report = core()
    report.failures["sockets"] = "the gateway ended"
    assert "sockets could not be measured. the gateway ended" in page(Everything(core=report))


def test_a_torture_that_lost_anything_is_missed_whatever_its_faults():
    lost = FoundIn("lost", "ann was forgotten", 1, "gala", [], "")
    (row,) = Everything(torture=torture(lost=1, findings=[lost])).rows()
    assert not row.reached
    assert "lost 1" in row.note
    assert Everything(torture=torture()).rows()[0].reached


def test_a_torture_in_which_something_never_took_place_is_missed_and_says_what():
    (row,) = Everything(torture=torture(offers=0, moves=0)).rows()
    assert not row.reached
    assert "never happened: offers, moves" in row.note


def test_a_storm_in_which_money_was_not_accounted_for_is_missed_whatever_was_paid():
    (row,) = Everything(storm=storm(passed=False, counts={"unanswered": 2, "misled": 0})).rows()
    assert not row.reached
    assert row.note == "3 processes killed, 4,000 bought without Redis; unanswered 2"
    (short,) = Everything(storm=storm(passed=False, never=["paid past expiry: 9.9 %"])).rows()
    assert "did not take place: paid past expiry" in short.note
    assert Everything(storm=storm()).rows()[0].reached
    assert not Everything(storm=storm(paid=9_999)).rows()[0].reached


def test_reports_are_read_from_several_files(tmp_path):
    parts = {
        "core": core(), "seating": seating(), "strategies": strategies(), "torture": torture(),
        "simulation": simulation(), "mutants": mutants(), "storm": storm(), "all": whole(),
    }  # fmt: skip
    paths = {}
    for name, part in parts.items():
        paths[name] = tmp_path / f"{name}.json"
        paths[name].write_bytes(msgspec.json.encode(part))
    together = read_files([path for name, path in paths.items() if name != "all"])
    assert together.rows() == whole().rows()
    assert read_files([paths["all"]]) == whole()


@pytest.mark.parametrize("text", ["[]", "{}", "no json", '{"core":{"rows":1}}'])
def test_a_file_that_is_no_report_is_refused_with_what_to_do(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(BadRequest, match=r"bench all --json"):
        read_files([path])


def test_the_command_writes_a_page_or_prints_a_table_for_a_readme(tmp_path):
    path = tmp_path / "all.json"
    path.write_bytes(msgspec.json.encode(whole()))
    out = tmp_path / "report.html"
    made = CliRunner().invoke(app, ["report", str(path), "--out", str(out)])
    assert made.exit_code == 0, made.output
    assert out.read_text() == page(whole())
    printed = CliRunner().invoke(app, ["report", str(path), "--markdown"]).output.splitlines()
    assert printed[0] == "| row | reach | measured | least – most |"
    assert len(printed) == 2 + len(whole().rows())
    missed = CliRunner().invoke(app, ["report", str(Path(tmp_path, "nothing.json"))])
    assert missed.exit_code == 1


def test_the_terminal_tells_findings():
    console = Console(width=160, file=io.StringIO(), record=True)
    console.print(show.core_report(core()))
    assert "a loop: lost: ann was forgotten" in console.export_text()


def test_a_curve_has_no_share_that_nothing_was_measured_for():
    curve = Curve.of("few", [3_000_000, 1_000_000, 2_000_000, 4_000_000])
    assert curve.ms[0] == (0.0, 1.0)
    assert curve.ms[-1] == (1.0, 4.0)
    assert max(share for share, _ in curve.ms[:-1]) == 0.75
    assert curve.at(0.99) == 4.0
    assert Curve.of("none", []).at(0.5) == 0.0


def test_bench_all_shows_and_writes_core_and_strategies(tmp_path, monkeypatch):
    class Strategies(msgspec.Struct):
        rows: list[dict[str, object]]
        ratios: dict[str, object]

    found = strategies()
    measured = Strategies(found["rows"], found["ratios"])  # type: ignore[arg-type]
    given: dict[str, float] = {}

    def run_strategies(*, quick, say, seconds_max):
        given["seconds_max"] = seconds_max
        return measured

    monkeypatch.setattr(everything, "run_strategies", run_strategies)
    monkeypatch.setattr(
        everything, "strategies_report", lambda report: f"{len(report.rows)} rows of strategies"
    )
    monkeypatch.setattr(everything, "run_core", lambda only, say, effort: core())
    monkeypatch.setattr(everything, "run_seating", lambda say, effort: seating())
    out = tmp_path / "out.json"
    ran = CliRunner().invoke(app, ["all", "--json", str(out)])
    assert ran.exit_code == 1, "a row was missed"
    assert "9 rows of strategies" in ran.output
    assert "http_vs_best_http_strategy" in ran.output
    assert "Arena: 100 seats, 60 parties" in ran.output
    assert 0 < given["seconds_max"] <= everything.SECONDS_MAX, "what core and seating left"
    again = read_files([out])
    assert again.core == core()
    assert again.seating == seating()
    assert again.strategies == msgspec.to_builtins(measured)
