"""One round: an event of its own, buyers, a few faults; then everything is healed and settled.

Rounds differ in what makes on-sales differ: how long holds run, how much a buyer may have, whether the
fast gate is on, how many seats there are. `KINDS` are dealt in turn.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg
from msgspec import Struct

from bench.evidence import Finding, Seen
from bench.generator import mint
from bench.target import StageEvent, Target, settle, wait_known
from bench.torture.buyer import Habits
from bench.torture.buyers import Buyers, buying
from bench.torture.faults import Broken, Torturer
from bench.torture.fleet import FleetOrders, FleetSaw
from bench.torture.mover import Move, Mover
from bench.torture.office import AtWork, BoxOffice
from bench.torture.schedule import Slot
from bench.torture.shown import shown_wrongly
from bench.torture.stage import Stage
from bench.torture.wants import house_of
from store import events, tours
from store.audit import Said
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState

WARM_SECONDS = 0.7
"""Load before the first fault."""


class EventKind(Struct, frozen=True):
    """What is on sale in a round."""

    seats: int
    standing: int
    hold_ttl_seconds: int
    seats_per_buyer_max: int
    gate: bool
    habits: Habits = Habits()
    extensions_max: int = 2
    extension_seconds: int = 1
    offer_ttl_seconds: int = 1
    limits: dict[str, int] = {}
    """By category."""
    tour_seats_max: int = 0
    """Of a tour of two dates, whose buyers ask on both; 0: no tour."""


KINDS = (
    EventKind(600, 200, 3, 1000, False),
    EventKind(300, 100, 90, 200, True, Habits(release_share=0.9), offer_ttl_seconds=90, limits={"A": 2}),
    EventKind(40, 20, 1, 8, False, Habits(release_share=0.3, confirm_share=0.002), tour_seats_max=3),
    EventKind(1200, 400, 2, 1000, True, Habits(release_share=0.4, confirm_share=0.1), 0),
)


class Fleet(Struct, frozen=True):
    """How many buyers; the first `twins` of the sockets have a second one, the next few also use HTTP."""

    buyers: int = 100
    twins: int = 30
    http_alone: int = 4
    http_twins: int = 4
    on_both_dates: int = 30
    """Of a tour: so many of the sockets' buyers ask on the other date too."""


class OtherDate(Struct):
    """The other date of a tour, in the same round."""

    event: StageEvent
    saw: FleetSaw


class Played(Struct):
    """A round that is over and not judged yet. Times are Unix seconds."""

    number: int
    event: StageEvent
    began_at: float
    load_ended_at: float
    broken: list[Broken]
    saw: FleetSaw
    noticed: list[Finding]
    """What the torturer noticed on the way: deaths, alerts, what gateways showed wrongly to the end."""
    other: OtherDate | None = None
    moves: list[Move] = []
    """Of seats to other categories, as the operator who asked for them was answered."""

    @property
    def all_seen(self) -> list[Seen]:
        return [*self.saw.seen, *(self.other.saw.seen if self.other else ())]


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
    kind, fleet = KINDS[number % len(KINDS)], fleet or Fleet()
    began_at = time.time()
    on_sale = make_events(stage.database_url, f"torture-{seed}-{number}", kind)
    targets = [Target(url, stage.database_url, stage.stack.token_secret) for url in stage.stack.base_urls]
    for target, event in itertools.product(targets, on_sale):
        wait_known(target, event)
    stage.slug = on_sale[0].slug
    torturer = Torturer(stage, lambda broken: tell(f"round {number}: {broken.kind} ({broken.victim})"))
    orders = _orders(stage, on_sale, kind, fleet, seed * 1000 + number)
    with contextlib.ExitStack() as leaving:
        all_buyers = [leaving.enter_context(buying(each)) for each in orders]
        box_office = BoxOffice(stage.database_url, stage.slug, random.Random(f"{seed} {number}"))
        leaving.callback(box_office.close)
        how = (stage.stack.base_urls, stage.stack.operator_key, on_sale[0])
        mover = Mover(*how, random.Random(f"moves {seed} {number}"))
        leaving.callback(mover.close)
        time.sleep(WARM_SECONDS)
        for slot in slots:
            torturer.go(slot)
        load_ended_at = time.time()
        at_work: list[AtWork] = [box_office, mover]
        for operator in at_work:
            operator.close()
        asked = sum(buyers.asked for buyers in all_buyers)
        tell(f"round {number}: healed; {asked:,} requests, waiting for the last answers")
        with ThreadPoolExecutor(len(all_buyers)) as hands:  # the load of both dates ends together
            saw = list(hands.map(Buyers.stop, all_buyers))
    noticed = [Finding("trouble", operator.trouble) for operator in at_work if operator.trouble]
    noticed += stage.noticed()
    for event, what in zip(on_sale, saw, strict=True):
        settle(targets[0], event, [at for one in what.seen for ask in one.asks for _, at in ask.accepted])
        noticed += shown_wrongly(targets, event)
        close_event(stage.database_url, event)
    other = OtherDate(on_sale[1], saw[1]) if len(saw) > 1 else None
    times = (began_at, load_ended_at)
    return Played(number, on_sale[0], *times, torturer.broken, saw[0], noticed, other, mover.moves)


