"""A stampede: everybody asks for one of a few seats in the same moment, then every law is checked.

`run` is for the command, the benchmark and the page's button alike. The buyers live in a process of
their own; buyer `i` names seat `i mod seats`, so every seat is wanted and must end up held.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from msgspec import Struct, field

from bench.evidence import Finding
from bench.generator import OnProgress, generator, mint, named_seat
from bench.orders import Mode, Progress, Round, percentile
from bench.target import StageEvent, Target, close_event, examine, make_event, settle, wait_known

BUYERS_MAX = 10_000
PRESETS = {"1000x1": (1_000, 1), "500x5": (500, 5), "10000x1": (10_000, 1)}
HOLD_TTL_SECONDS = 300
"""Beyond any run, so that no hold ends while the checker looks."""


class Options(Struct, frozen=True):
    buyers: int = 1_000
    seats: int = 1
    gate: bool = False
    answer_seconds_max: float = 60.0

    def __post_init__(self) -> None:
        if not 1 <= self.buyers <= BUYERS_MAX or not 1 <= self.seats <= BUYERS_MAX:
            raise ValueError(f"buyers and seats must be 1 to {BUYERS_MAX:,}")


class Latency(Struct, frozen=True):
    """Milliseconds from a buyer's sending to the answer."""

    p50: float
    p95: float
    p99: float
    max: float


class Result(Struct):
    """What a stampede showed; its JSON has exactly these fields."""

    buyers: int
    seats: int
    gate: bool
    held: int
    rejected: int
    """Decided, and not held."""
    not_queued: int
    """Refused by the fast gate: no decision."""
    unanswered: int
    oversold: int
    order_violations: int
    seconds_first_to_last: float
    """First sending to last answer."""
    decisions_per_second: float
    latency_ms: Latency
    findings: list[Finding] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """No finding, everybody answered, every seat held that somebody asked for."""
        wanted = min(self.seats, self.buyers)
        return not self.findings and not self.unanswered and self.held == wanted

    def as_json(self) -> dict[str, Any]:
        """The documented fields."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built


class Ran(Struct):
    """A result with what the plot and the benchmark need besides."""

    result: Result
    round: Round
    event: StageEvent


async def run(
    options: Options, target: Target, on_progress: OnProgress = lambda _: None, *, check: bool = True
) -> Ran:
    """One stampede on an event of its own. Raises `OnsaleError` when it could not take place.

    With `check` False only the figures are taken; then `findings` is empty because nobody looked.
    """
    event = await asyncio.to_thread(
        make_event, target.database_url, options.seats, gate=options.gate, hold_ttl_seconds=HOLD_TTL_SECONDS
    )
    try:
        await asyncio.to_thread(wait_known, target, event)
        seats = [named_seat(seat.guid) for seat in event.plan.seats]
        buyers = await asyncio.to_thread(mint, target.token_secret, options.buyers)
        async with generator(
            target.base_url,
            event.slug,
            buyers,
            seats,
            Mode.STAMPEDE,
            on_progress=on_progress,
            answer_seconds_max=options.answer_seconds_max,
        ) as clients:
            seen = await clients.go()
        findings: list[Finding] = []
        if check:
            await _tell(on_progress, Progress("checking"))
            arrivals = [arrival for one in seen.seen for ask in one.asks for _, arrival in ask.accepted]
            await asyncio.to_thread(settle, target, event, arrivals)
            findings, _ = await asyncio.to_thread(examine, target.database_url, event, seen.seen)
        return Ran(summed_up(options, seen, findings), seen, event)
    finally:
        await asyncio.to_thread(close_event, target.database_url, event)


def summed_up(options: Options, seen: Round, findings: list[Finding]) -> Result:
    """The figures of a round, with what the checker found."""
    ordered = sorted(seen.latencies_ns)
    held = seen.outcomes.get("held", 0)

    def ms(share: float) -> float:
        return round(percentile(ordered, share) / 1e6, 2)

    return Result(
        buyers=options.buyers,
        seats=options.seats,
        gate=options.gate,
        held=held,
        rejected=seen.decided - held,
        not_queued=seen.not_queued,
        unanswered=seen.unanswered,
        oversold=sum(finding.kind == "oversold" for finding in findings),
        order_violations=sum(finding.kind == "reordered" for finding in findings),
        seconds_first_to_last=round(seen.seconds, 4),
        decisions_per_second=round(seen.decided / seen.seconds, 1) if seen.seconds else 0.0,
        latency_ms=Latency(ms(0.50), ms(0.95), ms(0.99), ms(1.0)),
        findings=findings,
    )


async def _tell(on_progress: OnProgress, progress: Progress) -> None:
    heard = on_progress(progress)
    if heard is not None:
        await heard
