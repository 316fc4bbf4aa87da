"""Is what holders were told of extensions, and of what they gave back, what the ledger says?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench.checks.walk import ENDS_A_HOLD, Walk
from bench.evidence import Finding, HoldAnswer, HoldOp, LedgerRow, Seen, Truth, read_json

Contents = tuple[frozenset[str], frozenset[tuple[str, int]]]
"""Seats and (area, places)"""
ROUNDING_MS = 1
"""Ends are told in milliseconds and kept in microseconds; each pause adds a part of one."""


class _Course(NamedTuple):
    """What a hold was, by the ledger."""

    first_end_ms: int
    pauses_before: int
    """How many pauses were over when it was given."""
    extended_ms: list[int]
    """By how much all extensions so far, after each."""
    contents: list[Contents]
    """At first, and after each time some of it was given back."""


def check_holders(seen: Sequence[Seen], truth: Truth, walk: Walk) -> Iterator[Finding]:
    """Ends that no extension gave, contents that the hold never had, seats kept that were given back."""
    paused_ms, courses = _courses(truth, walk)
    for client in seen:
        for op in client.hold_ops:
            course = courses.get(int(op.hold)) if op.hold.isdecimal() else None
            if op.answer is None or course is None:
                continue  # whose hold it is, others judge
            yield from _end(client.buyer, op, op.answer, course, paused_ms)
            if op.answer.seats is not None:
                yield from _contents(client.buyer, op, op.answer, course)


def _end(
    buyer: str, op: HoldOp, answer: HoldAnswer, course: _Course, paused_ms: list[float]
) -> Iterator[Finding]:
    before = course.pauses_before
    since = [lost - paused_ms[before] for lost in paused_ms[before:]]
    possible = [course.first_end_ms + longer + lost for longer in course.extended_ms for lost in since]
    if not any(abs(answer.expires_at - end) <= ROUNDING_MS * len(paused_ms) for end in possible):
        story = f"{buyer} was told by {op.op} that hold {op.hold} ends at {answer.expires_at} ms"
        ends = ", ".join(f"{end:.0f}" for end in possible)
        yield Finding("unexplained", f"{story}; by the ledger it ended at {ends}.")


def _contents(buyer: str, op: HoldOp, answer: HoldAnswer, course: _Course) -> Iterator[Finding]:
    told = _contents_of(answer.seats or (), answer.areas or {})
    who = f"{buyer} was told that hold {op.hold} has {sorted(told[0])} and {dict(told[1])}"
    if told not in course.contents:
        yield Finding("unexplained", f"{who}; by the ledger it never had that.")
    count = len(told[0]) + sum(places for _, places in told[1])
    if op.gives_some and count == op.quantity:
        yield Finding("unexplained", f"{who}, as if {op.seats} and {op.areas} had not been given back.")


def _courses(truth: Truth, walk: Walk) -> tuple[list[float], dict[int, _Course]]:
    """(milliseconds of all pauses so far, after each; how each hold went)"""
    paused_ms, extended_ms = [0.0], defaultdict[int, list[int]](lambda: [0])
    parts: dict[int, list[LedgerRow]] = defaultdict(list)
    pauses_before: dict[tuple[int, int], int] = {}
    for row in truth.ledger:
        pauses_before[row.at] = len(paused_ms) - 1
        if row.kind != "fact":
            continue
        named = read_json(row.input)
        body, hold = named.get("body"), int(named.get("hold") or 0)
        if row.outcome == "policy" and body.get("holds_extended_us"):
            paused_ms.append(paused_ms[-1] + body["holds_extended_us"] / 1000)
        elif row.outcome == "outage":
            paused_ms.append(paused_ms[-1] + body["lost_us"] / 1000)
        elif row.outcome == "extended":
            extended_ms[hold].append(extended_ms[hold][-1] + body["by_us"] // 1000)
        elif row.outcome in ENDS_A_HOLD and body is not None:
            parts[hold].append(row)
    courses = {}
    for hold, life in walk.lives.items():
        given = read_json(life.row.result)
        contents = [_contents_of(given.get("seats", ()), given.get("areas", {}))]
        for row in parts[hold]:
            contents.append(_without(contents[-1], row, truth))
        first_end_ms = int(given.get("expires_at", 0))
        courses[hold] = _Course(first_end_ms, pauses_before[life.row.at], extended_ms[hold], contents)
    return paused_ms, courses


def _without(contents: Contents, row: LedgerRow, truth: Truth) -> Contents:
    body = read_json(row.input)["body"]
    areas = dict(contents[1])
    for area, places in body.get("areas", ()):
        guid = truth.plan.areas[area].guid
        areas[guid] = areas.get(guid, 0) - places
    gone = {truth.plan.seats[seat].guid for seat in body.get("seats", ())}
    return _contents_of(contents[0] - gone, areas)


def _contents_of(seats: Sequence[str] | frozenset[str], areas: dict[str, int]) -> Contents:
    return frozenset(seats), frozenset((guid, places) for guid, places in areas.items() if places)
