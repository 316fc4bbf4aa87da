"""Everybody at once: buyers, two gateways, chores and an organiser change the same few orders, in any order.

Who comes first is chance; whoever it is, the laws hold, nobody waits for somebody who waits for them (no
deadlock is found: everybody locks in one order), and in the end the provider has given back exactly what has
no seats.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg
import pytest

from store import holds, sales
from store.calling_off import begin as calling_off
from store.calling_off import steps
from store.errors import OnsaleError, Refused, Unavailable
from store.payments import begin, ending, late, refunds
from store.payments.refunds import Due
from store.payments.settle import Notice, settle
from store.payments.states import NoticeKind
from store.tickets import returns, transfers
from store.tickets.items import SEAT, Item
from tests.payments_model.house import GUIDS, NUMBERS, PLAN, PRICES, SAID, House, Provider, price_list
from tests.payments_model.reference import Model
from tests.payments_model.truth import Truth
from tests.profiles import LONG

SEEDS = range(150) if LONG else range(4)
HOLDS = 5
ACTORS = 4
DEEDS = 14
STANDING = """
SELECT payment.id, coalesce(array_agg(hold_seat.seat_no) FILTER (WHERE hold_seat.seat_no IS NOT NULL), '{}')
  FROM payment LEFT JOIN hold_seat ON payment.state = 'succeeded'
   AND hold_seat.event_id = payment.event_id AND hold_seat.hold_id = payment.order_id
 WHERE payment.event_id = ANY (%s) GROUP BY payment.id
