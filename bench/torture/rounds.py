"""One round: an event of its own, buyers, a few faults; then everything is healed, settled and judged.

Rounds differ in what makes on-sales differ: how long holds run, how much a buyer may have, whether the
fast gate is on, how many seats there are. `KINDS` are dealt in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import pairwise

import psycopg
from msgspec import Struct, field

from bench.evidence import Finding, Seen, Truth
from bench.generator import mint
from bench.target import StageEvent, Target, examine, settle, wait_known
from bench.torture.buyer import Habits
from bench.torture.buyers import buying
from bench.torture.faults import Broken, Torturer
from bench.torture.fleet import FleetOrders, FleetSaw
from bench.torture.schedule import Slot
from bench.torture.stage import Stage
from bench.torture.wants import house_of
from store import events
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState

WARM_SECONDS = 0.7
"""Load before the first fault."""
STALLED_SECONDS = 15.0
"""Nothing decided for so long after the last healing is a finding."""


class EventKind(Struct, frozen=True):
    """What is on sale in a round."""

    seats: int
    standing: int
    hold_ttl_seconds: int
    seats_per_buyer_max: int
    gate: bool
    habits: Habits = Habits()


KINDS = (
    EventKind(600, 200, 3, 1000, False),
    EventKind(300, 100, 90, 200, True, Habits(release_share=0.9)),
    EventKind(40, 20, 1, 8, False, Habits(release_share=0.3, confirm_share=0.002)),
    EventKind(1200, 400, 2, 1000, True, Habits(release_share=0.4, confirm_share=0.1)),
)


class Fleet(Struct, frozen=True):
    """How many buyers; the first `twins` of the sockets have a second one, the next few also use HTTP."""

    buyers: int = 44
    twins: int = 14
    http_alone: int = 4
    http_twins: int = 4


class RoundResult(Struct):
    """What a round showed. Times are Unix seconds."""

    number: int
    event: str
    began_at: float
    broken: list[Broken] = field(default_factory=list)
    asked: int = 0
    decisions: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    epochs: int = 0
    gap_seconds: float = 0.0
    """The longest time without a decision, under load."""
    gap_fault: str = ""
    errors: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0


def play(
    stage: Stage,
    number: int,
    slots: Iterable[Slot],
    *,
    seed: int,
    fleet: Fleet | None = None,
    kind: EventKind | None = None,
    tell: Callable[[str], None] = lambda _: None,
    before_judging: Callable[[str, list[Seen]], None] = lambda url, seen: None,
) -> RoundResult:
    """One round on a running stage. `before_judging` gets the database and what buyers saw, for tests."""
    began = time.time()
    kind = kind or KINDS[number % len(KINDS)]
    event = make_event(stage.database_url, f"torture-{seed}-{number}", kind)
    result = RoundResult(number, event.slug, began)
    for url in stage.stack.base_urls:
        wait_known(Target(url, stage.database_url, stage.stack.token_secret), event)
    torturer = Torturer(stage, lambda broken: tell(f"round {number}: {broken.kind} ({broken.victim})"))
    with buying(_orders(stage, event, kind, fleet or Fleet(), seed * 1000 + number)) as buyers:
        time.sleep(WARM_SECONDS)
        for slot in slots:
            torturer.go(slot)
        load_ended = time.time()
        tell(f"round {number}: everything is healed; {buyers.asked:,} requests, waiting for the last answers")
        saw = buyers.stop()
    result.broken, result.errors = torturer.broken, saw.errors
    arrivals = [arrival for one in saw.seen for ask in one.asks for _, arrival in ask.accepted]
    settle(Target(stage.stack.base_url, stage.database_url, ""), event, arrivals)
    close_event(stage.database_url, event)
    before_judging(stage.database_url, saw.seen)
    tell(f"round {number}: judging")
    judged(stage, event, saw, result, load_ended)
    result.seconds = time.time() - began
    return result


def judged(stage: Stage, event: StageEvent, saw: FleetSaw, result: RoundResult, load_ended: float) -> None:
    """Ask the checker and the replay, then what only a torture can see."""
    findings, truth = examine(stage.database_url, event, saw.seen)
    requests = [row for row in truth.ledger if row.kind == "request"]
    result.asked = sum(len(one.asks) for one in saw.seen)
    result.decisions = len(requests)
    for row in requests:
        result.outcomes[row.outcome] = result.outcomes.get(row.outcome, 0) + 1
    result.epochs = len({batch.epoch for batch in truth.batches})
    findings += unanswered(saw)
    findings += own_holds_denied(saw.seen)
    findings += strange_errors(saw.errors)
    findings += [
        Finding("trouble", each.story(result.began_at) + f": {each.trouble}")
        for each in result.broken
        if each.trouble
    ]
    findings += [Finding("died", story) for story in stage.deaths]
    stage.deaths.clear()
    findings += stalled(truth, result, load_ended)
    result.findings = list(dict.fromkeys(findings))


def unanswered(saw: FleetSaw) -> list[Finding]:
    """What was asked for until long after the healing, in vain."""
    return [
        Finding("unanswered", f"{what} got no answer, long after everything was healed.")
        for what in saw.unanswered
    ]


def own_holds_denied(seen: list[Seen]) -> list[Finding]:
    """A hold that somebody was told they have, and then that there is no such hold of theirs."""
    from bench.torture.buyer import held

    found = []
    mine: dict[str, set[str]] = {}
    for one in seen:
        mine.setdefault(one.buyer, set()).update(hold for ask in one.asks if (hold := held(ask)))
    for one in seen:
        for op in one.hold_ops:
            if op.error == "hold_not_found" and op.hold in mine[one.buyer]:
                story = f"{one.buyer} was told it has hold {op.hold}, then that it has no such hold."
                found.append(Finding("unexplained", story))
    return found


EXPECTED_CLOSES = ("1001", "1005", "1006", "1012", "1013", "4409")


def strange_errors(errors: dict[str, int]) -> list[Finding]:
    """Errors that no fault explains: a 500, a socket closed for a reason that is not a fault's."""
    found = []
    for error, count in errors.items():
        odd = error.startswith(("500", "501", "400", "401", "403")) or "not JSON" in error
        odd = odd or (error.startswith("closed: ") and not error[8:].startswith(EXPECTED_CLOSES))
        if odd:
            found.append(Finding("unexplained", f"Clients were answered {error!r} {count} times."))
    return found


