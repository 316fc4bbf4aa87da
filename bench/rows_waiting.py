"""The row about a long waiting list: what it costs those who ask meanwhile (`waiting_list_pass`)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median

import psycopg
from msgspec import Raw, structs

from bench.backlog import Alone, allocator_stack, alone, mixed
from bench.effort import Effort
from bench.generator import named_seat
from bench.judging import judge_event
from bench.report import Report, Say, at_most
from onsale.processes import Stack
from store import blocks
from store.audit import Said
from store.plan import Plan
from store.venues.make import make
from store.wire import Entry, canonical_want, encode_entry
from store.words import WAITING_PER_BUYER_MAX, Best, Want

ROUNDS = 3
SEATS = 20_000
SECTION = "Block 108"
"""Held by then, every seat by somebody else; who waits, waits for some of it."""
WAITING = 100_000
BACKLOG, BURST, ONE_IN = 40_000, 4_000, 10
"""So many requests in bursts, each about a batch, and one in so many held."""
PARTY_MAX = 8
SAID = Said("benchmark", "a seat comes back")

HOLDS = "SELECT hold_id FROM hold WHERE event_id = %s AND buyer LIKE 'sits-%%' ORDER BY hold_id"
OFFERS = "SELECT count(*) FROM ledger WHERE event_id = %s AND kind = 'offer'"


def measure_waiting(report: Report, say: Say, effort: Effort) -> None:
    """`waiting_list_pass`: the same backlog beside a list and without one, in which as many asked in vain.

    Before each burst a hold of the section is taken back, so each batch has something to offer. CPU per
    decision of allocator, Postgres and Valkey together, rounds in turn.
    """
    waiting = effort.size(WAITING, 20_000)
    costs: dict[bool, list[float]] = {True: [], False: []}
    plan, lawful = make("arena", SEATS), True
    rounds = effort.rounds(ROUNDS)
    with allocator_stack() as stack:
        for number in range(1, rounds + 1):
            for waits, found in costs.items():
                beside = f"{waiting:,} who {'wait' if waits else 'were refused'}"
                say(f"waiting_list_pass: {BACKLOG:,} requests beside {beside} ({number} of {rounds})")
                with alone(stack, plan) as one:
                    found.append(_cost(stack, one, plan, waiting, waits=waits))
                    if waits and number == rounds:
                        url = stack.urls.database_url
                        lawful = judge_event(report, url, one.event, [], "waiting_list_pass, last round", say)
    ratios = [cost / median(costs[False]) for cost in costs[True]]
    note = f"beside {waiting:,} who wait for {len(wants_of(plan))} different things"
    report.rows.append(at_most("waiting_list_pass", ratios, "×", 1.3, lawful=lawful, note=note))
    report.details["waiting_list_pass_cpu_us_per_decision"] = {
        "with a list": [round(cost, 1) for cost in costs[True]],
        "without": [round(cost, 1) for cost in costs[False]],
    }


def _cost(stack: Stack, one: Alone, plan: Plan, waiting: int, *, waits: bool) -> float:
    """Microseconds of CPU for each decision of the backlog."""
    section = section_of(plan)
    sits = [_entry(f"sits-{guid}", "r1", named_seat(guid).encode()) for guid in section]
    one.decide(sits)
    one.decide(list(who_wait(plan, waiting, waits=waits)))
    others = structs.replace(plan, seats=tuple(seat for seat in plan.seats if seat.guid not in section))
    entries = mixed(others, BACKLOG, BACKLOG // ONE_IN)
    with psycopg.connect(stack.urls.database_url, autocommit=True) as conn:
        holds = iter([hold for (hold,) in conn.execute(HOLDS, (one.event.id,)).fetchall()])

        def take_one_back() -> None:
            blocks.release_hold(conn, one.event.id, plan, next(holds), SAID)

        cpu = one.cpu_seconds(lambda: one.feed(entries, BURST, before_each=take_one_back))
    offers = one.count(OFFERS)
    assert offers == (len(entries) // BURST if waits else 0), f"{offers} offers"
    return cpu / len(entries) * 1e6


def section_of(plan: Plan) -> list[str]:
    """Guids of the section that is held, neighbours beside each other."""
    number = next(n for n, section in enumerate(plan.sections) if section.name == SECTION)
    return [seat.guid for seat in plan.seats if seat.section == number]


def wants_of(plan: Plan) -> list[Want]:
    """A few hundred things that nobody can have while that section is held."""
    section = section_of(plan)
    ones = [Want(seats=(guid,)) for guid in section]
    twos = [Want(seats=pair) for pair in pairwise(section)]
    return [*ones, *twos, *(Want(best=Best(size, SECTION)) for size in range(1, PARTY_MAX + 1))]


def who_wait(plan: Plan, count: int, *, waits: bool) -> Iterator[bytes]:
    """So many requests for these in turn, as many of each buyer as may wait; without `waits` just refused."""
    wants = [canonical_want(structs.replace(want, waitlist=waits)) for want in wants_of(plan)]
    for number in range(count):
        buyer, own = divmod(number, WAITING_PER_BUYER_MAX)
        yield _entry(f"waits-{buyer:06d}", f"w{own}", wants[number % len(wants)])


def _entry(buyer: str, request_id: str, want: bytes) -> bytes:
    return encode_entry(Entry(buyer, request_id, Raw(want), "bench"))
