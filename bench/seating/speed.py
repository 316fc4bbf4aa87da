"""How fast parties are seated: an arena of 100,000 seats, sold out by 60,000 parties.

The rate is that of a backlog (`bench/backlog.py`), Postgres included. What a thousand decisions cost while
the house fills is read from the batch times in the ledger of a second sale, in which the same parties come a
thousand at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from bench.backlog import Alone, alone
from bench.effort import Effort
from bench.judging import replay_event
from bench.report import Report, Row, Say, at_least, at_most
from bench.seating.by_onsale import entries_of
from bench.seating.parties import draw, open_seats
from bench.seating.state import seat_state, sold_out
from onsale.processes import Stack
from store.errors import OnsaleError
from store.venues.make import make

SEATS, PARTIES = 100_000, 60_000
QUICK_SEATS, QUICK_PARTIES = 30_000, 18_000
ROUNDS = 2
THOUSAND = 1_000
SOLD = "SELECT count(*) FROM hold_seat WHERE event_id = %s"


def measure_speed(report: Report, stack: Stack, say: Say, effort: Effort) -> list[Row]:
    """`seating_decisions`, `seating_last_thousand` and `seat_state`."""
    seats, parties = effort.size(SEATS, QUICK_SEATS), effort.size(PARTIES, QUICK_PARTIES)
    say(f"{parties:,} parties for an arena of {seats:,} seats")
    plan = make("arena", seats)
    wants = draw(plan, parties=parties, seed=seats)
    entries = entries_of(wants)
    rates, lasts, lawful = [], [], True
    rounds = effort.rounds(ROUNDS)
    for number in range(1, rounds + 1):
        say(f"{parties:,} parties wait for {seats:,} seats ({number} of {rounds})")
        with alone(stack, plan) as one:
            rates.append(one.decide(entries).per_second)
            _expect_sold_out(one, open_seats(plan))
            if number == rounds:
                lawful = replay_event(report, stack.urls.database_url, one.event, "the large arena", say)
        say(f"the same, a thousand at a time ({number} of {rounds})")
        with alone(stack, plan) as one:
            costs = thousands(one.feed(entries, THOUSAND))
            lasts.append(costs[-1] / costs[0])
            report.details["us_per_thousand"] = [round(cost) for cost in costs]
    say("what the seats cost in memory")
    state = seat_state(sold_out(plan, wants))
    report.details["seat_state"] = state
    note = (
        f"in the last round the first took {costs[0] / 1e3:,.0f} ms, the dearest of the others "
        f"{max(costs[1:]) / 1e3:,.0f} ms, the last {costs[-1] / 1e3:,.0f} ms"
    )
    return [
        at_least("seating_decisions", rates, "decisions/s", 15_000, lawful=lawful),
        at_most("seating_last_thousand", lasts, "×", 2, note=note),
        at_most(
            "seat_state",
            [state.bytes_per_seat],
            "bytes",
            200,
            note=f"and {state.bytes_per_hold:,.0f} bytes a hold, {state.holds:,} of them",
        ),
    ]


def thousands(batches: Sequence[tuple[int, int]]) -> list[float]:
    """Microseconds that each thousand decisions took, of (batch time, decisions) of batches that follow each
    other without a pause. A batch lasts until the next one begins and its decisions take their share of it
    each; the last one's end is not known, so it is left out.
    """
    costs, done, cost = [], 0, 0.0
    for (begun, count), (ended, _) in pairwise(batches):
        left = count
        while left:
            part = min(left, THOUSAND - done)
            cost += (ended - begun) * part / count
            done, left = done + part, left - part
            if done == THOUSAND:
                costs.append(cost)
                done, cost = 0, 0.0
    if len(costs) < 2:
        raise OnsaleError("Fewer than two thousand decisions have a known end: give it a larger load.")
    return costs


def _expect_sold_out(one: Alone, seats: int) -> None:
    sold = one.count(SOLD)
    if sold != seats:
        raise OnsaleError(f"{sold:,} of {seats:,} seats were sold: these parties do not fill this house.")
