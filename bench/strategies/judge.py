"""Judges one round from outside: what every client was told, and what the tables hold. Pure.

- `oversold`: for each seat the buyers told `held` beyond the first, or its rows beyond the first, whichever
  is more.
- `lost`: seats somebody was told `held` that have no row of that request.
- `no_winner`: seats that an answered request wanted and nobody has; where seats are to be found, seats left
  over that would have served those told `sold_out`.
- `overtaken`: requests refused although they were sent at least `MARGIN_MS` before the one that got the seat;
  where seats are to be found, also those with a later (worse) seat than somebody sent so much later.
- `split`: parties whose seats are not beside each other in one block.

Sending times are one process' monotonic clock. Servers read sockets in the order the kernel reports them, so
two requests sent within a few milliseconds have no order anybody could keep; the margin leaves clear cases.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, field

MARGIN_MS = 50.0
"""Sent so much earlier is "earlier"."""
_MARGIN_NS = int(MARGIN_MS * 1e6)


class Asked(Struct, frozen=True):
    """One request and what became of it. `answered_ns` is 0 and `outcome` empty for no answer."""

    request: str
    wanted: tuple[int, ...]
    """Named seats; empty where seats were to be found."""
    sent_ns: int
    answered_ns: int
    outcome: str
    seats: tuple[int, ...] = ()


class Verdict(Struct):
    """What was found, counted."""

    oversold: int = 0
    lost: int = 0
    no_winner: int = 0
    overtaken: int = 0
    split: int = 0
    stories: list[str] = field(default_factory=list)
    """The first few, told."""


def judge(asked: Sequence[Asked], bookings: Sequence[tuple[int, str]], blocks: Sequence[int]) -> Verdict:
    """`bookings` are the tables' (seat, request) rows, `blocks` the block of each seat of the plan."""
    winners: dict[int, list[Asked]] = {}
    for one in asked:
        if one.outcome == "held":
            for seat in one.seats:
                winners.setdefault(seat, []).append(one)
    rows = Counter(seat for seat, _ in bookings)
    verdict = Verdict()
    for seat in sorted(set(winners) | set(rows)):
        told = winners.get(seat, [])
        beyond = max(len(told), rows[seat], 1) - 1
        verdict.oversold += beyond
        if beyond and len(verdict.stories) < 3:
            names = ", ".join(one.request for one in told[:4])
            verdict.stories.append(
                f"seat {seat} was given to {len(told)} ({names}) and has {rows[seat]} rows"
            )
    written = set(bookings)
    verdict.lost = sum(
        (seat, one.request) not in written for seat, all_told in winners.items() for one in all_told
    )
    verdict.no_winner = _no_winner(asked, set(winners) | set(rows), len(blocks))
    verdict.overtaken = _overtaken(asked, winners)
    verdict.split = sum(
        one.outcome == "held" and not one.wanted and _is_split(one.seats, blocks) for one in asked
    )
    return verdict


def _no_winner(asked: Sequence[Asked], gone: set[int], seats: int) -> int:
    answered = [one for one in asked if one.answered_ns]
    wanted = {seat for one in answered for seat in one.wanted}
    refused = sum(one.outcome == "sold_out" and not one.wanted for one in answered)
    size = max((len(one.seats) for one in answered if not one.wanted), default=0)
    return len(wanted - gone) + min(seats - len(gone), refused * size)


def _overtaken(asked: Sequence[Asked], winners: dict[int, list[Asked]]) -> int:
    named = sum(
        one.outcome in ("taken", "not_queued")
        and any(
            winner.sent_ns >= one.sent_ns + _MARGIN_NS
            for seat in one.wanted
            for winner in winners.get(seat, [])[:1]
        )
        for one in asked
    )
    return named + _overtaken_finding([one for one in asked if not one.wanted and one.answered_ns])


def _overtaken_finding(asked: list[Asked]) -> int:
    """Those with a worse seat, or none, than somebody sent clearly later. Seats are numbered best first."""
    in_order = sorted(asked, key=lambda one: one.sent_ns)
    sent = [one.sent_ns for one in in_order]
    worst = float("inf")
    best_from = [worst] * (len(in_order) + 1)
    for at in range(len(in_order) - 1, -1, -1):
        one = in_order[at]
        best_from[at] = min(best_from[at + 1], min(one.seats) if one.outcome == "held" else worst)
    found = 0
    for one in in_order:
        if one.outcome not in ("held", "sold_out"):
            continue
        own = min(one.seats) if one.outcome == "held" else worst
        found += best_from[bisect_left(sent, one.sent_ns + _MARGIN_NS)] < own
    return found


def _is_split(seats: tuple[int, ...], blocks: Sequence[int]) -> bool:
    ordered = sorted(seats)
    neighbours = ordered == list(range(ordered[0], ordered[0] + len(ordered)))
    return not neighbours or len({blocks[seat] for seat in ordered}) > 1
