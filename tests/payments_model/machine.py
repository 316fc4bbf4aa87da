"""Buyers, a provider, chores and an organiser of one sale, as a machine whose steps Hypothesis chooses.

Each step is done to the real one and to the model. Whoever does it may lose the answer and do it again, and
some do it twice at once. After each step the tables are the model's; at the end nothing is left to do, and
what a provider was paid has seats or went back, once.
"""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from store.errors import OnsaleError, Refused
from store.payments import begin, ending, late
from store.payments.records import Known
from store.payments.refunds import Due
from store.payments.settle import Notice, Settled, settle
from store.payments.states import NoticeKind
from tests.payments_model.going_back import SEATS_USED, GoingBack, picks, seen, ways
from tests.payments_model.house import PLAN, PRICES, House, Provider, price_list
from tests.payments_model.reference import OPEN, Hold, Key, Model, Payment
from tests.payments_model.truth import Truth

running: list[House] = []
"""What the machines drive: Hypothesis makes them, and hands nothing in."""
BUYERS = ("ann", "bob")
PLACES_USED = 6
STEPS_MAX = 20
LAWS_EACH_STEPS = 9

some_seats = st.sets(st.integers(0, SEATS_USED - 1), min_size=1, max_size=3)
kinds = st.sampled_from(["succeeded", "succeeded", "failed", "canceled", "refunded", "other"])
flaws = st.sampled_from([""] * 8 + ["amount", "currency", "intent", "provider", "unknown"])
notices = st.lists(st.tuples(picks, kinds, st.integers(0, 2), flaws), min_size=1, max_size=3)


