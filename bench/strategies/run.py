"""`./run bench strategies`: all strategies and loads in interleaved rounds, and what a kill leaves behind."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from msgspec import Struct, field

from bench.processes import machine
from bench.report import Say
from bench.strategies.catalogue import FLOORS, NAMES, ONSALE, SELLING, STRATEGIES
from bench.strategies.drift import Drift, drift_of
from bench.strategies.judge import MARGIN_MS
from bench.strategies.loads import NEVER, Load, takes_part
from bench.strategies.loads import loads as all_loads
from bench.strategies.measure import measure
from bench.strategies.rig import POOL_SIZES, Rig, rig
from bench.strategies.rows import Figures, Row, all_ratios, row_of, where_not_best
from bench.strategies.wire import Transport
from store.errors import BadRequest

ROUNDS = 3
SECONDS_MAX = 480.0
AFTERWARDS_SECONDS = 45.0
"""What the kills after the last round may take."""
TRANSPORTS: tuple[Transport, ...] = ("http", "ws")
TRIAL = Load("trial", NEVER, 5_000, 128, spread=5_000, seconds=0.3)
WARM_UP = Load("warm-up", 200, 1_000, 50, spread=1_000, seconds=2.0)
QUICK_DRIFTS = ("set_nx", "decr_async", "onsale")
Key = tuple[str, Transport]


class StrategiesReport(Struct):
    """Everything a run found."""

    machine: dict[str, Any]
    quick: bool
    rounds: int
    rows: list[Row] = field(default_factory=list)
    ratios: dict[str, Any] = field(default_factory=dict)
    drifts: list[Drift] = field(default_factory=list)
    not_best: list[str] = field(default_factory=list)
    """Where onsale is beaten by something that commits before it answers."""
    stories: dict[str, list[str]] = field(default_factory=dict)
    """The first findings of each strategy, told."""
    overtaking_margin_ms: float = MARGIN_MS
    pool_sizes: dict[str, int] = field(default_factory=dict)
    trials: dict[str, dict[str, float]] = field(default_factory=dict)
    """Decisions a second with one and with two server processes, where both were tried."""
    seconds_total: float = 0.0


def check(only: Sequence[str], wanted: Sequence[str], quick: bool) -> tuple[list[str], list[Load]]:
    """The names and loads meant, all for none. Raises `BadRequest` that lists what there is."""
    known = all_loads(quick)
    _refuse_unknown("strategy", only, list(NAMES))
    _refuse_unknown("load", wanted, [load.name for load in known])
    names = [name for name in NAMES if not only or name in only]
    return names, [load for load in known if not wanted or load.name in wanted]


def _refuse_unknown(what: str, given: Sequence[str], known: Sequence[str]) -> None:
    unknown = sorted(set(given).difference(known))
    if unknown:
        raise BadRequest(f"unknown_{what}", f"No {what} {', '.join(unknown)}. There are: {', '.join(known)}.")


def run_strategies(
    *,
    only: Sequence[str] = (),
    loads: Sequence[str] = (),
    quick: bool = False,
    say: Say = lambda _: None,
    seconds_max: float = SECONDS_MAX,
) -> StrategiesReport:
    """Measure. A full run takes about eight minutes, a quick one less than one and a half.

    With less than that to spend there are fewer rounds; one there is in any case.
    """
    names, chosen = check(only, loads, quick)
    began = time.monotonic()
    report = StrategiesReport(machine(), quick, 1 if quick else ROUNDS)
    report.machine["server_loop"] = "uvloop" if find_spec("uvloop") else "asyncio"
    report.pool_sizes = {f"{count} processes": size for count, size in POOL_SIZES.items()}
    say("starting engines, onsale and the strategies' servers")
    with rig() as running:
        workers = _choose_workers(running, names, quick, report, say)
        rounds = _rounds(running, names, chosen, workers, report, say, began + min(seconds_max, SECONDS_MAX))
        for name in names:
            if name not in FLOORS and name != "onsale_gate" and (not quick or name in QUICK_DRIFTS):
                say(f"killing the servers of {name} in the middle of a sale")
                report.drifts.append(drift_of(running, name, workers[name, "http"]))
    drifts = {drift.strategy: drift.drift for drift in report.drifts}
    report.rows = [
        row_of(name, transport, load, workers[name, transport], figures, drifts.get(name))
        for (name, transport, load), figures in rounds.items()
    ]
    report.ratios = all_ratios(report.rows)
    report.not_best = where_not_best(report.rows)
    report.seconds_total = round(time.monotonic() - began, 1)
    return report


def _choose_workers(
    running: Rig, names: list[str], quick: bool, report: StrategiesReport, say: Say
) -> dict[Key, int]:
    """How many server processes each strategy gets: in a full run the faster of one and two."""
    chosen: dict[Key, int] = {}
    for name in names:
        for transport in TRANSPORTS:
            selling = SELLING.get("floor" if name in FLOORS else name)
            chosen[name, transport] = 1 if selling is None else selling.processes_usual
            if not takes_part(name, WARM_UP, transport) or name in ONSALE:
                continue
            say(f"warming up {name} over {transport}")
            measure(running, name, transport, WARM_UP, chosen[name, transport])
            if quick or name not in STRATEGIES or STRATEGIES[name].processes_max == 1:
                continue
            rates = {
                count: measure(running, name, transport, TRIAL, count)[0].decisions_per_second
                for count in (1, 2)
            }
            chosen[name, transport] = max(rates, key=lambda count: rates[count])
            report.trials[f"{name} {transport}"] = {f"{count}": rate for count, rate in rates.items()}
    return chosen


def _rounds(
    running: Rig,
    names: list[str],
    chosen: list[Load],
    workers: dict[Key, int],
    report: StrategiesReport,
    say: Say,
    give_up_at: float,
) -> dict[tuple[str, Transport, str], list[Figures]]:
    """Under each load all strategies are asked one after the other; who begins changes each time."""
    rounds: dict[tuple[str, Transport, str], list[Figures]] = defaultdict(list)
    planned, report.rounds = report.rounds, 0
    while report.rounds < planned:
        number = report.rounds
        began = time.monotonic()
        turned = names[number % len(names) :] + names[: number % len(names)]
        for load in chosen:
            for transport in TRANSPORTS:
                for name in turned:
                    if not takes_part(name, load, transport):
                        continue
                    say(f"round {number + 1} of {planned}: {load.name} over {transport}, {name}")
                    figures, verdict = measure(running, name, transport, load, workers[name, transport])
                    rounds[name, transport, load.name].append(figures)
                    told = report.stories.setdefault(name, [])
                    told += verdict.stories[: 3 - len(told)]
        report.rounds += 1
        now = time.monotonic()
        if now + (now - began) + AFTERWARDS_SECONDS > give_up_at:
            break  # a slower machine gets fewer rounds, not a longer wait
    order = {name: at for at, name in enumerate(names)}
    return dict(sorted(rounds.items(), key=lambda item: order[item[0][0]]))
