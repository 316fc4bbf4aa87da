"""`./run bench all`: core, seating and every strategy in one run and one file; and reading such files.

A file may hold the JSON of `all`, of `core`, `payments`, `seating` or `strategies` alone, of `torture`,
`storm`, `simulate` or `mutants`. `payments` is no part of `all`, which has to end within fifteen minutes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from rich.console import RenderableType

from bench.core import run_core
from bench.effort import Effort
from bench.labels import in_order
from bench.payments.run import GROUPS as PAYING
from bench.report import Curve, Judged, Report, Row, Say, at_least
from bench.seating.results import SeatingReport
from bench.seating.run import run_seating
from bench.strategies.run import run_strategies
from bench.strategies.show import strategies_report
from store.errors import BadRequest

RATIOS = {
    "ws_vs_best_http": ("ws_vs_best_http_strategy", 6.0),
    "ws_vs_best_ws": ("ws_vs_best_ws_strategy", 2.5),
    "http_vs_best_http": ("http_vs_best_http_strategy", 3.0),
}
MUST_BE_ZERO = ("oversold", "lost", "doubled", "reordered", "unexplained")
TORTURE_FAULTS_MIN = 200
STORM_PAID_MIN = 10_000
SALES_A_MINUTE_MIN = 600
SECONDS_MAX = 880.0
"""A whole run, nearly: what core and seating leave of it the strategies get."""


class Everything(Struct):
    """What there is to report; whatever was not measured is None."""

    taken_at: str = ""
    """UTC, ISO 8601"""
    quick: bool = False
    seconds: float = 0.0
    core: Report | None = None
    seating: SeatingReport | None = None
    strategies: dict[str, Any] | None = None
    """The strategies' own report, as plain JSON."""
    torture: dict[str, Any] | None = None
    simulation: dict[str, Any] | None = None
    mutants: dict[str, Any] | None = None
    storm: dict[str, Any] | None = None
    payments: Report | None = None

    @property
    def machine(self) -> dict[str, Any]:
        if self.core is not None:
            return self.core.machine
        if self.seating is not None:
            return self.seating.measured.machine
        if self.payments is not None:
            return self.payments.machine
        return dict((self.strategies or {}).get("machine") or {})

    def rows(self) -> list[Row]:
        """Every row of the reach table that was measured, in the order in which they are told."""
        rows = list(self.core.rows) if self.core is not None else []
        rows += self.seating.measured.rows if self.seating is not None else []
        rows += self.payments.rows if self.payments is not None else []
        rows += _ratio_rows(self.strategies or {})
        if self.torture is not None:
            rows.append(_torture_row(self.torture))
        if self.storm is not None:
            rows.append(_storm_row(self.storm))
        if self.simulation is not None:
            rows.append(_simulation_row(self.simulation))
        if self.mutants is not None:
            rows.append(_mutants_row(self.mutants))
        return in_order(rows)

    @property
    def reports(self) -> list[Report]:
        """Those that were measured of core, seating and payments."""
        found = (self.core, None if self.seating is None else self.seating.measured, self.payments)
        return [report for report in found if report is not None]

    @property
    def judged(self) -> list[Judged]:
        """Every event that the checker looked at."""
        return [one for report in self.reports for one in report.judged]

    @property
    def curves(self) -> list[Curve]:
        """Every distribution of latencies but the strategies'."""
        return [one for report in self.reports for one in report.curves]

    @property
    def failures(self) -> dict[str, str]:
        """Groups of rows that could not be measured, and why."""
        return {group: why for report in self.reports for group, why in report.failures.items()}


def run_everything(say: Say, effort: Effort) -> tuple[Everything, RenderableType]:
    """Core, seating, then strategies; and the strategies' tables as they show them themselves."""
    begun = time.monotonic()
    taken_at = datetime.now(UTC).isoformat(timespec="seconds")
    core = run_core([], say, effort)
    seating = run_seating(say, effort)
    left = SECONDS_MAX - (time.monotonic() - begun)
    strategies = run_strategies(quick=effort.quick, say=say, seconds_max=left)
    seconds = round(time.monotonic() - begun, 1)
    told = msgspec.to_builtins(strategies)
    measured = Everything(taken_at, effort.quick, seconds, core, seating, strategies=told)
    shown: RenderableType = strategies_report(strategies)
    return measured, shown


