"""Who pays, in on-sales where holds are bought with money: buyers, a provider, a till that hears it, chores.

The provider keeps what it was paid and what it gave back, tells of each payment until it is heard, now and
then twice, in any order, and as late as it likes. Till and chores do what gateways and chores do, by the same
functions of `store.payments`; a connection that is cut is a process that was killed there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import psycopg

from gateway.payments.asking import entry_of
from store.errors import OnsaleError, Refused, Unavailable
from store.payments import begin, ending, late, refunds
from store.payments.begin import Prices
from store.payments.charges import lines_of
from store.payments.records import Known
from store.payments.settle import Notice, Settled, settle
from store.payments.states import NoticeKind
from store.prices import PriceTerms
from tests.simulation.payment_statements import PaymentRow
from tests.simulation.postgres import Database
from tests.simulation.statements import AsyncConnection, Connection, run_at_once
from tests.simulation.stream import Stream
from tests.simulation.world import Host, Process, World

TERMS = PriceTerms(fee_minor=150)
TRIES_MAX = 4
PAYS_WITHIN_SECONDS = (0.3, 2.0, 9.0)
"""Holds run 1 to 5 s, and longer where they are extended: many pay too late."""
LOST = "what was asked is not known"


def is_paid_for(seed: int) -> bool:
    """In every fourth on-sale holds are bought with money."""
    return seed % 4 == 3


class Payers:
    """Of one event."""

    def __init__(self, world: World, database: Database, stream: Stream) -> None:
        self.world, self.database, self.stream = world, database, stream
        database.late_payment = world.random.choice(("refund", "reacquire", "reacquire"))
        numbers = {seat.guid: number for number, seat in enumerate(database.plan.seats)}
        self.prices = Prices(database.plan, "", TERMS, numbers)
        self.paid: dict[int, int] = {}
        """What the provider has of each payment."""
        self.back: dict[str, tuple[int, int]] = {}
        """Its refunds, by key: (payment, amount)."""
        self.untold: list[Notice] = []
        self._told = self._at_checkout = 0

    # --- buyers, and the provider ---

    def comes(self, buyer: str, hold_id: int) -> None:
        """A buyer begins to pay for a hold, goes to the checkout, and takes a while there."""
        if not self.world.calm:
            host = Host(self.world, f"checkout {hold_id}")
            host.start(f"{buyer} at checkout {hold_id}", partial(self._begins, buyer, hold_id))

    def _begins(self, buyer: str, hold_id: int, process: Process) -> None:
        for _ in range(TRIES_MAX):
            work = partial(self._begin, buyer, hold_id)
            payment = self._done(process, work)
            if payment is not None:
                seconds = self.world.random.uniform(0.01, self.world.random.choice(PAYS_WITHIN_SECONDS))
                self._at_checkout += 1
                self.world.after(seconds, partial(self._presses, payment))
                if self.world.chance(0.1):  # and once more, on another page
                    self.world.after(seconds / 2, partial(self.comes, buyer, hold_id))
                return
            if self.world.chance(0.5):
                return

    async def _begin(self, buyer: str, hold_id: int, own: Any) -> begin.Payment | None:
        payment = await begin.begin(own, 1, hold_id, buyer, "simulated", self.prices)
        if payment is not None and self.world.chance(0.9):  # else nobody wrote the intent down
            await begin.attach(own, payment.id, f"pi_{payment.id}", {"url": "https://pay"})
        self.world.counters["begun_to_pay"] += payment is not None
        return payment

    def _presses(self, payment: begin.Payment) -> None:
        """The button: first perhaps with a card that is declined."""
        self._at_checkout -= 1
        if self.world.chance(0.2):
            self._tell(payment, NoticeKind.FAILED)
        if self.world.chance(0.05):
            self._tell(payment, NoticeKind.CANCELED)
        self.paid[payment.id] = payment.amount_minor
        self._tell(payment, NoticeKind.SUCCEEDED)

    def _tell(self, payment: begin.Payment, kind: NoticeKind) -> None:
        self._told += 1
        what = (payment.id, f"pi_{payment.id}", payment.amount_minor, payment.currency)
        notice = Notice("simulated", f"evt_{self._told}", kind, *what)
        self.untold += [notice] * (2 if self.world.chance(0.2) else 1)

    # --- the till, and chores ---

    def hear(self, process: Process) -> None:
        """A gateway: what the provider tells of, some at a time; what was not answered is told again."""
        random = self.world.random
        longest = random.choice((0.02, 0.3, 2.0))
        while True:
            process.sleep(random.uniform(0.001, longest) if self.untold else longest)
            some = random.sample(self.untold, min(len(self.untold), random.randint(1, 6)))
            answers = self._done(process, partial(settle, notices=some)) if some else None
            if answers is None or (not self.world.calm and self.world.chance(0.1)):  # or it is not heard
                continue
            for notice, answer in zip(some, answers, strict=True):
                if isinstance(answer, Settled):
                    self.untold.remove(notice)
                    self.world.counters[f"money_{answer.state}"] += not answer.repeated
                elif not isinstance(answer, Unavailable):
                    self.world.broken.append(f"unexplained: a notice was refused: {answer!r}")
            if self.world.chance(0.8):
                self.stream.poke()

    def tidy(self, process: Process) -> None:
        """Chores: late payments ask and are answered, refunds are given, what is over is canceled."""
        random = self.world.random
        longest = random.choice((0.1, 0.5, 2.0))
        while True:
            process.sleep(random.uniform(0.05, longest))
            if not any(True for _ in self.unfinished()):
                continue
            kind = random.random()
            if kind < 0.1:
                self._done(process, ending.cancel)
            elif kind < 0.6:
                self._done(process, self._look_after_late)
            else:
                self._done(process, self._give_refunds)

    async def _look_after_late(self, own: Any) -> None:
        for payment, _ in await late.find_late(own):
            found = await late.resolve(own, payment)
            if not isinstance(found, Known):
                self.world.counters["late_answered"] += 1
                if found is not None:
                    self.world.counters[f"late_{found.became}"] += 1
            elif not self.stream.away and self.stream.exists:  # its allocator makes a missing stream anew
                self.stream.append([entry_of(self.database.plan, found)])
                self.world.counters["late_asked"] += 1

    async def _give_refunds(self, own: Any) -> None:
        for due in await refunds.take(own):
            asked = self.back.setdefault(refunds.key_of(due.id), (due.payment, due.amount_minor))
            if asked != (due.payment, due.amount_minor):
                self.world.broken.append(f"unexplained: refund {due.id} was asked for as {asked} before")
            if not self.world.calm and self.world.chance(0.1):  # killed before it could be written down
                continue
            await refunds.given(own, due, f"re_{due.id}")
            self.world.counters["refund_given"] += 1

    def _done(self, process: Process, work: Callable[[Any], Any]) -> Any:
        """What it returns; None where it was refused, or is not known."""
        try:
            connection = Connection(self.database.connect(process))
            found = run_at_once(work(cast("Any", AsyncConnection(connection))))
            connection.close()
            return found
        except Refused as error:
            self.world.counters[f"till_{error.code}"] += 1
        except (psycopg.OperationalError, Unavailable) as error:
            self.world.note(process.name, f"{LOST}: {error}")
        except OnsaleError as error:
            self.world.broken.append(f"unexplained: {error!r}")
        return None

    # --- the laws ---

    def unfinished(self) -> Iterator[str]:
        """What has not come to rest."""
        if self._at_checkout:
            yield f"{self._at_checkout} buyers are at the checkout"
        if self.untold:
            yield f"{len(self.untold)} notices are not heard"
        for number, row in self.database.rows["payment"].items():
            if row.state in ("late", "refund_due") or row.due:
                yield f"payment {number} is {row.state}, {row.due} of it due"

    def demand(self) -> list[str]:
        """All money has its seats or went back, once."""
        found = [f"money: {story}" for story in self.unfinished()]
        orders: Counter[int] = Counter()
        for number, row in self.database.rows["payment"].items():
            came = self.paid.get(number, 0)
            went = sum(amount for of, amount in self.back.values() if of == number)
            stands = self._stands(row)
            orders.update([row.order] if row.state == "succeeded" else [])
            if came != went + stands or (row.succeeded_at is None) != (not came) or went != row.given:
                found.append(f"money: of payment {number} {came} came, {went} went, {stands} stands: {row}")
        found += [f"money: order {order} was paid for twice" for order, count in orders.items() if count > 1]
        for number, row in self.database.rows["hold"].items():
            if row.state == "paid" and row.kind == "buyer" and not orders[number]:
                found.append(f"money: order {number} was not paid for")
        return found

    def _stands(self, row: PaymentRow) -> int:
        """What the order has now, at the prices it was paid for by."""
        if row.state != "succeeded":
            return 0
        rows = self.database.rows
        hold = rows["hold"][row.order]
        if (hold.state, hold.buyer) != ("paid", row.buyer):
            return 0
        seats = [seat for seat, order in rows["hold_seat"].items() if order == row.order]
        areas = {area: count for (order, area), count in rows["hold_area"].items() if order == row.order}
        kept = lines_of(begin.decode_charged(row.charged).lines, seats, areas)
        return sum([line.count * line.total_minor for line in kept])
