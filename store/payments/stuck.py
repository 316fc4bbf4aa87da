"""What of the second phase needs a hand: refunds that their provider says it will never give."""

from __future__ import annotations

from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg.rows import tuple_row

REFUSED: Final = "refused: "
"""How `refund.last_error` begins where the provider said that it will never give it."""
ROWS_MAX: Final = 100

READ: Final = f"""
-- Along the index of refunds that are due.
SELECT refund.id, payment_id, event.slug, payment.order_id::text, refund.amount_minor, payment.currency,
       payment.provider, payment.intent, attempts, last_error
  FROM refund JOIN payment ON payment.id = payment_id JOIN event ON event.id = refund.event_id
 WHERE refund.state = 'due' AND starts_with(last_error, '{REFUSED}')
 ORDER BY refund.id LIMIT {ROWS_MAX}
"""


class StuckRefund(Struct, frozen=True):
    """A refund that somebody has to give by hand, at the provider or otherwise."""

    refund: int
    payment: int
    event: str
    order: str | None
    amount_minor: int
    currency: str
    provider: str
    intent: str
    attempts: int
    error: str


def read(conn: psycopg.Connection[Any]) -> list[StuckRefund]:
    """At most `ROWS_MAX`, the oldest first."""
    rows = conn.cursor(row_factory=tuple_row).execute(READ).fetchall()
    return [StuckRefund(*row) for row in rows]
