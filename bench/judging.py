"""After a measurement: the checker and the replay look at its event, and the report says what they found."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from allocator import replay
from bench.evidence import Finding, Seen
from bench.report import Judged, Report, Say
from bench.target import StageEvent, examine

STORIES_KEPT = 20
DECIDED = "SELECT count(*) FROM ledger WHERE event_id = %s AND kind = 'request'"


def judge_event(
    report: Report, database_url: str, event: StageEvent, seen: Sequence[Seen], what: str, say: Say
) -> bool:
    """Checker, replay and, where they were kept, what clients saw. False when there is any finding."""
    say(f"{what}: the checker looks at every row")
    findings, truth = examine(database_url, event, list(seen))
    decisions = sum(row.kind == "request" for row in truth.ledger)
    how = "checker, replay and what every client saw" if seen else "checker and replay"
    return note(report, what, decisions, findings, how)


def replay_event(report: Report, database_url: str, event: StageEvent, what: str, say: Say) -> bool:
    """The replay alone, for a ledger too large to be judged in memory. False when there is any finding."""
    say(f"{what}: the ledger is decided again")
    with psycopg.connect(database_url) as connection:
        steps = replay.verify(connection, event.id)
        stories = [
            f"Batch {step.batch_no} {step.story}." for step in steps if isinstance(step, replay.Finding)
        ]
        counted = connection.execute(DECIDED, (event.id,)).fetchone()
    assert counted is not None, "a count always gives a row"
    return note(report, what, counted[0], [Finding("replay", story) for story in stories], "replay")


def note(report: Report, what: str, decisions: int, findings: Sequence[Finding], how: str) -> bool:
    """Write down what was found; whether it was nothing."""
    stories = [f"{finding.kind}: {finding.story}" for finding in findings[:STORIES_KEPT]]
    if len(findings) > STORIES_KEPT:
        stories.append(f"… and {len(findings) - STORIES_KEPT:,} more")
    report.judged.append(Judged(what, decisions, stories, how))
    return not findings
