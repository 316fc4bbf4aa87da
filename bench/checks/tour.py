"""Had anybody more than a tour allows on all its dates together, at any moment?

Each date has a ledger of its own; `bench.checks.limits` believes what a batch says that it found elsewhere.
Here the ledgers are laid side by side, by Postgres' clock, with nothing believed. What somebody surely had
is theirs from the batch after the one that gave it (then that one was committed) until the moment before
which they had not given it back (then others counted it still). So a finding is certain; what overlaps for
less than a batch is not seen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench.checks.tables import LIVE
from bench.checks.walk import Walker
from bench.evidence import Finding, Truth
from store.words import OPERATORS_HOLDS

ENDS_BY_A_BATCH = ("expired", "moved")
"""A hold that ended so was its holder's until that batch."""


class _Had(NamedTuple):
    """Somebody surely had so many then. Microseconds by Postgres' clock; `until` is None: to the end."""

    since: int
    until: int | None
    quantity: int
    what: str

    def outlives(self, moment: int) -> bool:
        return self.until is None or self.until > moment


def check_tour(dates: Sequence[Truth]) -> Iterator[Finding]:
    """Findings of kind `over_limit`, the first moment for each buyer. `dates` are of one tour."""
    had: dict[str, list[_Had]] = defaultdict(list)
    (most,) = {truth.tour.seats_per_buyer_max for truth in dates if truth.tour is not None}
    for truth in dates:
        for buyer, one in _of_a_date(truth):
            had[buyer].append(one)
    for buyer, all_of_it in sorted(had.items()):
        for moment in sorted({one.since for one in all_of_it}):
            then = [one for one in all_of_it if one.since <= moment and one.outlives(moment)]
            quantity = sum(one.quantity for one in then)
            if quantity > most:
                what = ", ".join(sorted({one.what for one in then}))
                story = f"{buyer} had {quantity} seats and places on the dates of the tour at {moment} µs"
                yield Finding("over_limit", f"{story} ({what}); {most} are allowed.")
                break


def _of_a_date(truth: Truth) -> Iterator[tuple[str, _Had]]:
    """(buyer, what they had) of each hold that a request or an offer got."""
    times = {batch.batch_no: batch.batch_time for batch in truth.batches}
    freed = {
        (change.seat_no, change.hold_id): change.at
        for change in truth.history
        if change.state in ("available", "blocked") and change.hold_id is not None
    }
    kept = {hold.hold_id: 0 for hold in truth.holds if hold.state in LIVE}
    for hold, _, quantity in truth.hold_areas:
        kept[hold] = kept.get(hold, 0) + quantity
    for hold, life in Walker(truth).run().lives.items():
        since = times.get(life.row.batch_no + 1)
        if since is None or hold >= OPERATORS_HOLDS:
            continue  # of the last batch the tables tell
        what = f"hold {hold} of {truth.slug}"
        for seat in life.seats:
            yield life.row.buyer, _Had(since, freed.get((seat, hold)), 1, what)
        if life.end is None:
            yield life.row.buyer, _Had(since, None, kept.get(hold, 0), what)
        elif life.ending in ENDS_BY_A_BATCH:  # nothing says when a holder gave places back
            places = sum(count for _, count in life.areas)
            yield life.row.buyer, _Had(since, times[life.end[0]], places, what)