def make_events(database_url: str, slug: str, kind: EventKind) -> list[StageEvent]:
    """An arena of its own, open; of a tour a second date of it."""
    plan = make("arena", kind.seats, standing=kind.standing)
    slugs = [slug] if not kind.tour_seats_max else [slug, f"{slug}-again"]
    made = []
    with psycopg.connect(database_url) as conn:
        venue_id = save_venue(conn, f"arena-{kind.seats}-{kind.standing}", plan)
        if kind.tour_seats_max:
            tours.create_tour(conn, f"{slug}-tour", "Torture on tour", kind.tour_seats_max)
        for each in slugs:
            event_id = events.create_event(
                conn,
                each,
                "Torture",
                venue_id,
                plan,
                hold_ttl_seconds=kind.hold_ttl_seconds,
                seats_per_buyer_max=kind.seats_per_buyer_max,
                fast_gate=kind.gate,
                extensions_max=kind.extensions_max,
                extension_seconds=kind.extension_seconds,
                offer_ttl_seconds=kind.offer_ttl_seconds,
                limits=kind.limits,
            )
            if kind.tour_seats_max:
                tours.add_event(conn, f"{slug}-tour", each, Said("torture", "two dates"))
            events.set_state(conn, each, EventState.OPEN)
            made.append(StageEvent(event_id, each, plan))
    return made


def close_event(database_url: str, event: StageEvent) -> None:
    """Nobody can ask any more."""
    with psycopg.connect(database_url) as conn:
        events.set_state(conn, event.slug, EventState.CLOSED)


def _orders(
    stage: Stage, on_sale: Sequence[StageEvent], kind: EventKind, fleet: Fleet, seed: int
) -> list[FleetOrders]:
    """For the buyers of each event; those of a tour's other date are of the first one's."""
    buyers = mint(stage.stack.token_secret, fleet.buyers + fleet.http_alone)
    alone = buyers[fleet.buyers :]
    buyers = buyers[: fleet.buyers]
    sockets, by_http = buyers + buyers[: fleet.twins], buyers[fleet.twins : fleet.twins + fleet.http_twins]
    asking = [(sockets, alone + by_http), (buyers[: fleet.on_both_dates], [])]
    return [
        FleetOrders(
            urls=stage.stack.base_urls,
            event=event.slug,
            house=house_of(event.plan),
            sockets=sockets,
            http=http,
            habits=kind.habits,
            seed=seed + 500_000 * number,
            result_path="",
        )
        for number, (event, (sockets, http)) in enumerate(zip(on_sale, asking, strict=False))
    ]