def read_files(paths: Iterable[Path]) -> Everything:
    """What these files hold together; of two that hold the same, the later one. Raises `BadRequest`."""
    found = Everything()
    for path in paths:
        try:
            read = msgspec.json.decode(path.read_bytes())
            _take(found, read)
        except (OSError, msgspec.DecodeError, msgspec.ValidationError, TypeError) as error:
            raise BadRequest(
                "unreadable_report",
                f"{path} is not a report: {error}. Write one with ./run bench all --json {path.name}",
            ) from None
    return found


def _take(found: Everything, read: Any) -> None:
    if not isinstance(read, dict):
        raise TypeError("a report is a JSON object")
    if "core" in read:
        whole = msgspec.convert(read, Everything)
        for name in Everything.__struct_fields__:
            if (value := getattr(whole, name)) is not None:
                setattr(found, name, value)
    elif "faults_by_kind" in read:
        found.torture = read
    elif "paid_while_redis_away" in read:
        found.storm = read
    elif "on_sales_per_cpu_minute" in read:
        found.simulation = read
    elif "guards" in read:
        found.mutants = read
    elif "sales" in read:
        found.seating = msgspec.convert(read, SeatingReport)
    elif any("strategy" in row for row in read.get("rows", [])):
        found.strategies = read
    elif read.get("seconds_by_group") and read["seconds_by_group"].keys() <= PAYING.keys():
        found.payments = msgspec.convert(read, Report)
    elif "rows" in read and "machine" in read:
        found.core = msgspec.convert(read, Report)
    else:
        known = "core, all, payments, seating, strategies, torture, storm, simulate and mutants"
        raise TypeError(f"none of {known}")


def _ratio_rows(strategies: dict[str, Any]) -> list[Row]:
    ratios = strategies.get("ratios") or {}
    named = (ratios.get("against") or {}).get("keeping") or {}
    rows = []
    for key, (name, least) in RATIOS.items():
        if (value := ratios.get(key)) is not None:
            best = named.get("best_ws" if key.endswith("ws") else "best_http", "").replace("_", " ")
            rows.append(at_least(name, [value], "×", least, note=f"the best is {best}" if best else ""))
    return rows


def _torture_row(torture: dict[str, Any]) -> Row:
    lawful = bool(torture.get("passed"))
    counts = ", ".join(f"{name} {torture.get(name, 0)}" for name in MUST_BE_ZERO)
    note = f"{torture.get('minutes', 0):g} minutes, {torture.get('decisions', 0):,} decisions; {counts}"
    if never := torture.get("never"):
        note += f"; never happened: {', '.join(never)}"
    return at_least(
        "torture_faults", [torture.get("faults", 0)], "faults", TORTURE_FAULTS_MIN, lawful=lawful, note=note
    )


def _storm_row(storm: dict[str, Any]) -> Row:
    lawful = bool(storm.get("passed"))
    counts = storm.get("counts") or {}
    killed = sum((storm.get("killed") or {}).values())
    note = f"{killed} processes killed, {storm.get('paid_while_redis_away', 0):,} bought without Redis; "
    note += ", ".join(f"{kind} {count}" for kind, count in counts.items() if count) or "nothing found"
    if never := storm.get("never"):
        note += f"; did not take place: {', '.join(never)}"
    return at_least(
        "storm_paid", [storm.get("paid", 0)], "payments", STORM_PAID_MIN, lawful=lawful, note=note
    )


def _simulation_row(simulation: dict[str, Any]) -> Row:
    lawful = bool(simulation.get("passed"))
    note = f"{simulation.get('seeds', 0):,} on-sales, {len(simulation.get('broken') or [])} broke a law"
    rate = simulation["on_sales_per_cpu_minute"]
    name = "simulated_sales_per_minute"
    return at_least(name, [rate], "a minute", SALES_A_MINUTE_MIN, lawful=lawful, note=note)


def _mutants_row(mutants: dict[str, Any]) -> Row:
    return at_least("mutants_caught", [mutants.get("caught", 0)], "guards", mutants["guards"])