class Paying(GoingBack, RuleBasedStateMachine):
    """One sale for money, from its first hold until everything is answered for."""

    def __init__(self) -> None:
        super().__init__()
        self.house = running[-1]
        self.conn = self.house.conn
        self.provider = Provider()
        self.batches = itertools.count(1)
        self.slow: list[Due] = []
        self.count = 0
        self.moved = False

    @initialize(reacquire=st.booleans())
    def made(self, reacquire: bool) -> None:
        self.slug, self.event, self.later, self.later_id = self.house.sale(reacquire)
        self.ids = {self.slug: self.event, self.later: self.later_id}
        self.model = Model(price_list(), reacquire)
        self.truth = Truth(self.house, {self.event: self.slug, self.later_id: self.later}, self.model)

    # --- holds ---

    @precondition(lambda self: self.slug not in self.model.closed)
    @rule(buyer=st.sampled_from(BUYERS), seats=some_seats, places=st.sampled_from([0, 0, 1, 2]))
    def somebody_is_given_a_hold(self, buyer: str, seats: set[int], places: int) -> None:
        seats = seats - self.model.taken(self.slug)
        self._give(buyer, seats, places)

    def _give(self, buyer: str, seats: set[int], places: int, request: str = "") -> Key | None:
        room = self.model.places_taken(self.slug) + places <= PLACES_USED
        if self.slug in self.model.closed or not room or not (seats or places):
            return None
        key = (self.slug, next(self.batches) << 16)
        self.house.give(self.event, key[1], buyer, seats, places, request)
        self.model.holds[key] = Hold(buyer, set(seats), places)
        return key

    @precondition(lambda self: self._active())
    @rule(pick=picks)
    def a_hold_runs_out(self, pick: int) -> None:
        key = self._one(self._active(), pick)
        self.house.runs_out(self.event, key[1])
        self.model.holds[key].over = True

    @precondition(lambda self: self._over())
    @rule()
    def somebody_sweeps(self) -> None:
        assert self.house.sweep(self.event) == len(self._over())
        for key in self._over():
            self.model.holds[key].state = "expired"
        seen["swept"] += 1

    @precondition(lambda self: self._active())
    @rule(pick=picks, part=st.booleans())
    def a_holder_gives_it_back(self, pick: int, part: bool) -> None:
        key = self._one(self._active(), pick)
        hold = self.model.holds[key]
        if part and hold.quantity > 1 and not hold.over:
            seats, places = ([min(hold.seats)], 0) if hold.seats else ([], 1)
            for _ in range(2):  # and once more, for the answer was lost
                self.house.release_some(self.event, key[1], hold.buyer, seats, places, hold.quantity)
            hold.seats -= set(seats)
            hold.places -= places
        else:
            for _ in range(2):
                self.house.release(self.event, key[1], hold.buyer)
            hold.state = "released"

    # --- paying ---

    # What everything else is about: made in one step, so that most histories come to what follows.

    @precondition(lambda self: self.slug not in self.model.closed)
    @rule(buyer=st.sampled_from(BUYERS), seats=some_seats, places=st.sampled_from([0, 1, 2]))
    def somebody_buys(self, buyer: str, seats: set[int], places: int) -> None:
        if self._asks(buyer, seats, places) is not None:
            self._pays_at_once()

    @precondition(lambda self: self.slug not in self.model.closed)
    @rule(buyer=st.sampled_from(BUYERS), seats=some_seats, places=st.sampled_from([0, 1, 2]))
    def somebody_pays_too_late(self, buyer: str, seats: set[int], places: int) -> None:
        key = self._asks(buyer, seats, places)
        if key is not None:
            self.a_hold_runs_out(self._active().index(key))
            self._pays_at_once()

    @precondition(lambda self: self.slug not in self.model.closed)
    @rule(buyer=st.sampled_from(BUYERS), seats=some_seats, places=st.sampled_from([0, 1, 2]))
    def somebody_goes_to_the_checkout(self, buyer: str, seats: set[int], places: int) -> None:
        self._asks(buyer, seats, places)

    def _asks(self, buyer: str, seats: set[int], places: int) -> Key | None:
        """For what is free, and begins to pay for it."""
        key = self._give(buyer, seats - self.model.taken(self.slug), places)
        if key is not None:
            self._begin(key, buyer, attach=True, way="once")
        return key

    def _pays_at_once(self) -> None:
        place = len(self.model.payments) - 1
        self.the_provider_tells([(place, "succeeded", 0, "")], "once")

    @precondition(lambda self: any(event == self.slug for event, _ in self.model.holds))
    @rule(
        pick=picks,
        buyer=st.sampled_from(["its"] * 5 + ["eve"]),
        attach=st.sampled_from([True] * 3 + [False]),
        way=ways,
    )
    def somebody_begins_to_pay(self, pick: int, buyer: str, attach: bool, way: str) -> None:
        key = self._one([one for one in self.model.holds if one[0] == self.slug], pick)
        self._begin(key, self.model.holds[key].buyer if buyer == "its" else buyer, attach, way)

    def _begin(self, key: Key, buyer: str, attach: bool, way: str) -> None:
        refused = self.model.refuses(key, buyer)

        async def ask(own: Any) -> Any:
            try:
                return await begin.begin(own, self.event, key[1], buyer, "simulated", PRICES)
            except Refused as error:
                return error.code

        answers = self._in_way(ask, way)
        seen[f"begin {refused or 'begun'}"] += 1
        if refused is not None:
            assert answers == [refused] * len(answers)
            return
        assert len({payment.id for payment in answers}) == 1, "whoever begins again has the same payment"
        self.model.began(key, answers[0].id)
        if attach:
            self._attach(self.model.payments[answers[0].id], way)

    @precondition(lambda self: any(not one.intent for one in self.model.payments.values()))
    @rule(pick=picks, way=ways)
    def an_intent_is_noted_at_last(self, pick: int, way: str) -> None:
        unknown = [one for one in self.model.payments.values() if not one.intent]
        self._attach(self._one(unknown, pick), way)

    def _attach(self, payment: Payment, way: str) -> None:
        number = payment.number
        self._in_way(lambda own: begin.attach(own, number, f"pi_{number}", {"url": "http://pay"}), way)
        payment.intent = True

    @precondition(lambda self: self.model.payments)
    @rule(what=notices, way=ways)
    def the_provider_tells(self, what: list[tuple[int, str, int, str]], way: str) -> None:
        told, answers = [], []
        for pick, kind, count, flaw in what:
            payment = self._one(list(self.model.payments.values()), pick)
            flaw = "" if flaw == "intent" and not payment.intent else flaw
            told.append(self._notice(payment, kind, count, flaw))
            answers.append(self._expected(payment, kind, told[-1].id, flaw))
        found = self._in_way(lambda own: settle(own, told), way)
        last = {one.payment: self.model.payments[one.payment].state for one in told if self._known(one)}
        for place, (state, repeated) in enumerate(answers):
            seen[f"notice {state}{' again' if repeated else ''}"] += 1
            got = [_answer(one[place]) for one in found]
            if way == "once":
                assert got == [(state, repeated)]
            elif state not in ERRORS:
                assert way != "again" or got[-1] == (last[told[place].payment], True)
            else:
                assert [one for one, _ in got] == [state] * len(got)

    def _known(self, notice: Notice) -> bool:
        return notice.payment in self.model.payments

    def _notice(self, payment: Payment, kind: str, count: int, flaw: str) -> Notice:
        if kind == "succeeded" and flaw == "":
            self.provider.pays(payment.number, payment.amount)
        number = payment.number + (1_000_000 if flaw == "unknown" else 0)
        return Notice(
            provider="stripe" if flaw == "provider" else "simulated",
            id=f"evt_{number}_{kind}_{count}",
            kind=NoticeKind(kind),
            payment=number,
            intent="pi_other" if flaw == "intent" else f"pi_{payment.number}",
            amount_minor=payment.amount + (flaw == "amount"),
            currency="xxx" if flaw == "currency" else PLAN.currency.lower(),
            provider_fee_minor=30,
        )

    def _expected(self, payment: Payment, kind: str, name: str, flaw: str) -> tuple[str, bool]:
        if flaw in ("provider", "unknown", "intent"):
            return "unknown_payment", False
        if flaw and kind == "succeeded":
            return "amount_mismatch", False
        return self.model.notice(name, kind, payment.number)

    @precondition(lambda self: any(one.state in OPEN for one in self.model.payments.values()))
    @rule(way=ways)
    def chores_cancel_what_nobody_may_finish(self, way: str) -> None:
        self._in_way(ending.cancel, way)
        for one in self.model.payments.values():
            hold = self.model.holds[one.hold]
            wrong = hold.state != "active" or hold.over or hold.quantity != len(one.seats) + one.places
            if one.state in OPEN and wrong:
                one.state = "canceled"
                seen["canceled by chores"] += 1

    # --- money that came late ---

    @precondition(lambda self: self._late(asked=False))
    @rule(pick=picks, answer=st.sampled_from(["given", "given", "given", "taken", "closed"]))
    def the_stream_answers(self, pick: int, answer: str) -> None:
        payment = self._one(self._late(asked=False), pick)
        if self._over():
            self.somebody_sweeps()  # a batch ends what ran out before it decides
        request = late.request_of(payment.number)
        free = not payment.seats & self.model.taken(self.slug)
        again = None
        if answer == "given" and free:
            again = self._give(payment.buyer, set(payment.seats), payment.places, request)
        if again is None:
            outcome = "taken" if answer == "given" else answer
            self.house.refuse(self.event, next(self.batches) << 16, payment.buyer, request, outcome)
        payment.asked, payment.again = "given" if again else "taken", again

    @precondition(lambda self: self._late())
    @rule(pick=picks, way=ways)
    def a_late_payment_looks_for_its_answer(self, pick: int, way: str) -> None:
        payment = self._one(self._late(), pick)
        found = self._in_way(lambda own: late.resolve(own, payment.number), way)
        if not self.model.resolved(payment):
            assert all(isinstance(one, Known) for one in found)
            return
        changes = [one for one in found if one is not None]
        assert [one.became.value for one in changes] == [payment.state], "it is answered once"
        seen[f"late {payment.state}"] += 1

    # --- after each step, and in the end ---

    @invariant()
    def the_tables_are_the_models(self) -> None:
        if hasattr(self, "truth"):
            self.truth.is_the_models()
            self.count += 1
            if self.count % LAWS_EACH_STEPS == 0:
                self.truth.keeps_the_laws()

    def teardown(self) -> None:
        if hasattr(self, "truth"):
            self._to_the_end()

    def _to_the_end(self) -> None:
        for payment in self._late(asked=False):
            self.the_stream_answers(self._late(asked=False).index(payment), "taken")
        for _ in self._late():
            self.a_late_payment_looks_for_its_answer(0, "once")
        for slug in sorted(self.model.closed):
            assert any(self._step(slug, 100) == 0 for _ in range(STEPS_MAX)), "it comes to an end"
        self.refunds_are_given([], "once")
        for due in self.slow:
            self._is_given(due)
        self.truth.is_the_models()
        self.truth.keeps_the_laws()
        for number, paid in self.provider.paid.items():
            payment = self.model.payments[number]
            stands = 0
            if payment.state == "succeeded":
                assert payment.order is not None, "it bought something"
                hold = self.model.holds[payment.order]
                stands = self.model.costs(hold.seats, hold.places)
            assert paid == self.provider.back(number) + stands
            assert payment.state in ("succeeded", "refunded")
        for key in self._active():  # nothing is left for the sales that follow
            self.house.release(self.event, key[1], self.model.holds[key].buyer)
        self.house.run(ending.cancel)

    # --- what there is to choose from ---

    def _active(self) -> list[Key]:
        return [key for key, hold in self.model.holds.items() if hold.state == "active"]

    def _over(self) -> list[Key]:
        return [key for key in self._active() if self.model.holds[key].over]

    def _late(self, asked: bool = True) -> list[Payment]:
        """With `asked` also those the stream has answered."""
        those = [one for one in self.model.payments.values() if one.state == "late"]
        return [one for one in those if asked or not one.asked]


ERRORS = ("unknown_payment", "amount_mismatch")


def _answer(found: Settled | OnsaleError) -> tuple[str, bool]:
    if isinstance(found, Settled):
        return found.state.value, found.repeated
    assert isinstance(found, Refused), found
    return found.code, False
