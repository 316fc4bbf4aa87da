"""Every version of the decision decides its recorded sale again as it did; recorded was the real code.

`recorded/record.py` says how. A failure of today's version means that a change decides something otherwise:
raise `CODE_VERSION`, keep how it was in `allocator.versions`, and record the new version.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from rich.console import Console

from allocator.decide import CODE_VERSION
from allocator.decided import Row
from allocator.layout import Layout
from allocator.memory import Memory
from allocator.replay import Batch, Unproven, decide_again, verify
from allocator.versions import VERSIONS
from allocator.wishes import Wishes
from onsale.commands import verify as command
from store import plan as plans
from store.words import Arrival, EventState, Policy
from tests.allocator.house import SLUG, best, entry, owner_of, seats
from tests.allocator.recorded import record

RECORDED = Path(__file__).parent / "recorded"


def recording(version: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    head, *batches = map(json.loads, (RECORDED / f"version-{version}.jsonl").read_text().splitlines())
    return head, batches


def test_every_version_up_to_today_is_recorded_and_can_be_decided_again():
    numbers = list(range(1, CODE_VERSION + 1))
    assert list(VERSIONS) == numbers
    assert sorted(RECORDED.glob("*.jsonl")) == [RECORDED / f"version-{number}.jsonl" for number in numbers]


@pytest.mark.parametrize("number", VERSIONS)
def test_a_version_decides_its_recorded_sale_again_as_it_did(number):
    head, batches = recording(number)
    assert head["version"] == number
    layout = Layout(plans.decode(json.dumps(head["plan"]).encode()))
    memory, version = Memory(layout, Policy(EventState.DRAFT)), VERSIONS[number]
    wishes: Wishes = version.wishes(layout)
    for batch_no, one in enumerate(batches, 1):
        rows = [Row(*row) for row in one["rows"]]
        head_of = (batch_no, 1, one["time"], Arrival("0-0"), number, b"", b"")
        batch = Batch(*head_of, rows, list(range(len(rows))))
        assert decide_again(memory, wishes, batch, version.decide) == rows, f"batch {batch_no}"


@pytest.mark.parametrize("number", sorted(VERSIONS)[:-1])
def test_the_next_version_decides_that_sale_otherwise(number):
    """So each recording has what its version decided differently."""
    head, batches = recording(number)
    layout = Layout(plans.decode(json.dumps(head["plan"]).encode()))
    memory, version = Memory(layout, Policy(EventState.DRAFT)), VERSIONS[number + 1]
    wishes = version.wishes(layout)
    same = True
    for batch_no, one in enumerate(batches, 1):
        rows = [Row(*row) for row in one["rows"]]
        batch = Batch(batch_no, 1, one["time"], Arrival("0-0"), number, b"", b"", rows, [])
        same = decide_again(memory, wishes, batch, version.decide) == rows
        if not same:
            break
    assert not same


def test_todays_recording_is_what_recording_it_gives(tmp_path):
    record.main(tmp_path)
    name = f"version-{CODE_VERSION}.jsonl"
    assert (tmp_path / name).read_text() == (RECORDED / name).read_text()


def test_a_batch_of_a_version_nobody_has_is_followed_and_called_unproven_and_the_next_are_proven(
    database_url, redis_url, monkeypatch
):
    with owner_of(database_url, redis_url) as owner:
        owner.ask(entry("ann", "r1", seats("A-1")))
        monkeypatch.setattr("allocator.truth.CODE_VERSION", CODE_VERSION + 1)
        owner.ask(entry("bob", "r1", best(2)), entry("cem", "r1", seats("A-1")))
        unknown = owner.memory.batch_no
        owner.release("ann")
        monkeypatch.undo()
        owner.ask(entry("dan", "r1", best(3)))
        with psycopg.connect(database_url) as conn:
            steps = list(verify(conn, owner.event_id))
            summary = command.check(conn, SLUG, Console(quiet=True))
    unproven = [step.batch.batch_no for step in steps if isinstance(step, Unproven)]
    assert unproven == [unknown]
    assert all(isinstance(step, Batch | Unproven) for step in steps)
    assert [one["batch_no"] for one in summary["unproven"]] == unproven
    assert str(CODE_VERSION + 1) in summary["unproven"][0]["story"]
    assert (summary["batches"], summary["findings"]) == (len(steps), [])
