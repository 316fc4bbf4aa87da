"""The decision and the plain reference, living through one history side by side."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from allocator import waiting
from allocator.decide import Ask, Fact, decide
from allocator.memory import Overlay
from allocator.offering import OffersFirst
from store.plan import Plan
from store.words import (
    Blocks,
    EventState,
    GivenBack,
    HoldId,
    Micros,
    Outage,
    Policy,
    Recategorise,
    TourLimit,
)
from tests.allocator import by_hand
from tests.allocator.histories import Asked, Changed, Step
from tests.allocator.house import snapshot
from tests.allocator.pure_sale import START, Sale
from tests.allocator.reference import (
    Reference,
    ReferenceAsk,
    ReferenceFact,
    ReferenceTooManyOffers,
    in_plain,
)


def policy_fact(fact_id: int, **policy: Any) -> Fact:
    return Fact(fact_id, "policy", None, msgspec.json.encode(Policy(**policy)).decode())


def block_fact(fact_id: int, kind: str, blocks: Blocks) -> Fact:
    return Fact(fact_id, kind, None, msgspec.json.encode(blocks).decode())


def left_fact(fact_id: int, wait_id: int) -> Fact:
    return Fact(fact_id, "left", None, f'{{"wait":"{wait_id}"}}')


class Twins:
    """The decision and the reference, given the same history."""

    def __init__(
        self,
        plan: Plan,
        *,
        offers_max: int = 8_000,
        waits_max: int = 200_000,
        limits: dict[str, int] | None = None,
        tour: TourLimit | None = None,
    ) -> None:
        self.sale = Sale(plan, seats_per_buyer_max=5, limits=limits or {}, tour=tour)
        self.plan = plan
        self.reference = Reference(plan, self.sale.memory.policy, offers_max=offers_max, waits_max=waits_max)
        self.time = START
        self.fact_id = 0
        self.waited = [12345]
        """Ids of all who ever waited, and one of nobody."""

    def live(self, step: Step) -> None:
        """A step in both: same outcomes, same seats."""
        self.time += step.seconds * 1_000_000
        facts, plain_facts = self._facts(step.changed)
        if self.reference.policy.tour is not None and step.elsewhere:
            counts = {f"b{buyer}": count for buyer, count in step.elsewhere}
            facts.append(Fact(0, "elsewhere", None, msgspec.json.encode(counts).decode()))
            plain_facts.append(ReferenceFact("elsewhere", counts=counts))
        moves = any(fact.kind == "recategorised" for fact in facts)
        if moves:  # as the loop does: the requests of that batch are read again by the new plan
            self._live(facts, plain_facts, ())
            facts, plain_facts = [], []
            self.sale.follow_plan()
            self.plan = self.reference.plan
        self._live(facts, plain_facts, step.asked if not self._pauses(facts) else ())

    def _live(self, facts: list[Fact], plain_facts: list[ReferenceFact], asked: Sequence[Asked]) -> None:
        reference = self.reference
        with (
            patch.object(waiting, "OFFERS_PER_BATCH_MAX", reference.offers_max),
            patch("allocator.decide.WAITING_MAX", reference.waits_max),
        ):
            self._decide(facts, plain_facts, [self._ask(one) for one in asked])

    def _decide(self, facts: list[Fact], plain_facts: list[ReferenceFact], asks: list[Ask]) -> None:
        """As the loop does: where there are too many offers, they go first, and then half of the requests."""
        if self._batch(facts, plain_facts, asks):
            return
        owed = True
        while owed:
            assert self._batch(facts, plain_facts, []), "a batch without requests just ends"
            facts, plain_facts, owed = [], [], self.sale.memory.offers_owed
        half = len(asks) // 2
        if half:
            self._decide([], [], asks[:half])
            self._decide([], [], asks[half:])
        elif not self._batch([], [], asks):  # in life no move frees as much as a batch may offer
            assert asks[0].wish.move is not None

    def _batch(self, facts: list[Fact], plain_facts: list[ReferenceFact], asks: list[Ask]) -> bool:
        """Decided equally by all; and put back exactly when it is discarded. Or too many offers for all."""
        memory, batch_no = self.sale.memory, self.sale.memory.batch_no + 1
        plain_asks = [ReferenceAsk(ask.buyer, ask.want, ask.conflict) for ask in asks]
        before = snapshot(memory)
        overlay = Overlay(memory)
        try:
            discarded = decide(memory, overlay, batch_no, self.time, facts, asks)
        except OffersFirst:
            overlay.discard()
            assert snapshot(memory) == before
            with pytest.raises(ReferenceTooManyOffers):
                copy.deepcopy(self.reference).decide(batch_no, self.time, plain_facts, plain_asks)
            return False
        overlay.discard()
        assert snapshot(memory) == before
        twin, loaded = copy.deepcopy(memory), copy.deepcopy(memory)
        for group in loaded.waiting.groups.values():
            loaded.waiting.wake(group)
        overlay = Overlay(memory)
        decided = decide(memory, overlay, batch_no, self.time, facts, asks)
        overlay.keep(batch_no, self.time)
        assert decided.rows == discarded.rows
        for other in (twin, loaded):
            assert decide(other, Overlay(other), batch_no, self.time, facts, asks).rows == decided.rows
        assert in_plain(decided.rows) == self.reference.decide(batch_no, self.time, plain_facts, plain_asks)
        assert len(decided.answers()) == len(asks)
        self.waited += [wait.wait_id for wait in decided.waits]
        self._compare()
        return True

    def _compare(self) -> None:
        memory, reference = self.sale.memory, self.reference
        taken = reference.taken_seats()
        assert {seat for seat, hold in enumerate(memory.hold_of) if hold} == taken
        open_to_all = set(filter(reference.ladder.ordinary, range(len(self.plan.seats))))
        free = memory.seating.free
        assert {memory.layout.seat_at[slot] for slot, one in enumerate(free) if one} == open_to_all - taken
        assert memory.seats_free == len(self.plan.seats) - len(taken)
        assert memory.areas_free == [reference.places_free(area) for area in range(len(self.plan.areas))]
        active = reference.running("active")
        assert {hold_id: hold.expires_at for hold_id, hold in memory.holds.items()} == {
            hold.hold_id: hold.expires_at for hold in active
        }
        assert memory.next_expiry() == min((hold.expires_at for hold in active), default=None)
        buyers = {hold.buyer for hold in reference.running() if hold.counts}
        assert memory.count_by_buyer == {buyer: reference.count_of(buyer) for buyer in buyers}
        assert memory.count_by_category == {
            (buyer, category): count
            for buyer in buyers
            for category in memory.category_limits
            if (count := reference.count_of_category(buyer, category))
        }
        assert [(wait_id, who.buyer) for wait_id, who in memory.waiting] == [
            (wait.wait_id, wait.ask.buyer) for wait in reference.waits
        ]
        assert memory.offers_owed == reference.owed

    def _ask(self, one: Asked) -> Ask:
        """Of holds there were those that run and are the buyer's are moved most often."""
        buyer = f"b{one.buyer}"
        move: str | UnsetType = UNSET
        holds = self.reference.holds
        mine = [hold for hold in self.reference.running("active") if hold.buyer == buyer]
        if one.moves >= 0 and holds:
            among = mine if mine and one.moves % 8 else holds
            move = str(among[one.moves % len(among)].hold_id)
        return self.sale.ask(buyer, one.text(self.plan, move))._replace(conflict=one.conflict)

    def _pauses(self, facts: Sequence[Fact]) -> bool:
        policies = [msgspec.json.decode(fact.body, type=Policy) for fact in facts if fact.kind == "policy"]
        state = policies[-1].state if policies else self.reference.policy.state
        return state is EventState.PAUSED

    def _facts(self, changes: Sequence[Changed]) -> tuple[list[Fact], list[ReferenceFact]]:
        facts: list[Fact] = []
        plain: list[ReferenceFact] = []
        policy = self.reference.policy
        gone: dict[int, list[int]] = {}
        for change in changes:
            self.fact_id += 1
            if change.kind in ("paid", "released"):
                holds = [hold.hold_id for hold in self.reference.holds] or [12345]
                hold_id = holds[change.which % len(holds)]
                facts.append(Fact(self.fact_id, change.kind, HoldId(hold_id), "null"))
                plain.append(ReferenceFact(change.kind, hold_id))
                continue
            if change.kind == "left":
                wait_id = self.waited[-1 - change.which % len(self.waited)]
                facts.append(left_fact(self.fact_id, wait_id))
                plain.append(ReferenceFact("left", wait_id))
                continue
            if change.kind in ("blocked", "unblocked"):
                blocks = self._blocks(change, plain)
                facts.append(block_fact(self.fact_id, change.kind, blocks))
                plain.append(ReferenceFact(change.kind, seats=blocks.seats, areas=blocks.areas))
                continue
            if change.kind == "recategorised":
                told = self._moved(change, sum(one.kind == "recategorised" for one in plain))
                facts += [told[0]] if told else []
                plain += [told[1]] if told else []
                continue
            if change.kind in ("some", "extended", "sold", "returned"):
                told = self._by_hand(change, plain) or self._about_a_hold(change, gone)
                facts += [told[0]] if told else []
                plain += [told[1]] if told else []
                continue
            if change.kind == "outage":
                out = Outage(Micros(self.time - change.which * 200_000), change.value * 1_000_000)
                body = msgspec.json.encode(out).decode()
                facts.append(Fact(self.fact_id, "outage", None, body))
                plain.append(ReferenceFact("outage", since=out.since, by_us=out.lost_us))
                continue
            policy = self._policy(policy, change)
            facts.append(Fact(self.fact_id, "policy", None, msgspec.json.encode(policy).decode()))
            plain.append(ReferenceFact("policy", policy=policy))
        return facts, plain

    def _blocks(self, change: Changed, before: Sequence[ReferenceFact]) -> Blocks:
        """Some of the seats and places that were free (or blocked) before this step's facts and still are."""
        reference = self.reference
        touched = {seat for fact in before for seat in fact.seats}
        touched_areas = {area for fact in before for area, _ in fact.areas}
        if change.kind == "blocked":
            seats = set(range(len(self.plan.seats))) - reference.taken_seats()
            places = [reference.places_free(area) for area in range(len(self.plan.areas))]
        else:
            seats = set(reference.blocked_seats)
            places = [reference.blocked_places.count(area) for area in range(len(self.plan.areas))]
        some = tuple(sorted(seats - touched)[change.which % 7 :: 2 + change.value % 3])
        areas = [area for area, there in enumerate(places) if there and area not in touched_areas]
        return Blocks(some, tuple((area, min(places[area], 1 + change.value % 4)) for area in areas))

    def _moved(self, change: Changed, before: int) -> tuple[Fact, ReferenceFact] | None:
        """Some seats, and perhaps an area, of another category; never where there is a limit by category."""
        if self.reference.policy.limits:
            return None
        seats = tuple(range(len(self.plan.seats)))[change.which % 5 :: 1 + change.value % 4]
        areas = tuple(range(len(self.plan.areas)))[: change.value % 2]
        category = change.which % len(self.plan.categories)
        version = self.sale.memory.layout.version + before + 1
        body = msgspec.json.encode(Recategorise(version, category, seats, areas)).decode()
        told = ReferenceFact(
            "recategorised", seats=seats, areas=tuple((area, 0) for area in areas), category=category
        )
        return Fact(self.fact_id, "recategorised", None, body), told

    def _by_hand(self, change: Changed, before: Sequence[ReferenceFact]) -> by_hand.Told | None:
        if change.kind == "sold":
            off_sale = self._blocks(Changed("unblocked", change.which, change.value), before)
            return by_hand.sold(self.fact_id, change, off_sale)
        if change.kind == "returned":
            return by_hand.returned(self.fact_id, change, self.reference, before)
        return None

    def _about_a_hold(self, change: Changed, gone: dict[int, list[int]]) -> tuple[Fact, ReferenceFact] | None:
        """A hold that is extended, or gives back a seat or a place that no fact of this batch named."""
        holds = self.reference.running("active")
        if not holds or change.kind not in ("some", "extended"):
            return None
        hold = holds[change.which % len(holds)]
        if change.kind == "extended":
            by_us = change.value * 1_000_000
            fact = Fact(self.fact_id, "extended", HoldId(hold.hold_id), f'{{"by_us":{by_us}}}')
            return fact, ReferenceFact("extended", hold.hold_id, by_us=by_us)
        named = gone.setdefault(hold.hold_id, [])
        if hold.quantity - len(named) < 2:
            return None
        things = [*hold.seats, *(-1 - area for area, count in hold.areas.items() for _ in range(count))]
        for thing in named:
            things.remove(thing)
        named.append(things[change.value % len(things)])
        seats = (named[-1],) if named[-1] >= 0 else ()
        areas = () if seats else ((-1 - named[-1], 1),)
        body = msgspec.json.encode(GivenBack(seats, areas)).decode()
        told = ReferenceFact("released", hold.hold_id, seats=seats, areas=areas)
        return Fact(self.fact_id, "released", HoldId(hold.hold_id), body), told

    def _policy(self, policy: Policy, change: Changed) -> Policy:
        policy = msgspec.structs.replace(policy, holds_extended_us=0)
        paused = policy.state is EventState.PAUSED
        lost = max(1, self.time - (policy.paused_at or self.time)) if paused else 0
        if change.kind == "pause" and policy.state is EventState.OPEN:
            at = Micros(self.time - change.which * 100_000)
            return msgspec.structs.replace(policy, state=EventState.PAUSED, paused_at=at)
        if change.kind == "resume" and paused:
            return msgspec.structs.replace(
                policy, state=EventState.OPEN, paused_at=None, holds_extended_us=lost
            )
        if change.kind == "close" and change.which > 25:
            return msgspec.structs.replace(
                policy, state=EventState.CLOSED, paused_at=None, holds_extended_us=lost
            )
        limits = {name: (most + change.value) % 5 for name, most in policy.limits.items()}
        return msgspec.structs.replace(
            policy, hold_ttl_seconds=change.value, seats_per_buyer_max=change.value, limits=limits
        )
