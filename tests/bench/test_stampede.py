"""Shapes only: what a stampede reports and how it is judged. How fast it is, is the benchmark's matter."""

from __future__ import annotations

import asyncio
import io
import json

import pytest
from rich.console import Console

from bench import show
from bench.evidence import Finding
from bench.generator import generator, mint, named_seat
from bench.orders import Mode, Progress, Round
from bench.stampede import Options, Ran, run, summed_up
from bench.target import (
    NotThisMachine,
    StageEvent,
    examine,
    make_event,
    running_target,
    settle,
    wait_known,
)
from tests.checker.sale import plan

FIELDS = [
    "buyers", "seats", "gate", "held", "rejected", "not_queued", "unanswered", "oversold", "order_violations",
    "seconds_first_to_last", "decisions_per_second", "latency_ms", "findings",
]  # fmt: skip


def a_round(**outcomes: int) -> Round:
    decided = sum(outcomes.values())
    latencies = [number * 1_000_000 for number in range(1, decided + 1)]
    return Round(
        sent=decided,
        decided=decided,
        first_sent_ns=1,
        last_answer_ns=1 + 500_000_000,
        latencies_ns=latencies,
        outcomes=outcomes,
    )


def text_of(ran: Ran) -> str:
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(show.stampede_panel(ran))
    return console.export_text()


def ran(findings: list[Finding] | None = None, **outcomes: int) -> Ran:
    seen = a_round(**outcomes)
    result = summed_up(Options(buyers=100, seats=2), seen, findings or [])
    return Ran(result, seen, StageEvent(1, "small", plan()))


def test_the_result_has_exactly_the_documented_fields():
    built = json.loads(json.dumps(ran(held=2, taken=98).result.as_json()))
    assert list(built) == FIELDS
    assert list(built["latency_ms"]) == ["p50", "p95", "p99", "max"]
    assert (built["held"], built["rejected"], built["decisions_per_second"]) == (2, 98, 200.0)
    assert built["latency_ms"]["max"] == 100.0


@pytest.mark.parametrize(
    ("result", "passed"),
    [
        (ran(held=2, taken=98), True),
        (ran(held=1, taken=99), False),
        (ran(held=3, taken=97), False),
        (ran([Finding("lost", "ann was forgotten.")], held=2, taken=98), False),
    ],
)
def test_it_passes_only_without_findings_and_with_every_seat_held(result, passed):
    assert result.result.passed is passed


def test_a_person_sees_the_plot_and_the_verdict():
    seen = text_of(ran(held=2, taken=98))
    assert "every law kept" in seen
    assert "100 ms" in seen


def test_a_person_sees_the_story_of_each_finding():
    stories = [Finding("oversold", f"seat s1 went to ann and bob, case {number}.") for number in range(30)]
    seen = text_of(ran(stories, held=3, taken=97))
    assert "oversold: seat s1 went to ann and bob, case 0." in seen
    assert "and 10 more" in seen
    assert "3 seats are held; 2 were asked for" in seen


def test_a_plot_of_nothing_is_nothing():
    assert show.latency_plot([]) == []


def test_sizes_have_bounds():
    with pytest.raises(ValueError, match="10,000"):
        Options(buyers=10_001)


def test_another_machines_onsale_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(NotThisMachine, match="ONSALE_DATA_DIR"):
        running_target("http://127.0.0.1:9", tmp_path)


@pytest.mark.parametrize("gate", [True, False])
def test_fifty_buyers_and_five_seats(target, gate):
    phases: list[str] = []

    def on_progress(progress: Progress) -> None:
        phases.append(progress.phase)

    result = asyncio.run(run(Options(buyers=50, seats=5, gate=gate), target, on_progress)).result
    assert result.findings == []
    assert result.passed
    assert result.held == 5
    assert result.rejected + result.not_queued == 45
    assert phases == ["ready", "running", "done", "checking"]


def test_buyers_who_come_and_go_keep_every_law(target):
    """Seats are held, bought, given back and asked for again, by name and by best available."""

    async def churn():
        event = await asyncio.to_thread(make_event, target.database_url, 12)
        await asyncio.to_thread(wait_known, target, event)
        wants = [named_seat(seat.guid) for seat in event.plan.seats] + ['{"best":{"quantity":2}}'] * 4
        buyers = mint(target.token_secret, 16)
        async with generator(
            target.base_url, event.slug, buyers, wants, Mode.CLOSED_LOOP, seconds=1.0, churn=True
        ) as clients:
            done = await clients.go()
        arrivals = [arrival for one in done.seen for ask in one.asks for _, arrival in ask.accepted]
        assert await asyncio.to_thread(settle, target, event, arrivals)
        return done, *await asyncio.to_thread(examine, target.database_url, event, done.seen)

    done, findings, truth = asyncio.run(churn())
    assert findings == []
    assert done.unanswered == 0
    answered = {op.state for client in done.seen for op in client.hold_ops}
    assert {"paid", "released"} <= answered
    assert {hold.state for hold in truth.holds} >= {"paid", "released"}
