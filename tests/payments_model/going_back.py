"""The part of the machine in which money goes back: orders taken back, returned, given away or called off."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import psycopg
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from store import sales
from store.calling_off import begin as calling_off
from store.calling_off import steps
from store.errors import Refused
from store.payments import refunds
from store.payments.refunds import Due
from store.tickets import returns, transfers
from store.tickets.items import SEAT, Item, places_there
from store.tickets.rows import READ, rows_of
from store.words import HoldKind
from tests.payments_model.house import FLOOR, GUIDS, PLAN, SAID, House, Provider
from tests.payments_model.reference import Hold, Key, Model

seen: Counter[str] = Counter()
"""How often each thing happened: a model test that never sees one proves nothing about it."""
SEATS_USED = 10
SOLD_MIN = 4
picks = st.integers(0, 30)
ways = st.sampled_from(["once", "once", "again", "at once"])


class Killed(Exception):
    """Whoever did it does nothing more."""


class GoingBack:
    """Rules of `tests.payments_model.machine.Paying`, which makes what stands here first."""

    house: House
    conn: psycopg.Connection[Any]
    provider: Provider
    model: Model
    slug: str
    event: int
    later: str
    """The other event."""
    ids: dict[str, int]
    slow: list[Due]
    moved: bool

    # --- what was bought goes back ---

    @precondition(lambda self: self.model.orders())
    @rule(
        pick=picks, part=picks, who=st.sampled_from(["organiser", "buyer"]),
        whole=st.booleans(), way=st.sampled_from(["once", "again"]),
    )  # fmt: skip
    def an_order_goes_back(self, pick: int, part: int, who: str, whole: bool, way: str) -> None:
        key = self._one(self.model.orders(), pick)
        hold = self.model.holds[key]
        seats, places = set(hold.seats), hold.places
        if not whole and hold.quantity > 1:
            named = sorted(seats) + [None] * places
            one = named[part % len(named)]
            seats, places = (set(), 1) if one is None else ({one}, 0)
        if who == "organiser":
            self._taken_back(key, seats, places, way)
        elif not self._returned(key, seats, places, way):
            return
        self.model.take_back(key, seats, places)
        seen[f"{who} {hold.state}"] += 1

    def _taken_back(self, key: Key, seats: set[int], places: int, way: str) -> None:
        hold = self.model.holds[key]
        what: dict[str, Any] = {}
        if len(seats) + places < hold.quantity:
            what = {"seats": [GUIDS[seat] for seat in seats], "areas": {FLOOR: places} if places else {}}
            what["quantity"] = hold.quantity
        sales.take_back(self.conn, self.ids[key[0]], PLAN, key[1], SAID, **what)
        if way == "again":
            code = _code(lambda: sales.take_back(self.conn, self.ids[key[0]], PLAN, key[1], SAID, **what))
            assert code == ("order_changed" if what else None)

    def _returned(self, key: Key, seats: set[int], places: int, way: str) -> bool:
        hold = self.model.holds[key]
        items: list[Item] | None = None
        if len(seats) + places < hold.quantity:
            values = {"event": self.ids[key[0]], "hold": key[1]}
            rows = rows_of(self.conn.execute(READ, values).fetchall())
            items = [Item(SEAT, seat) for seat in seats]
            items += places_there(0, hold.places, rows)[:places]
        refused = "given_away" if seats & hold.given_away else None
        for _ in range(2 if way == "again" else 1):
            code = _code(
                lambda: returns.give_back(self.conn, self.ids[key[0]], PLAN, key[1], hold.buyer, items)
            )
            assert code == refused
        return refused is None

    @precondition(lambda self: self._giveable())
    @rule(pick=picks, way=st.sampled_from(["once", "again"]))
    def a_ticket_is_given_away(self, pick: int, way: str) -> None:
        key, seat = self._one(self._giveable(), pick)
        buyer, item = self.model.holds[key].buyer, Item(SEAT, seat)
        event = self.ids[key[0]]
        code = self._in_way(lambda own: transfers.offer(own, event, key[1], item, buyer), way)[-1]
        self._in_way(lambda own: transfers.claim(own, code, "zoe"), way)
        self.model.holds[key].given_away.add(seat)
        self.model.told[key[0], ("ticket.transferred", key[1], item.name, 2)] += 1

    @precondition(lambda self: self.model.payments)
    @rule(seat=st.integers(0, SEATS_USED - 1), here=st.booleans())
    def the_organiser_gives_a_seat(self, seat: int, here: bool) -> None:
        """Also in the other event, where somebody whose order is moved would have it."""
        slug = self.slug if here else self.later
        if slug in self.model.closed or seat in self.model.taken(slug):
            return
        asked: tuple[Any, ...] = ([GUIDS[seat]], {}, "vip", HoldKind.COMPLIMENTARY, SAID)
        for _ in range(2):
            order = sales.sell(self.conn, self.ids[slug], PLAN, *asked)
        self.model.holds[slug, int(order.hold)] = Hold("vip", {seat}, 0, "paid")
        self.model.told[slug, ("order.paid", int(order.hold))] += 1

    # --- refunds ---

    @precondition(lambda self: any(one.due for one in self.model.payments.values()))
    @rule(
        fates=st.lists(st.sampled_from(["given", "given", "killed", "refused", "slow"]), max_size=3),
        way=ways,
    )
    def refunds_are_given(self, fates: list[str], way: str) -> None:
        taken = self._in_way(refunds.take, way)
        due = [one for part in taken for one in part]
        assert len({one.id for one in due}) == len(due), "who takes a refund has it alone"
        for one, fate in zip(due, [*fates, *["given"] * len(due)], strict=False):
            seen[f"refund {fate}"] += 1
            if fate == "refused":
                self.house.run(partial(refunds.not_given, due=one, error="refused: no"))
                continue
            self.provider.refund(refunds.key_of(one.id), one.payment, one.amount_minor)
            if fate == "given":
                self._is_given(one)
            elif fate == "slow":
                self.slow.append(one)
        self.conn.execute("UPDATE refund SET next_at = clock_timestamp() WHERE state = 'due'")

    @precondition(lambda self: self.slow)
    @rule(pick=picks)
    def who_was_slow_writes_a_refund_down(self, pick: int) -> None:
        """Perhaps after somebody else did, or after its order was moved."""
        self._is_given(self.slow.pop(pick % len(self.slow)))

    def _is_given(self, due: Due) -> None:
        given = self.house.run(lambda own: refunds.given(own, due, f"re_{due.id}"))
        again = self.house.run(lambda own: refunds.given(own, due, f"re_{due.id}"))
        assert not again
        if given:
            self.model.gave(self.model.payments[due.payment], due.amount_minor)

    # --- the event does not take place ---

    @precondition(lambda self: len(self.model.payments) >= SOLD_MIN)
    @rule(pick=picks, how=st.sampled_from(["cancel", "move", "move", "cancel the other"]))
    def the_event_is_called_off(self, pick: int, how: str) -> None:
        if pick > 9:  # seldom: there is little to do afterwards
            return
        slug = self.later if how == "cancel the other" else self.slug
        if slug in self.model.closed or (how == "move" and self.later in self.model.closed):
            return
        for _ in range(2):
            if how == "move":
                calling_off.move(self.conn, slug, self.later, SAID)
            else:
                calling_off.cancel(self.conn, slug, SAID)
        seen[how] += 1
        self.moved = how == "move" or self.moved
        self.model.closed.add(slug)
        self.model.told[slug, ("event.moved" if how == "move" else "event.canceled",)] += 1

    @precondition(lambda self: self.model.closed)
    @rule(killed_after=st.integers(1, 3))
    def somebody_goes_on_with_that(self, killed_after: int) -> None:
        for slug in sorted(self.model.closed):
            self._step(slug, killed_after)

    def _step(self, slug: str, killed_after: int) -> int:
        """Each hold and order that was ended is the model's too, however far it came."""
        left = killed_after

        def tell(of: str, what: Any) -> None:
            nonlocal left
            if of != slug:
                return
            self._ended((slug, int(what.hold)))
            left -= 1
            if left == 0:
                raise Killed

        try:
            return steps.step_of(self.conn, slug, tell)
        except Killed:
            seen["killed amid calling off"] += 1
            return 1

    def _ended(self, key: Key) -> None:
        hold = self.model.holds[key]
        if hold.state == "active":
            hold.state = "released"
            return
        moves = self.moved and key[0] == self.slug
        if moves and not (self.later in self.model.closed or hold.seats & self.model.taken(self.later)):
            values = (self.event, key[1])
            found = "SELECT to_order_id FROM rebooked WHERE event_id = %s AND order_id = %s"
            [(new,)] = self.conn.execute(found, values).fetchall()
            self.model.moves(key, (self.later, new))
            seen["order moved"] += 1
        else:
            self.model.take_back(key, set(hold.seats), hold.places)
            seen["order refunded"] += 1

    # --- how it is done, and to what ---

    def _in_way(self, work: Any, way: str) -> list[Any]:
        if way == "at once":
            return self.house.at_once(work)
        return [self.house.run(work) for _ in range(2 if way == "again" else 1)]

    def _one(self, those: list[Any], pick: int) -> Any:
        return those[pick % len(those)]

    def _giveable(self) -> list[tuple[Key, int]]:
        orders = ((key, self.model.holds[key]) for key in self.model.orders())
        return [(key, seat) for key, hold in orders for seat in sorted(hold.seats - hold.given_away)]


def _code(work: Any) -> str | None:
    """What it was refused with."""
    try:
        work()
    except Refused as error:
        return error.code
    return None
