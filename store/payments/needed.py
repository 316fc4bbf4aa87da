"""Which providers are needed now: by events that ask for money, and by payments that are under way.

Gateways begin payments and hear of them; chores end them and give money back. Each asks the providers whose
settings it was given, so where one was given fewer than the other, some of this is left undone.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

EVENTS_MAX: Final = 100

EVENTS: Final = f"""
SELECT slug, state IN ('open', 'paused') FROM event WHERE payment = 'required' AND state <> 'closed'
 ORDER BY id DESC LIMIT {EVENTS_MAX}
"""

UNDER_WAY: Final = """
-- Along the partial indexes of intents that are not ended, of late payments and of refunds that are due.
SELECT provider FROM payment WHERE state IN ('canceled', 'created', 'failed') AND NOT intent_ended
 UNION SELECT provider FROM payment WHERE state = 'late'
 UNION SELECT provider FROM refund JOIN payment ON payment.id = refund.payment_id
        WHERE refund.state = 'due'
 ORDER BY provider
"""


class ForMoney(NamedTuple):
    """An event that asks for money and is not over."""

    slug: str
    sells: bool
    """It is open or paused: somebody may want to pay now."""


def events_of(rows: list[tuple[Any, ...]]) -> list[ForMoney]:
    """What `EVENTS` gave, the newest first."""
    return [ForMoney(*row) for row in rows]
