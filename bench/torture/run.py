"""A whole torture: rounds until the time is up, on one onsale; and what came of them."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from bench.checker import KINDS as LAWS
from bench.torture import schedule
from bench.torture.judging import USES, RoundResult, judge_round
from bench.torture.rounds import play
from bench.torture.stage import Stage, stage

ROUND_SECONDS = 24.0
"""Of faults; with settling and judging a round takes about ten more."""


USED_MINUTES = 1.5
"""After so long everything that buyers do has been done; two minutes are rounds of about 35 seconds."""


class FoundIn(Struct, frozen=True):
    """A finding with what is needed to look into it."""

    kind: str
    story: str
    round: int
    event: str
    faults: list[str]
    """Of its round, with seconds since the round began."""
    logs: str
    """The folder where that round's logs were kept."""


class Result(Struct):
    """What a torture showed; its JSON has these fields, `passed` and `never`."""

    seed: int
    minutes: float
    faults: int = 0
    faults_by_kind: dict[str, int] = field(default_factory=dict)
    rounds: int = 0
    decisions: int = 0
    oversold: int = 0
    lost: int = 0
    doubled: int = 0
    reordered: int = 0
    foreign_hold: int = 0
    over_limit: int = 0
    inconsistent: int = 0
    unexplained: int = 0
    replay: int = 0
    other: int = 0
    """Unanswered, stalled, died by itself, an alert in a log, or trouble of the torturer's own."""
    late: int = 0
    """No law broken: the stream was lost with a request in it, who waited for it was cut off or killed at
    the same time, and so it was overtaken by somebody who arrived later, or asked anew."""
    takeovers: int = 0
    offers: int = 0
    waitlisted: int = 0
    left: int = 0
    moves: int = 0
    extensions: int = 0
    parts_released: int = 0
    category_refused: int = 0
    tour_refused: int = 0
    sold_by_hand: int = 0
    taken_back: int = 0
    recategorised: int = 0
    longest_gap_seconds: float = 0.0
    longest_gap_fault: str = ""
    outcomes: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    findings: list[FoundIn] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.findings and self.decisions > 0 and not self.never

    @property
    def never(self) -> list[str]:
        """What should have taken place in a run of this length, and did not."""
        return [use for use in USES if not getattr(self, use)] if self.minutes >= USED_MINUTES else []

    def as_json(self) -> dict[str, Any]:
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built | {"passed": self.passed, "never": self.never}


def run(
    minutes: float,
    seed: int,
    *,
    tell: Callable[[str], None] = lambda _: None,
    keep_in: Path | None = None,
) -> Result:
    """Torture for about `minutes`. Logs of rounds with findings stay in `keep_in` (None: a new folder)."""
    began = time.monotonic()
    endless = schedule.slots(seed)
    rounds: list[tuple[RoundResult, str]] = []
    with stage() as on:
        while True:
            round_began = time.monotonic()
            number = len(rounds) + 1
            slots = list(schedule.slots_for(ROUND_SECONDS, endless))
            played = play(on, number, slots, seed=seed, tell=tell)
            tell(f"round {number}: judging")
            judged = judge_round(on.database_url, played)
            rounds.append((judged, kept_logs(on, judged, keep_in) if judged.findings else ""))
            now = time.monotonic()
            if now - began + 0.6 * (now - round_began) > minutes * 60:
                break
    return summed_up(seed, round((time.monotonic() - began) / 60, 2), rounds)


def summed_up(seed: int, minutes: float, rounds: Sequence[tuple[RoundResult, str]]) -> Result:
    """All rounds together."""
    result = Result(seed, minutes, rounds=len(rounds))
    kinds: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    found: Counter[str] = Counter()
    used: Counter[str] = Counter()
    for judged, logs in rounds:
        kinds += judged.faults_by_kind
        outcomes += judged.outcomes
        errors.update(judged.errors)
        found.update(finding.kind for finding in judged.findings)
        used += judged.used
        result.decisions += judged.decisions
        result.late += judged.late
        result.takeovers += max(0, judged.epochs - 1)
        if judged.gap_seconds > result.longest_gap_seconds:
            result.longest_gap_seconds, result.longest_gap_fault = judged.gap_seconds, judged.gap_fault
        for finding in judged.findings:
            where = (judged.number, judged.event, judged.faults, logs)
            result.findings.append(FoundIn(finding.kind, finding.story, *where))
    result.faults = kinds.total()
    result.faults_by_kind, result.outcomes, result.errors = (
        dict(sorted(counted.items())) for counted in (kinds, outcomes, errors)
    )
    for use in USES:
        setattr(result, use, used[use])
    for law in (*(law for law in LAWS if law != "late"), "replay"):
        setattr(result, law, found.pop(law, 0))
    result.other = found.total()
    return result


def kept_logs(on: Stage, judged: RoundResult, keep_in: Path | None) -> str:
    """Copies the logs so far to a new folder, where they stay; those of an earlier run stay beside them."""
    folder = keep_in or Path(tempfile.mkdtemp(prefix="onsale-torture-logs-"))
    name = f"round-{judged.number}"
    names = itertools.chain([name], (f"{name}-{again}" for again in itertools.count(2)))
    there = next(folder / each for each in names if not (folder / each).exists())
    shutil.copytree(on.logs, there)
    return str(there)
