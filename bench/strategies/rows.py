"""From rounds to rows: the figures of one round, the median of several, and how onsale compares. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from msgspec import Struct, field

from bench.orders import percentile
from bench.strategies.catalogue import FLOORS, ONSALE, STRATEGIES

STATED_LOAD = "10000x1"
"""The load of the ratios: a thousand connections in closed loop asking for one seat."""
KEEPING = frozenset(name for name, strategy in STRATEGIES.items() if strategy.keeps)
"""Those that answer when a row is committed."""
GATED = frozenset({"set_nx"})
"""Of those, who refuse by Redis alone: what onsale's own gate is to be compared with."""


class Figures(Struct):
    """One round of one strategy."""

    decisions_per_second: float = 0.0
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    p99_ms: float = 0.0
    decided: int = 0
    held: int = 0
    not_queued: int = 0
    unanswered: int = 0
    errors: int = 0
    retries: int = 0
    oversold: int = 0
    no_winner: int = 0
    overtaken: int = 0
    split: int = 0
    lost: int = 0
    lock_wait_share: float = 0.0
    deadlocks: int = 0
    cut_off: bool = False


class Row(Struct):
    """A strategy under a load: medians of speed, sums of what must not be. No `drift`: not looked for."""

    strategy: str
    transport: str
    load: str
    decisions_per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    unanswered: int
    errors: int
    retries: int
    oversold: int
    no_winner: int
    overtaken: int
    split: int
    lost: int
    lock_wait_share: float
    deadlocks: int
    drift: int | None
    workers: int
    cut_off: bool
    rounds: list[Figures] = field(default_factory=list)


class Ratios(Struct):
    """onsale's decisions a second as a share of the best of a group, with the name of that best."""

    ws_vs_best_http: float | None = None
    ws_vs_best_ws: float | None = None
    http_vs_best_http: float | None = None
    best_http: str = ""
    best_ws: str = ""


def speed(latencies_ns: Sequence[int], seconds: float) -> tuple[float, float, float, float]:
    """(decisions a second, p50, p95, p99 in ms)."""
    ordered = sorted(latencies_ns)
    rate = len(ordered) / seconds if seconds > 0 else 0.0
    p50, p95, p99 = (round(percentile(ordered, share) / 1e6, 2) for share in (0.50, 0.95, 0.99))
    return round(rate, 1), p50, p95, p99


def row_of(
    strategy: str, transport: str, load: str, workers: int, rounds: list[Figures], drift: int | None
) -> Row:
    """Medians of speed and of lock waits; everything that must not be is summed over the rounds."""

    def middle(of: Callable[[Figures], float]) -> float:
        return round(median(of(each) for each in rounds), 3)

    def total(of: Callable[[Figures], int]) -> int:
        return sum(of(each) for each in rounds)

    return Row(
        strategy,
        transport,
        load,
        decisions_per_second=middle(lambda each: each.decisions_per_second),
        p50_ms=middle(lambda each: each.p50_ms),
        p95_ms=middle(lambda each: each.p95_ms),
        p99_ms=middle(lambda each: each.p99_ms),
        unanswered=total(lambda each: each.unanswered),
        errors=total(lambda each: each.errors),
        retries=total(lambda each: each.retries),
        oversold=total(lambda each: each.oversold),
        no_winner=total(lambda each: each.no_winner),
        overtaken=total(lambda each: each.overtaken),
        split=total(lambda each: each.split),
        lost=total(lambda each: each.lost),
        lock_wait_share=middle(lambda each: each.lock_wait_share),
        deadlocks=total(lambda each: each.deadlocks),
        drift=drift,
        workers=workers,
        cut_off=any(each.cut_off for each in rounds),
        rounds=rounds,
    )


def faultless(rows: Sequence[Row]) -> frozenset[str]:
    """Strategies of which no row shows a seat sold twice, lost or adrift."""
    faulty = {row.strategy for row in rows if row.oversold or row.lost or row.drift}
    return frozenset(STRATEGIES) - faulty


def ratios(
    rows: Sequence[Row],
    among: frozenset[str] | None = None,
    load: str = STATED_LOAD,
    ours: str = "onsale",
) -> Ratios:
    """onsale, gate off unless `ours` says so, against the best of `among` (None: of all). No floor counts."""
    known = {(row.strategy, row.transport): row.decisions_per_second for row in rows if row.load == load}
    rivals = set(STRATEGIES if among is None else among) - {*FLOORS, *ONSALE}
    best: dict[str, tuple[float, str]] = {}
    for transport in ("http", "ws"):
        rates = [(rate, name) for (name, way), rate in known.items() if way == transport and name in rivals]
        best[transport] = max(rates, default=(0.0, ""))

    def ratio(own: str, against: str) -> float | None:
        mine, theirs = known.get((ours, own)), best[against][0]
        return round(mine / theirs, 2) if mine and theirs else None

    return Ratios(
        ratio("ws", "http"), ratio("ws", "ws"), ratio("http", "http"), best["http"][1], best["ws"][1]
    )


def all_ratios(rows: Sequence[Row]) -> dict[str, Any]:
    """The stated ones (against all that commit a row before they answer), and against other groups."""
    clean = faultless(rows)
    groups: dict[str, frozenset[str] | None] = {
        "keeping": KEEPING,
        "keeping_without_gate": KEEPING - GATED,
        "keeping_and_faultless": KEEPING & clean,
        "faultless": clean,
        "all": None,
    }
    stated = ratios(rows, KEEPING)
    return {
        "load": STATED_LOAD,
        "ws_vs_best_http": stated.ws_vs_best_http,
        "ws_vs_best_ws": stated.ws_vs_best_ws,
        "http_vs_best_http": stated.http_vs_best_http,
        "against": {name: ratios(rows, among) for name, among in groups.items()},
        "gate_against_gate": ratios(rows, GATED, ours="onsale_gate"),
        "against_at_10000x5000": {name: ratios(rows, among, "10000x5000") for name, among in groups.items()},
    }


def where_not_best(rows: Sequence[Row]) -> list[str]:
    """A sentence for each load and way of asking in which something that keeps its word beats onsale."""
    sentences = []
    for load, transport in dict.fromkeys((row.load, row.transport) for row in rows):
        here = {row.strategy: row for row in rows if (row.load, row.transport) == (load, transport)}
        own = here.get("onsale")
        rivals = [
            row
            for name, row in here.items()
            if name in KEEPING and row.decisions_per_second and not row.oversold
        ]
        if own is None or not rivals:
            continue
        fastest = max(rivals, key=lambda row: row.decisions_per_second)
        soonest = min(rivals, key=lambda row: row.p50_ms)
        surest = min(rivals, key=lambda row: row.p99_ms)
        parts = []
        if fastest.decisions_per_second > own.decisions_per_second:
            parts.append(
                f"{own.decisions_per_second:,.0f} decisions/s "
                f"({fastest.strategy} {fastest.decisions_per_second:,.0f})"
            )
        if soonest.p50_ms < own.p50_ms:
            parts.append(f"p50 {own.p50_ms:g} ms ({soonest.strategy} {soonest.p50_ms:g})")
        if surest.p99_ms < own.p99_ms:
            parts.append(f"p99 {own.p99_ms:g} ms ({surest.strategy} {surest.p99_ms:g})")
        if parts:
            sentences.append(f"{load} over {transport}: {', '.join(parts)}")
    return sentences