"""
DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"


@pytest.mark.parametrize("seed", SEEDS)
def test_whoever_comes_first_the_laws_hold(house, seed):
    before = house.conn.execute(DEADLOCKS).fetchall()
    race = Race(house, random.Random(seed))
    house.runner.run(race.run())
    race.rest()
    truth = Truth(house, {race.event: race.slug, race.later_id: race.later}, Model(price_list(), False))
    truth.keeps_the_laws()
    truth.numbers_have_no_gaps()
    prices = price_list()
    for payment, seats in house.conn.execute(STANDING, [[race.event, race.later_id]]).fetchall():
        stands = sum(prices[seat] for seat in seats)
        assert race.provider.paid.get(payment, 0) == race.provider.back(payment) + stands
    house.conn.execute("SELECT pg_stat_force_next_flush()")
    assert house.conn.execute(DEADLOCKS).fetchall() == before


class Race:
    """One sale of five holds that are begun to be paid for, some of which run out."""

    def __init__(self, house: House, dice: random.Random) -> None:
        self.house, self.dice = house, dice
        self.provider = Provider()
        self.slug, self.event, self.later, self.later_id = house.sale(dice.random() < 0.5)
        self.payments: list[begin.Payment] = []
        for number in range(HOLDS):
            hold = (number + 1) << 16
            house.give(self.event, hold, "ann", {2 * number, 2 * number + 1}, 0)
            self.payments.append(house.run(self._begin_of(hold)))
            if dice.random() < 0.25:
                house.runs_out(self.event, hold)

    async def run(self) -> None:
        """All actors, to their end."""
        url = psycopg.conninfo.make_conninfo(self.house.conn.info.dsn, password=self.house.conn.info.password)
        await asyncio.gather(*[self._acts(url, random.Random(self.dice.random())) for _ in range(ACTORS)])

    async def _acts(self, url: str, dice: random.Random) -> None:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as own:
            with psycopg.connect(url, autocommit=True) as conn:
                for _ in range(DEEDS):
                    deed = dice.choice(self._deeds())
                    hold = (dice.randrange(HOLDS) + 1) << 16
                    with contextlib.suppress(Refused, Unavailable):  # too late, or too much is going on
                        await deed(own, conn, hold, dice)

    def _deeds(self) -> list[Callable[..., Any]]:
        return [
            self._tells, self._tells, self._tells, self._begins, self._releases, self._gives_refunds,
            self._takes_back, self._returns, self._transfers, self._cancels, self._resolves, self._calls_off,
        ]  # fmt: skip

    def _begin_of(self, hold: int) -> Callable[[Any], Any]:
        return lambda own: begin.begin(own, self.event, hold, "ann", "simulated", PRICES)

    async def _tells(self, own: Any, conn: Any, hold: int, dice: random.Random) -> None:
        told = []
        for payment in dice.sample(self.payments, dice.randint(1, 3)):
            kind = dice.choice(["succeeded", "succeeded", "failed", "canceled"])
            if kind == "succeeded":
                self.provider.pays(payment.id, payment.amount_minor)
            name = f"evt_{payment.id}_{kind}_{dice.randint(1, 2)}"
            what = (payment.id, f"pi_{payment.id}", payment.amount_minor, payment.currency)
            told.append(Notice("simulated", name, NoticeKind(kind), *what))
        for answer in await settle(own, told):
            assert not isinstance(answer, OnsaleError), answer

    async def _begins(self, own: Any, conn: Any, hold: int, dice: random.Random) -> None:
        payment = await self._begin_of(hold)(own)
        await begin.attach(own, payment.id, f"pi_{payment.id}", {"url": "http://pay"})
        self.payments.append(payment)

    async def _releases(self, own: Any, conn: Any, hold: int, dice: random.Random) -> None:
        await holds.release(own, self.event, hold, "ann", NUMBERS)

    async def _gives_refunds(self, own: Any, conn: Any, hold: int, dice: random.Random) -> None:
        for due in await refunds.take(own, 3):
            self._give(due)
            await refunds.given(own, due, f"re_{due.id}")

    def _give(self, due: Due) -> None:
        self.provider.refund(refunds.key_of(due.id), due.payment, due.amount_minor)

    async def _takes_back(self, own: Any, conn: Any, hold: int, dice: random.Random) -> None:
        seats = [GUIDS[2 * ((hold >> 16) - 1)]] if dice.random() < 0.5 else []
        await asyncio.to_thread(sales.take_back, conn, self.event, PLAN, hold, SAID, seats=seats)

    async def _returns(self, own: Any, conn: Any, hold: int, dice: random.Random) -> None:
        items = [Item(SEAT, 2 * ((hold >> 16) - 1) + 1)] if dice.random() < 0.5 else None
        await asyncio.to_thread(returns.give_back, conn, self.event, PLAN, hold, "ann", items)

    async def _transfers(self, own: Any, conn: Any, hold: int, dice: random.Random) -> None:
        item = Item(SEAT, 2 * ((hold >> 16) - 1))
        await transfers.claim(own, await transfers.offer(own, self.event, hold, item, "ann"), "zoe")

    async def _cancels(self, own: Any, conn: Any, hold: int, dice: random.Random) -> None:
        await ending.cancel(own)

    async def _resolves(self, own: Any, conn: Any, hold: int, dice: random.Random) -> None:
        for payment, _ in await late.find_late(own):
            await late.resolve(own, payment)

    async def _calls_off(self, own: Any, conn: Any, hold: int, dice: random.Random) -> None:
        if dice.random() < 0.15:
            await asyncio.to_thread(calling_off.move, conn, self.slug, self.later, SAID)
        await asyncio.to_thread(steps.step_of, conn, self.slug)

    def rest(self) -> None:
        """What is late is answered, what is called off ends, what is due is given."""
        conn = self.house.conn
        for number, (payment, _) in enumerate(self.house.run(late.find_late)):
            request = late.request_of(payment)
            self.house.refuse(self.event, (100 + number) << 16, "ann", request, "taken")
            self.house.run(partial(late.resolve, payment_id=payment))
        while steps.step_of(conn, self.slug):
            pass
        conn.execute("UPDATE refund SET next_at = clock_timestamp() WHERE state = 'due'")
        for due in self.house.run(refunds.take):
            self._give(due)
            assert self.house.run(partial(refunds.given, due=due, provider_refund=f"re_{due.id}"))
