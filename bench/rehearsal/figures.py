"""The figures of one storm, out of what its buyers saw and what the database holds. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bench.evidence import Finding, Truth, read_frame
from bench.orders import Round, percentile
from bench.rehearsal.wants import house_of
from bench.rehearsal.words import FINDINGS_MAX, STEPS_MAX, GateRun

ALIVE: Final = ("active", "paid")


def gate_run(
    gate: bool, seen: Round, cpu: Mapping[str, float], findings: Sequence[Finding], truth: Truth
) -> GateRun:
    """`cpu`: seconds of each process of the server meanwhile."""
    seconds = max(seen.seconds, 1e-6)
    decided = [
        (when - seen.first_sent_ns, read_frame(frame).outcome == "held")
        for one in seen.seen
        for ask in one.asks
        for when, frame in ask.decisions[:1]
    ]
    step = seconds / STEPS_MAX
    curve = [0] * STEPS_MAX
    for when, _ in decided:
        curve[min(STEPS_MAX - 1, max(0, int(when / 1e9 / step)))] += 1
    ordered = sorted(seen.latencies_ns)
    seats_held = sum(hold.quantity for hold in truth.holds if hold.state in ALIVE)
    gone = seats_held >= house_of(truth.plan)
    last_held = max((when for when, held in decided if held), default=0)
    allocators = sum(spent for name, spent in cpu.items() if name.startswith("allocator"))
    return GateRun(
        gate=gate,
        requests=seen.sent,
        decided=seen.decided,
        held=seen.outcomes.get("held", 0),
        not_queued=seen.not_queued,
        unanswered=seen.unanswered,
        seconds=round(seconds, 3),
        answers_per_second=round(seen.answered / seconds, 1),
        decisions_per_second=round(seen.decided / seconds, 1),
        latency_ms_p50=round(percentile(ordered, 0.5) / 1e6, 2),
        latency_ms_p99=round(percentile(ordered, 0.99) / 1e6, 2),
        seats_held=seats_held,
        sold_out_seconds=round(last_held / 1e9, 3) if gone else None,
        step_seconds=round(step, 6),
        curve=curve,
        gateway_cpu_seconds_per_answer=cpu.get("gateway-1", 0.0) / max(1, seen.answered),
        allocator_cpu_seconds_per_decision=allocators / max(1, seen.decided),
        findings=list(findings[:FINDINGS_MAX]),
    )
