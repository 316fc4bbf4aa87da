"""Payments that were begun: thousands, as rows, and what their provider will tell of them.

What each costs is worked out as for any other (`store.payments.charges`); they are written as `begin` and
`attach` leave them, in one COPY.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

import msgspec
import psycopg
from msgspec import Struct

from bench.target import StageEvent
from store.payments.charges import charge
from store.prices import PriceTerms

TERMS: Final = PriceTerms(fee_minor=150, fee_basis_points=250, tax_basis_points=1_900)

HELD: Final = """
-- Oldest first.
SELECT hold.hold_id, hold.buyer, hold_seat.seat_no FROM hold JOIN hold_seat USING (event_id, hold_id)
 WHERE hold.event_id = %(event)s AND hold.state = 'active' AND hold.buyer LIKE %(buyers)s
 ORDER BY hold.hold_id, hold_seat.seat_no
"""
COPY: Final = """
COPY payment (event_id, hold_id, buyer, provider, intent, checkout, currency, amount_minor, fee_minor,
              tax_minor, charged, quantity, seats) FROM STDIN
"""
BEGUN: Final = """
SELECT id, intent, amount_minor, currency FROM payment WHERE event_id = %(event)s ORDER BY id
"""

Conn = psycopg.Connection[Any]


class Begun(Struct, frozen=True):
    """A payment that the provider will tell of."""

    id: int
    intent: str
    amount_minor: int
    currency: str

    def notice(self) -> tuple[str, str]:
        """(its id, its body) of the notice that says that it succeeded."""
        data = {
            "id": self.intent,
            "status": "succeeded",
            "amount_minor": self.amount_minor,
            "currency": self.currency.lower(),
            "fee_minor": 25 + self.amount_minor * 14 // 1_000,
            "metadata": {"payment": str(self.id)},
        }
        body = {"type": "payment.succeeded", "data": data}
        return f"msg_{self.intent}", msgspec.json.encode(body).decode()


def begin_all(conn: Conn, event: StageEvent, buyers: str) -> list[Begun]:
    """Begins a payment for each hold of buyers whose name begins so; all payments of the event."""
    seats_of: dict[tuple[int, str], list[int]] = defaultdict(list)
    values = {"event": event.id, "buyers": f"{buyers}%"}
    for hold, buyer, seat in conn.execute(HELD, values).fetchall():
        seats_of[hold, buyer].append(seat)
    with conn.cursor().copy(COPY) as copy:
        for (hold, buyer), seats in seats_of.items():
            owed = charge(event.plan, [], TERMS, hold, seats, {})
            intent = f"pi_{event.id}_{hold}"
            checkout = msgspec.json.encode({"url": f"http://provider.invalid/pay/{intent}"}).decode()
            row = [event.id, hold, buyer, "simulated", intent, checkout, owed.currency, owed.amount_minor]
            row += [owed.fee_minor, owed.tax_minor, msgspec.json.encode(owed).decode(), len(seats), seats]
            copy.write_row(row)
    conn.execute("ANALYZE payment")
    return [Begun(*row) for row in conn.execute(BEGUN, {"event": event.id}).fetchall()]