def stalled(truth: Truth, result: RoundResult, load_ended: float) -> list[Finding]:
    """Sets the longest gap and its faults; a finding where no fault explains it."""
    deciding = {row.batch_no for row in truth.ledger if row.kind == "request"}
    times = sorted(batch.batch_time / 1e6 for batch in truth.batches if batch.batch_no in deciding)
    within = [result.began_at, *[at for at in times if at <= load_ended], load_ended]
    if not times:
        return [Finding("stalled", "Nothing was decided in the whole round.")]
    within[0] = times[0]
    start, end = max(pairwise(within), key=lambda gap: gap[1] - gap[0])
    during = [each for each in result.broken if each.at < end and each.healed_at > start - 1.0]
    result.gap_seconds = round(end - start, 2)
    result.gap_fault = "; ".join(each.kind for each in during)
    healed = max((each.healed_at for each in during), default=start)
    if end - max(start, healed) > STALLED_SECONDS:
        story = f"Nothing was decided for {end - start:.1f} s, {end - healed:.1f} s after healing"
        return [Finding("stalled", f"{story}: {result.gap_fault or 'no fault at all'}.")]
    return []


def make_event(database_url: str, slug: str, kind: EventKind) -> StageEvent:
    """An arena of its own, open."""
    plan = make("arena", kind.seats, standing=kind.standing)
    with psycopg.connect(database_url) as conn:
        venue_id = save_venue(conn, f"arena-{kind.seats}-{kind.standing}", plan)
        event_id = events.create_event(
            conn,
            slug,
            "Torture",
            venue_id,
            plan,
            hold_ttl_seconds=kind.hold_ttl_seconds,
            seats_per_buyer_max=kind.seats_per_buyer_max,
            fast_gate=kind.gate,
        )
        events.set_state(conn, slug, EventState.OPEN)
    return StageEvent(event_id, slug, plan)


def close_event(database_url: str, event: StageEvent) -> None:
    """Nobody can ask any more."""
    with psycopg.connect(database_url) as conn:
        events.set_state(conn, event.slug, EventState.CLOSED)


def _orders(stage: Stage, event: StageEvent, kind: EventKind, fleet: Fleet, seed: int) -> FleetOrders:
    buyers = mint(stage.stack.token_secret, fleet.buyers + fleet.http_alone)
    alone = buyers[fleet.buyers :]
    buyers = buyers[: fleet.buyers]
    return FleetOrders(
        urls=stage.stack.base_urls,
        event=event.slug,
        house=house_of(event.plan),
        sockets=buyers + buyers[: fleet.twins],
        http=alone + buyers[fleet.twins : fleet.twins + fleet.http_twins],
        habits=kind.habits,
        seed=seed,
        result_path="",
    )
