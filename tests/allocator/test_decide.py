"""The decision: alone in sentences, and against a plain slow reference over random histories."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from msgspec import UNSET, UnsetType

from allocator.decide import EXPIRIES_PER_BATCH_MAX, Ask, Fact, decide
from allocator.memory import BLOCKED, Hold, Overlay
from store.plan import Plan
from store.words import Blocks, Choice, EventState, GivenBack, HoldId, Micros, Policy, TourLimit, Want
from tests.allocator import histories
from tests.allocator.histories import Asked, Changed, Step
from tests.allocator.house import best, plan_of, seats, snapshot
from tests.allocator.pure_sale import START, TTL_SECONDS, Sale
from tests.allocator.reference import Reference, ReferenceAsk, ReferenceFact, in_plain


def policy_fact(fact_id: int, **policy: Any) -> Fact:
    return Fact(fact_id, "policy", None, msgspec.json.encode(Policy(**policy)).decode())


def block_fact(fact_id: int, kind: str, blocks: Blocks) -> Fact:
    return Fact(fact_id, kind, None, msgspec.json.encode(blocks).decode())


def test_named_seats_are_held_in_the_order_named_until_the_ttl_is_over():
    sale = Sale()
    outcome, result = sale.answer("ann", '{"seats":["A-2","A-1"]}')
    assert (outcome, result["seats"]) == ("held", ["A-2", "A-1"])
    assert result["expires_at"] == START // 1000 + TTL_SECONDS * 1000


def test_of_two_who_want_the_same_seat_the_first_has_it_and_the_other_is_told_which_is_taken():
    sale = Sale()
    first, second = sale.batch(sale.ask("ann", seats("A-1")), sale.ask("bob", seats("A-2", "A-1"))).rows
    assert first.outcome == "held"
    assert (second.outcome, second.result) == ("taken", '{"taken":["A-1"],"instead":[["A-5","A-6"]]}')


def test_a_request_is_all_or_nothing_over_seats_best_and_areas():
    sale = Sale(plan_of(rows=1, seats_a_row=3, standing=2))
    too_many_places = Want(seats=("A-1",), areas={"floor": 3})
    assert sale.answer("ann", too_many_places) == ("sold_out", {"reason": "area_full", "free": 2})
    not_together = Want(seats=("A-2",), best=best(2).best)
    assert sale.answer("ann", not_together) == ("sold_out", {"reason": "none_together", "largest": 1})
    both = Want(seats=("A-1",), best=best(2).best, areas={"floor": 2})
    assert sale.answer("ann", both)[1]["seats"] == ["A-1", "A-2", "A-3"]
    assert sale.memory.areas_free == [0]
    assert sale.memory.seats_free == 0


def test_best_available_is_the_plans_best_run_and_never_crosses_an_aisle_or_a_row():
    sale = Sale(plan_of(rows=2, seats_a_row=3))
    answers = [sale.answer(buyer, best(2))[1].get("seats") for buyer in "abc"]
    assert answers == [["A-2", "A-3"], ["B-2", "B-3"], None]


def test_best_available_keeps_to_its_section_and_category():
    sale = Sale(plan_of(rows=2, seats_a_row=3))
    assert sale.answer("ann", best(1, category="Silver"))[1]["seats"] == ["B-3"]
    assert sale.answer("ann", best(1, section="Stalls", category="Gold"))[1]["seats"] == ["A-3"]


def test_a_buyer_gets_no_more_than_the_limit_over_all_holds_and_orders():
    sale = Sale(seats_per_buyer_max=3)
    sale.answer("ann", seats("A-1", "A-2"))
    sale.batch(facts=[Fact(1, "paid", sale.hold_of("ann"), "null")])
    assert sale.answer("ann", seats("A-3", "A-4")) == ("limit_reached", {"reason": "limit", "limit": 3})
    assert sale.answer("ann", Want(areas={"floor": 1}))[0] == "held"
    assert sale.answer("ann", seats("A-5"))[0] == "limit_reached"


@pytest.mark.parametrize("fallbacks", [(), (Choice(seats=("A-2",), up_to=True),)])
def test_one_seat_or_fewer_is_that_seat_also_for_who_is_at_the_limit(fallbacks):
    sale = Sale(seats_per_buyer_max=1)
    sale.answer("bob", seats("A-1"))
    sale.answer("ann", seats("A-2"))
    want = Want(seats=("A-1",), up_to=True, fallbacks=fallbacks)
    assert sale.answer("ann", want)[0] == "taken"  # without the limit there were no more to be had


def test_a_blocked_seat_is_taken_and_is_not_given_as_best():
    sale = Sale(plan_of(rows=1, seats_a_row=2))
    sale.memory.take(0, BLOCKED)
    assert sale.answer("ann", seats("A-1"))[0] == "taken"
    assert sale.answer("ann", best(1))[1]["seats"] == ["A-2"]


def test_what_an_operator_blocks_is_off_sale_from_that_batch_on_and_on_sale_again_when_unblocked():
    sale = Sale(plan_of(rows=1, seats_a_row=4, standing=5))
    blocks = Blocks((0, 1), ((0, 3),))
    decided = sale.batch(
        sale.ask("ann", seats("A-1")),
        sale.ask("bob", Want(areas={"floor": 3})),
        facts=[block_fact(1, "blocked", blocks)],
    )
    assert [(row.kind, row.outcome) for row in decided.rows] == [
        ("fact", "blocked"),
        ("request", "taken"),
        ("request", "sold_out"),
    ]
    assert decided.rows[0].input == '{"fact":1,"hold":null,"body":{"seats":[0,1],"areas":[[0,3]]}}'
    assert decided.blocks_by_fact == [blocks]
    assert sale.answer("eve", best(3))[0] == "sold_out"
    assert (sale.memory.seats_free, sale.memory.areas_free) == (2, [2])
    decided = sale.batch(
        sale.ask("ann", best(4)),
        sale.ask("bob", Want(areas={"floor": 4})),
        facts=[block_fact(2, "unblocked", Blocks((1,), ((0, 1),)))],
    )
    assert [row.outcome for row in decided.rows[1:]] == ["sold_out", "sold_out"]
    decided = sale.batch(
        sale.ask("ann", best(4)),
        sale.ask("bob", Want(areas={"floor": 4})),
        facts=[block_fact(3, "unblocked", Blocks((0,), ((0, 2),)))],
    )
    assert [row.outcome for row in decided.rows[1:]] == ["held", "held"]


@pytest.mark.parametrize("kind", ["blocked", "unblocked"])
def test_a_block_that_the_loaded_tables_show_already_changes_nothing_a_second_time(kind):
    sale = Sale(plan_of(rows=1, seats_a_row=2, standing=5))
    sale.memory.reflected = frozenset({7})
    before = snapshot(sale.memory)
    decided = sale.batch(facts=[block_fact(7, kind, Blocks((0,), ((0, 3),)))])
    assert [row.outcome for row in decided.rows] == [kind]
    assert snapshot(sale.memory) == before | {
        "batch_no": sale.memory.batch_no,
        "batch_time": sale.memory.batch_time,
    }


def test_a_freed_seat_goes_to_the_first_who_asks_in_the_same_batch():
    sale = Sale()
    sale.answer("ann", seats("A-1"))
    decided = sale.batch(
        sale.ask("bob", seats("A-1")), facts=[Fact(7, "released", sale.hold_of("ann"), "null")]
    )
    assert [row.kind for row in decided.rows] == ["fact", "request"]
    assert decided.rows[1].outcome == "held"


def test_a_hold_runs_out_exactly_when_its_time_is_over_and_the_batch_says_so_before_it_answers():
    sale = Sale()
    sale.answer("ann", seats("A-1"))
    assert (
        sale.batch(sale.ask("bob", seats("A-1")), seconds=TTL_SECONDS - 0.000001).rows[-1].outcome == "taken"
    )
    decided = sale.batch(sale.ask("bob", seats("A-1")), seconds=0.000001)
    assert [(row.kind, row.outcome) for row in decided.rows] == [("expired", "expired"), ("request", "held")]


def test_a_paid_hold_does_not_run_out_and_a_fact_about_an_unknown_hold_changes_nothing():
    sale = Sale()
    sale.answer("ann", seats("A-1"))
    sale.batch(facts=[Fact(1, "paid", sale.hold_of("ann"), "null")])
    before = snapshot(sale.memory)
    decided = sale.batch(
        facts=[Fact(2, "released", HoldId(77), "null"), Fact(3, "paid", HoldId(78), "null")], seconds=1000
    )
    assert [row.kind for row in decided.rows] == ["fact", "fact"]
    assert before | snapshot(sale.memory) == before | {
        "batch_no": sale.memory.batch_no,
        "batch_time": sale.memory.batch_time,
    }


def test_a_paid_hold_keeps_its_seats_and_what_it_counts():
    sale = Sale(seats_per_buyer_max=1)
    sale.answer("ann", seats("A-1"))
    sale.batch(facts=[Fact(1, "paid", sale.hold_of("ann"), "null")])
    assert sale.answer("bob", seats("A-1")) == ("taken", {"taken": ["A-1"], "instead": [["A-6"]]})
    assert sale.answer("ann", seats("A-2"))[0] == "limit_reached"


def test_a_mass_expiry_is_spread_over_batches_oldest_first():
    sale = Sale(plan_of(rows=1, seats_a_row=1, standing=5000), seats_per_buyer_max=1)
    asks = [sale.ask(f"b{n}", Want(areas={"floor": 1})) for n in range(EXPIRIES_PER_BATCH_MAX + 5)]
    sale.batch(*asks)
    ran_out = [len(sale.batch(seconds=TTL_SECONDS).expired) for _ in range(3)]
    assert ran_out == [EXPIRIES_PER_BATCH_MAX, 5, 0]


@pytest.mark.parametrize("state", [EventState.DRAFT, EventState.LOBBY, EventState.CLOSED])
def test_an_event_that_does_not_sell_answers_closed_and_why(state):
    sale = Sale()
    sale.batch(facts=[policy_fact(1, state=state)])
    assert sale.answer("ann", seats("A-1")) == ("closed", {"reason": f"event_{state}"})


def test_an_unreadable_or_conflicting_request_is_told_so_even_when_the_event_is_closed():
    sale = Sale()
    sale.batch(facts=[policy_fact(1, state=EventState.CLOSED)])
    assert sale.answer("ann", seats("Z-9")) == ("invalid", {"reason": "unknown_seat"})
    conflicting = sale.ask("ann", seats("A-1"))._replace(conflict=True)
    assert sale.batch(conflicting).rows[-1].outcome == "conflict"


def test_while_paused_no_request_may_be_decided_and_no_hold_runs_out_that_ran_at_the_pause():
    sale = Sale()
    sale.answer("ann", seats("A-1"))
    paused_at = Micros(START + 3_000_000)
    pause = policy_fact(1, state=EventState.PAUSED, hold_ttl_seconds=TTL_SECONDS, paused_at=paused_at)
    assert sale.batch(facts=[pause], seconds=1000).expired == []
    with pytest.raises(AssertionError):
        sale.batch(sale.ask("bob", seats("A-1")))


def test_resuming_gives_every_hold_that_ran_at_the_pause_the_lost_time_back():
    sale = Sale()
    sale.answer("ann", seats("A-1"))
    paused_at = Micros(START + 3_000_000)
    rules = {"hold_ttl_seconds": TTL_SECONDS}
    sale.batch(facts=[policy_fact(1, state=EventState.PAUSED, paused_at=paused_at, **rules)], seconds=3)
    sale.batch(
        facts=[policy_fact(2, state=EventState.OPEN, holds_extended_us=60_000_000, **rules)], seconds=60
    )
    assert sale.memory.next_expiry() == START + (TTL_SECONDS + 60) * 1_000_000
    assert sale.batch(seconds=4.9).expired == []
    assert len(sale.batch(seconds=0.1).expired) == 1


def test_a_fact_that_the_loaded_tables_show_already_gives_no_time_back_a_second_time():
    sale = Sale()
    sale.answer("ann", seats("A-1"))
    sale.memory.reflected = frozenset({2})
    before = sale.memory.next_expiry()
    sale.batch(facts=[policy_fact(1, state=EventState.PAUSED, paused_at=Micros(START + 1))])
    sale.batch(facts=[policy_fact(2, state=EventState.OPEN, holds_extended_us=5)])
    assert sale.memory.next_expiry() == before


def test_a_hold_id_says_in_which_batch_and_where_it_was_decided():
    sale = Sale()
    sale.memory.batch_no = 41
    decided = sale.batch(sale.ask("ann", seats("Z-9")), sale.ask("bob", seats("A-1")))
    assert decided.claims[0].hold_id == 42 << 16 | 1


class Twins:
    """The decision and the reference, given the same history."""

    def __init__(self, plan: Plan, limits: dict[str, int], tour: TourLimit | None) -> None:
        self.sale = Sale(plan, seats_per_buyer_max=5, limits=limits, tour=tour)
        self.plan = plan
        self.reference = Reference(plan, self.sale.memory.policy)
        self.time = START
        self.fact_id = 0

    def live(self, step: Step) -> None:
        """One batch in both: same outcomes, same seats; and put back exactly when it is discarded."""
        memory = self.sale.memory
        self.time += step.seconds * 1_000_000
        batch_no = memory.batch_no + 1
        facts, plain_facts = self._facts(step.changed)
        if self.reference.policy.tour is not None and step.elsewhere:
            counts = {f"b{buyer}": count for buyer, count in step.elsewhere}
            facts.append(Fact(0, "elsewhere", None, msgspec.json.encode(counts).decode()))
            plain_facts.append(ReferenceFact("elsewhere", counts=counts))
        asked = step.asked if not self._pauses(facts) else ()
        asks = [self._ask(one) for one in asked]
        before = snapshot(memory)
        overlay = Overlay(memory)
        discarded = decide(memory, overlay, batch_no, self.time, facts, asks)
        overlay.discard()
        assert snapshot(memory) == before
        twin = copy.deepcopy(memory)
        overlay = Overlay(memory)
        decided = decide(memory, overlay, batch_no, self.time, facts, asks)
        overlay.keep(batch_no, self.time)
        assert decided.rows == discarded.rows
        assert decide(twin, Overlay(twin), batch_no, self.time, facts, asks).rows == decided.rows
        plain_asks = [ReferenceAsk(ask.buyer, ask.want, ask.conflict) for ask in asks]
        assert in_plain(decided.rows) == self.reference.decide(batch_no, self.time, plain_facts, plain_asks)
        self._compare()

    def _compare(self) -> None:
        memory, reference = self.sale.memory, self.reference
        taken = reference.taken_seats()
        assert {seat for seat, hold in enumerate(memory.hold_of) if hold} == taken
        open_to_all = set(filter(reference.ladder.ordinary, range(len(self.plan.seats))))
        free = memory.seating.free
        assert {self.sale.layout.seat_at[slot] for slot, one in enumerate(free) if one} == open_to_all - taken
        assert memory.seats_free == len(self.plan.seats) - len(taken)
        assert memory.areas_free == [reference.places_free(area) for area in range(len(self.plan.areas))]
        active = reference.running("active")
        assert {hold_id: hold.expires_at for hold_id, hold in memory.holds.items()} == {
            hold.hold_id: hold.expires_at for hold in active
        }
        assert memory.next_expiry() == min((hold.expires_at for hold in active), default=None)
        buyers = {hold.buyer for hold in reference.running()}
        assert memory.count_by_buyer == {buyer: reference.count_of(buyer) for buyer in buyers}
        assert memory.count_by_category == {
            (buyer, category): count
            for buyer in buyers
            for category in memory.category_limits
            if (count := reference.count_of_category(buyer, category))
        }

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
            if change.kind in ("blocked", "unblocked"):
                blocks = self._blocks(change, plain)
                facts.append(block_fact(self.fact_id, change.kind, blocks))
                plain.append(ReferenceFact(change.kind, seats=blocks.seats, areas=blocks.areas))
                continue
            if change.kind in ("some", "extended"):
                told = self._about_a_hold(change, gone)
                facts += [told[0]] if told else []
                plain += [told[1]] if told else []
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

    def _about_a_hold(self, change: Changed, gone: dict[int, list[int]]) -> tuple[Fact, ReferenceFact] | None:
        """A hold that is extended, or gives back a seat or a place that no fact of this batch named."""
        holds = self.reference.running("active")
        if not holds:
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


@given(histories.plans(), histories.histories, histories.limits, histories.tours)
@settings(max_examples=300, deadline=None)
def test_any_history_is_decided_as_the_plain_reference_decides_it(plan, history, limits, tour):
    twins = Twins(plan, limits, tour)
    for step in history:
        twins.live(step)


def test_an_extended_hold_runs_out_later_and_a_hold_that_gave_some_back_has_the_rest():
    sale = Sale()
    sale.answer("ann", Want(seats=("A-1", "A-2"), areas={"floor": 3}))
    ann = sale.hold_of("ann")
    decided = sale.batch(
        sale.ask("bob", seats("A-1")),
        facts=[
            Fact(1, "released", ann, '{"seats":[0],"areas":[[0,1]]}'),
            Fact(2, "extended", ann, '{"by_us":60000000}'),
        ],
    )
    assert [row.outcome for row in decided.rows] == ["released", "extended", "held"]
    assert (sale.memory.areas_free, sale.memory.count_by_buyer) == ([18], {"ann": 3, "bob": 1})
    assert [hold.seats for hold in decided.freed_by_fact] == [(0,)]
    assert decided.extended == [ann]
    bob = sale.hold_of("bob")
    assert [hold_id for hold_id, _ in sale.batch(seconds=TTL_SECONDS).expired] == [bob]
    assert [hold_id for hold_id, _ in sale.batch(seconds=60).expired] == [ann]
    assert (sale.memory.areas_free, sale.memory.count_by_buyer) == ([20], {})


def test_what_the_loaded_tables_show_of_a_hold_is_not_done_to_it_a_second_time():
    sale = Sale()
    sale.answer("ann", Want(seats=("A-1", "A-2"), areas={"floor": 3}))
    ann, before = sale.hold_of("ann"), snapshot(sale.memory)
    sale.memory.reflected = frozenset({1, 2})
    part = Fact(1, "released", ann, '{"seats":[0],"areas":[[0,1]]}')
    decided = sale.batch(facts=[part, Fact(2, "extended", ann, '{"by_us":60000000}')])
    assert (decided.freed_by_fact, decided.extended) == ([], [])
    after = snapshot(sale.memory)
    assert {slot for slot in before if before[slot] != after[slot]} == {"batch_no", "reflected"}


def test_a_hold_has_more_than_is_given_back():
    memory_hold = Hold("ann", (1, 2), ((0, 3),), START)
    for part in (Hold("ann", (3,), (), 0), Hold("ann", (), ((0, 4),), 0), Hold("ann", (1, 2), ((0, 3),), 0)):
        with pytest.raises(AssertionError):
            memory_hold.without(part)


def test_a_hold_put_into_memory_by_loading_runs_out_like_one_that_was_decided():
    sale = Sale()
    sale.memory.take(3, 99)
    sale.memory.count_by_buyer["ann"] = 1
    sale.memory.put(HoldId(99), Hold("ann", (3,), (), START + 5))
    decided = sale.batch(seconds=1)
    assert [hold_id for hold_id, _ in decided.expired] == [99]
    assert sale.memory.count_by_buyer == {}
