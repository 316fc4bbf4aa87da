"""Money that came when its hold had run out, where the organiser lets it ask for the same seats again.

It asks in the event's stream, as a request of the buyer's like any other, whose id no buyer can use and that
names the payment (`request_of`): however often it is asked and by whomever, it is decided once. `resolve`
reads that decision from the ledger: seats again, and they are bought at once; or the money goes back. Once
the event is closed it goes back undecided, too.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
from msgspec import Struct

from store import lookups
from store.errors import Unavailable
from store.holds import Conn, in_transaction
from store.jitter import jitter
from store.payments import records
from store.payments.buying import buy, look_at
from store.payments.records import Change, Changed, Known
from store.payments.settle import RETRY_SECONDS_MAX, ROUNDS_MAX
from store.payments.states import HoldFate, LatePolicy, PaymentState
from store.plan import Plan
from store.words import Outcome, Want

LATE_MAX: Final = 500
"""Most late payments one look gives."""

FIND_LATE: Final = f"""
-- Along the index of late payments.
SELECT payment.id, event.slug FROM payment JOIN event ON event.id = event_id
 WHERE payment.state = 'late' AND payment.id > %(after)s ORDER BY payment.id LIMIT {LATE_MAX}
"""


class _Result(Struct):
    hold: str = ""


class _Decision(Struct):
    """Of a refusal the result says other things."""

    outcome: Outcome
    result: _Result | None = None


_decode_decision = msgspec.json.Decoder(_Decision).decode


def request_of(payment_id: int) -> str:
    """The request id under which a late payment asks. Buyers' own have no colon."""
    return f"payment:{payment_id}"


def want_of(payment: Known, plan: Plan) -> Want:
    """What it asks for: the seats and places it was made for, all or none."""
    areas = {plan.areas[area].guid: count for area, count in payment.areas.items()}
    return Want(seats=tuple([plan.seats[seat].guid for seat in payment.seats]), areas=areas)


async def find_late(connection: Conn, after: int = 0) -> list[tuple[int, str]]:
    """(payment, slug of its event) of payments that ask, by number, at most `LATE_MAX`."""
    rows = await (await connection.execute(FIND_LATE, {"after": after})).fetchall()
    return [(row[0], row[1]) for row in rows]


async def resolve(connection: Conn, payment_id: int) -> Change | Known | None:
    """What became of a late payment: a change that is true now, or the payment where nothing is decided yet
    (ask in the stream, again if need be), or None for one that is not late.

    Raises `Unavailable`.
    """

    async def attempt() -> Change | Known | None:
        payment = (await records.read(connection, [payment_id])).get(payment_id)
        if payment is None or payment.state is not PaymentState.LATE:
            return None
        key = (payment.buyer, request_of(payment_id))
        decided = (await lookups.decisions(connection, payment.event_id, [key])).get(key)
        if decided is not None:
            change = await _change(connection, payment, _decode_decision(decided.frame))
        elif payment.policy is LatePolicy.REACQUIRE:
            return payment
        else:  # the event is over; it was when the payment was read, before the decision was looked for
            change = Change(payment, PaymentState.REFUND_DUE, reason="seats_gone")
        await records.write(connection, [change])
        await records.tell(connection, [change])
        return change

    for tries in range(1, ROUNDS_MAX + 1):
        try:
            return await in_transaction(connection, attempt)
        except Changed:
            await asyncio.sleep(jitter(0, RETRY_SECONDS_MAX * tries))
    raise Unavailable("This payment is being changed by somebody else. Try again.")


async def _change(connection: Conn, payment: Known, decision: _Decision) -> Change:
    if decision.outcome is not Outcome.HELD or decision.result is None:
        return Change(payment, PaymentState.REFUND_DUE, reason="seats_gone")
    again = payment.buys(int(decision.result.hold))
    fate = (await look_at(connection, [again]))[again.key]
    if fate is not HoldFate.ALIVE:  # it took longer than the new hold ran, or its holder let it go
        return Change(payment, PaymentState.REFUND_DUE, reason="late")
    await buy(connection, [again])
    return Change(payment, PaymentState.SUCCEEDED, order_id=again.hold_id)
