"""The real thing that the machine drives: `store` on a real Postgres, and who is played here.

Played are the allocator (it gives holds, and answers late payments in the ledger) and the provider (it keeps
what it was asked to give back, under its idempotency keys). Everything else is what processes call.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import psycopg

from store import audit, events, hold_parts, holds, sweeping
from store.payments.begin import Prices
from store.payments.charges import charge
from store.plan import decode, encode
from store.prices import PriceTerms
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState
from tests.store.test_holds import GIVE_HOLD

PLAN = make("arena", 12, standing=6)
NUMBERS = {seat.guid: no for no, seat in enumerate(PLAN.seats)}
GUIDS = [seat.guid for seat in PLAN.seats]
FLOOR = PLAN.areas[0].guid
TERMS = PriceTerms(fee_minor=150, tax_basis_points=1_900)
PRICES = Prices(PLAN, "", TERMS, NUMBERS)
SAID = audit.said("Olga", "the singer is ill")
LONG_SECONDS = 3_600.0
GIVE = GIVE_HOLD.replace("%(hold)s::text", "%(request)s").split(";")
GIVE_PLACES = (
    "INSERT INTO hold_area VALUES (%(event)s, %(hold)s, 0, %(places)s)",
    "UPDATE area SET held = held + %(places)s WHERE event_id = %(event)s",
)
_numbers = itertools.count(1)


def price_list() -> dict[int | None, int]:
    """What each seat costs, and under None what a place does."""
    lines = charge(PLAN, [], TERMS, 1, range(len(PLAN.seats)), {0: 1}).lines
    return {line.seat: line.total_minor for line in lines}


class House:
    """One database, for many sales after each other."""

    def __init__(self, url: str) -> None:
        self.runner = asyncio.Runner()
        self.conn = psycopg.connect(url, autocommit=True)
        self.first, self.second = [self.runner.run(_connect(url)) for _ in range(2)]
        self.venue = save_venue(self.conn, "arena", decode(encode(PLAN)))

    def close(self) -> None:
        for connection in (self.first, self.second):
            self.runner.run(connection.close())
        self.conn.close()
        self.runner.close()

    def run(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        """What `work` returns on an asynchronous connection."""

        async def on_it() -> Any:
            return await work(self.first)

        return self.runner.run(on_it())

    def at_once(self, work: Callable[[Any], Awaitable[Any]]) -> list[Any]:
        """What two processes get that do the same at the same time."""

        async def both() -> list[Any]:
            return list(await asyncio.gather(work(self.first), work(self.second)))

        return self.runner.run(both())

    def sale(self, reacquire: bool) -> tuple[str, int, str, int]:
        """An event that is sold for money, and one that its orders could be moved to: (slug, id) of both."""
        number = next(_numbers)
        slug, later = f"gig-{number}", f"later-{number}"
        ids = [
            events.create_event(
                self.conn, one, "The gig", self.venue, PLAN, returns_allowed=True, transfers_allowed=True
            )
            for one in (slug, later)
        ]
        events.set_state(self.conn, slug, EventState.OPEN)
        values = {"ids": ids, "late": "reacquire" if reacquire else "refund"}
        self.conn.execute(
            "UPDATE event SET payment = 'required', late_payment = %(late)s WHERE id = ANY (%(ids)s)", values
        )
        self.conn.execute(
            "INSERT INTO event_price SELECT unnest(%s::int[]), %s, 0, %s, true",
            (ids, TERMS.fee_minor, TERMS.tax_basis_points),
        )
        return slug, ids[0], later, ids[1]

    # --- the allocator ---

    def give(
        self, event: int, hold: int, buyer: str, seats: Iterable[int], places: int, request: str = ""
    ) -> None:
        """A hold, as a batch writes it."""
        named, guids = sorted(seats), ",".join(f'"{GUIDS[no]}"' for no in sorted(seats))
        values = {"event": event, "hold": hold, "buyer": buyer, "seats": named, "seconds": LONG_SECONDS}
        values |= {"quantity": len(named) + places, "places": places, "request": request or f"r{hold}"}
        values["result"] = f'{{"hold":"{hold}","seats":[{guids}],"areas":{{}},"expires_at":1}}'
        with self.conn.transaction():
            for statement in GIVE:
                self.conn.execute(statement, values)
            if places:
                for statement in GIVE_PLACES:
                    self.conn.execute(statement, values)

    def refuse(self, event: int, hold: int, buyer: str, request: str, outcome: str) -> None:
        """An answer that gives nothing."""
        self.conn.execute(
            "INSERT INTO ledger (event_id, batch_no, position, kind, arrival, buyer, request_id, input,"
            " outcome, result) VALUES (%s, %s, 0, 'request', '1-1', %s, %s, '{}', %s, '{}')",
            (event, hold >> 16, buyer, request, outcome),
        )

    def runs_out(self, event: int, hold: int) -> None:
        """Long ago, by whatever clock one goes."""
        self.conn.execute(
            "UPDATE hold SET expires_at = clock_timestamp() - interval '1 day'"
            " WHERE event_id = %s AND hold_id = %s",
            (event, hold),
        )

    def sweep(self, event: int) -> int:
        """Ends holds that ran out, as where nobody attends to the event; how many."""
        values = {"event": event}
        self.conn.execute(
            "UPDATE lease SET renewed_at = clock_timestamp() - interval '1 minute',"
            " given_until = clock_timestamp() - interval '1 minute' WHERE event_id = %(event)s",
            values,
        )
        self.conn.execute(
            "UPDATE event_cursor SET batch_time = clock_timestamp() - interval '1 minute'"
            " WHERE event_id = %(event)s",
            values,
        )
        ended: int = self.run(lambda own: sweeping.sweep(own, event))
        return ended

    # --- a holder ---

    def release(self, event: int, hold: int, buyer: str) -> Any:
        return self.run(lambda own: holds.release(own, event, hold, buyer, NUMBERS))

    def release_some(self, event: int, hold: int, buyer: str, seats: list[int], places: int, of: int) -> Any:
        areas = {0: places} if places else {}
        return self.run(
            lambda own: hold_parts.release_some(own, event, hold, buyer, NUMBERS, seats, areas, of=of)
        )


class Provider:
    """What a provider remembers: who paid how much, and what it gave back, once for each key."""

    def __init__(self) -> None:
        self.paid: dict[int, int] = {}
        self.refunds: dict[str, tuple[int, int]] = {}
        """key → (payment, amount)"""

    def pays(self, payment: int, amount: int) -> None:
        self.paid[payment] = amount

    def refund(self, key: str, payment: int, amount: int) -> str:
        """Gives it back, or says that it did."""
        asked = self.refunds.setdefault(key, (payment, amount))
        assert asked == (payment, amount), "one key is one refund"
        assert self.back(payment) <= self.paid[payment], "a provider gives back what it was paid"
        return f"re_{key}"

    def back(self, payment: int) -> int:
        return sum(amount for of, amount in self.refunds.values() if of == payment)


async def _connect(url: str) -> psycopg.AsyncConnection[tuple[Any, ...]]:
    return await psycopg.AsyncConnection.connect(url, autocommit=True)
