"""One round: an event of its own, buyers, a few faults; then everything is healed, settled and judged.

Rounds differ in what makes on-sales differ: how long holds run, how much a buyer may have, whether the
fast gate is on, how many seats there are. `KINDS` are dealt in turn.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import psycopg
from msgspec import Struct, field

from bench.evidence import Finding, Seen, Truth
from bench.generator import mint
from bench.target import StageEvent, Target, examine, settle, wait_known
from bench.torture.buyer import Habits, held
from bench.torture.buyers import buying
from bench.torture.faults import Broken, Torturer, losses
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
MAP_SECONDS_MAX = 8.0
MAP_POLL_SECONDS = 0.2
STALLED_SECONDS = 15.0
"""Nothing decided for so long after the last healing is a finding."""


STATES = """
SELECT string_agg(CASE state WHEN 'available' THEN 'a' ELSE left(state, 1) END, '' ORDER BY seat_no)
  FROM seat WHERE event_id = %s
"""
PLACES = """
SELECT capacity - held - sold - blocked FROM area WHERE event_id = %s ORDER BY area_no
"""


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

    buyers: int = 100
    twins: int = 30
    http_alone: int = 4
    http_twins: int = 4


class Played(Struct):
    """A round that is over and not judged yet. Times are Unix seconds."""

    number: int
    event: StageEvent
    began_at: float
    load_ended_at: float
    broken: list[Broken]
    saw: FleetSaw
    noticed: list[Finding]
    """What the torturer noticed on the way: deaths, alerts, seat maps that stayed wrong."""


class RoundResult(Struct):
    """What a round showed."""

    number: int
    event: str
    faults: list[str] = field(default_factory=list)
    """Told with seconds since the round began."""
    faults_by_kind: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    decisions: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    epochs: int = 0
    late: int = 0
    """Requests the stream lost that were overtaken, or asked anew, because who waited was gone as well."""
    gap_seconds: float = 0.0
    """The longest time without a decision, under load."""
    gap_fault: str = ""
    errors: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def play(
    stage: Stage,
    number: int,
    slots: Iterable[Slot],
    *,
    seed: int,
    fleet: Fleet | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Played:
    """One round on a running stage, up to the last answer."""
    kind = KINDS[number % len(KINDS)]
    began_at = time.time()
    event = make_event(stage.database_url, f"torture-{seed}-{number}", kind)
    targets = [Target(url, stage.database_url, stage.stack.token_secret) for url in stage.stack.base_urls]
    for target in targets:
        wait_known(target, event)
    stage.slug = event.slug
    torturer = Torturer(stage, lambda broken: tell(f"round {number}: {broken.kind} ({broken.victim})"))
    with buying(_orders(stage, event, kind, fleet or Fleet(), seed * 1000 + number)) as buyers:
        time.sleep(WARM_SECONDS)
        for slot in slots:
            torturer.go(slot)
        load_ended_at = time.time()
        tell(f"round {number}: healed; {buyers.asked:,} requests, waiting for the last answers")
        saw = buyers.stop()
    arrivals = [arrival for one in saw.seen for ask in one.asks for _, arrival in ask.accepted]
    settle(targets[0], event, arrivals)
    noticed = [*stage.noticed(), *wrong_maps(targets, event)]
    close_event(stage.database_url, event)
    return Played(number, event, began_at, load_ended_at, torturer.broken, saw, noticed)


def judge_round(database_url: str, played: Played) -> RoundResult:
    """Ask the checker and the replay, then what only a torture can see."""
    saw = played.saw
    judged, truth = examine(database_url, played.event, saw.seen, losses(played.broken))
    findings = [finding for finding in judged if finding.kind != "late"]
    requests = [row for row in truth.ledger if row.kind == "request"]
    result = RoundResult(
        played.number,
        played.event.slug,
        [broken.story(played.began_at) for broken in played.broken],
        Counter(broken.kind for broken in played.broken),
        asked=sum(len(one.asks) for one in saw.seen),
        decisions=len(requests),
        outcomes=Counter(row.outcome for row in requests),
        epochs=len({batch.epoch for batch in truth.batches}),
        errors=saw.errors,
    )
    findings += played.noticed
    findings += unanswered(saw)
    findings += own_holds_denied(saw.seen)
    findings += strange_errors(saw.errors)
    findings += troubles(played)
    findings += stalled(truth, played, result)
    result.late = sum(finding.kind == "late" for finding in judged)
    result.findings = list(dict.fromkeys(findings))
    return result


def troubles(played: Played) -> list[Finding]:
    """What the torturer could not do."""
    return [
        Finding("trouble", f"{broken.story(played.began_at)}: {broken.trouble}")
        for broken in played.broken
        if broken.trouble
    ]


def wrong_maps(targets: Sequence[Target], event: StageEvent) -> list[Finding]:
    """Gateways whose seat map does not become what the table says."""
    give_up_at = time.monotonic() + MAP_SECONDS_MAX
    wrong = list(targets)
    while wrong and time.monotonic() < give_up_at:
        time.sleep(MAP_POLL_SECONDS)
        wrong = [target for target in wrong if _map(target, event) != _table(target, event)]
    return [
        Finding(
            "unexplained", f"The seat map of {target.base_url} stays wrong: {_difference(target, event)}."
        )
        for target in wrong
    ]


def _difference(target: Target, event: StageEvent) -> str:
    (shown, shown_free), (true, true_free) = _map(target, event), _table(target, event)
    seats = [
        f"{seat.guid} {ours!r} instead of {theirs!r}"
        for seat, ours, theirs in zip(event.plan.seats, shown, true, strict=False)
        if ours != theirs
    ]
    return f"{len(seats)} seats ({', '.join(seats[:5])}), free places {shown_free} instead of {true_free}"


def _map(target: Target, event: StageEvent) -> tuple[str, list[int]]:
    url = f"{target.base_url}/v1/events/{event.slug}/seats"
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            shown = json.load(answer)
    except (OSError, ValueError):
        return "", []
    return shown["states"], shown["areas"]


def _table(target: Target, event: StageEvent) -> tuple[str, list[int]]:
    with psycopg.connect(target.database_url) as conn:
        letters = conn.execute(STATES, (event.id,)).fetchone()
        free = conn.execute(PLACES, (event.id,)).fetchall()
    assert letters is not None, "an aggregate has a row"
    return letters[0], [places for (places,) in free]


def unanswered(saw: FleetSaw) -> list[Finding]:
    """What was asked for until long after the healing, in vain."""
    return [
        Finding("unanswered", f"{what} got no answer, long after everything was healed.")
        for what in saw.unanswered
    ]


def own_holds_denied(seen: list[Seen]) -> list[Finding]:
    """A hold that somebody was told they have, and then that there is no such hold of theirs."""
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


def stalled(truth: Truth, played: Played, result: RoundResult) -> list[Finding]:
    """Sets the longest gap and its faults; a finding where no fault explains it."""
    deciding = {row.batch_no for row in truth.ledger if row.kind == "request"}
    times = sorted(batch.batch_time / 1e6 for batch in truth.batches if batch.batch_no in deciding)
    if not times:
        return [Finding("stalled", "Nothing was decided in the whole round.")]
    within = [*[at for at in times if at <= played.load_ended_at], played.load_ended_at]
    start, end = max(pairwise([times[0], *within]), key=lambda gap: gap[1] - gap[0])
    during = [each for each in played.broken if each.at < end and each.healed_at > start - 1.0]
    result.gap_seconds = round(end - start, 2)
    result.gap_fault = f"at {start - played.began_at:.1f} s: " + "; ".join(
        each.story(played.began_at) for each in during
    )
    healed = max((each.healed_at for each in during), default=start)
    if end - max(start, healed) > STALLED_SECONDS:
        story = f"Nothing was decided for {end - start:.1f} s, {end - healed:.1f} s after healing"
        return [Finding("stalled", f"{story}: {result.gap_fault}.")]
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
