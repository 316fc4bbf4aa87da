"""Money that came when its hold had run out, where the organiser lets it ask for the same seats again.

It asks in the event's stream, as a request of the buyer's like any other, whose id no buyer can use and that
names the payment (`request_of`): however often it is asked and by whomever, it is decided once. `resolve`
reads that decision from the ledger: seats again, and they are bought at once; or the money goes back. So it
does where the event was closed before the request was decided: nobody attends to its stream any more.
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
from store.payments.states import HoldFate, PaymentState
from store.plan import Plan
from store.words import Outcome, Want

LATE_MAX: Final = 500
"""Most late payments one look gives."""

FIND_LATE: Final = f"""
-- Along the index of late payments.
SELECT payment.id, event.slug FROM payment JOIN event ON event.id = event_id
 WHERE payment.state = 'late' AND payment.id > %(after)s ORDER BY payment.id LIMIT {LATE_MAX}
"""

IS_OVER: Final = """
-- Locks the cursor of a closed event, and nothing of any other: no batch is under way, and the next one knows
-- that nothing is sold any more. So what is undecided now is never given anything.
SELECT 1 FROM event_cursor JOIN event ON event.id = event_cursor.event_id
 WHERE event_id = %(event)s AND event.state = 'closed' FOR UPDATE OF event_cursor
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
        decision = await _decision(connection, payment)
        if decision is None:
            values = {"event": payment.event_id}
            if await (await connection.execute(IS_OVER, values)).fetchone() is None:
                return payment
            decision = await _decision(connection, payment)  # what a batch decided in this moment counts
        change = await _change(connection, payment, decision)
        await records.write(connection, [change])
        await records.tell(connection, [change])
        return change

    for tries in range(1, ROUNDS_MAX + 1):
        try:
            return await in_transaction(connection, attempt)
        except Changed:
            await asyncio.sleep(jitter(0, RETRY_SECONDS_MAX * tries))
    raise Unavailable("This payment is being changed by somebody else. Try again.")


async def _decision(connection: Conn, payment: Known) -> _Decision | None:
    key = (payment.buyer, request_of(payment.id))
    decided = (await lookups.decisions(connection, payment.event_id, [key])).get(key)
    return None if decided is None else _decode_decision(decided.frame)


async def _change(connection: Conn, payment: Known, decision: _Decision | None) -> Change:
    """None: it is never decided."""
    if decision is None:
        return Change(payment, PaymentState.REFUND_DUE, reason="late")
    if decision.outcome is not Outcome.HELD or decision.result is None:
        return Change(payment, PaymentState.REFUND_DUE, reason="seats_gone")
    again = payment.buys(int(decision.result.hold))
    fate = (await look_at(connection, [again]))[again.key]
    if fate is not HoldFate.ALIVE:  # it took longer than the new hold ran, or its holder let it go
        return Change(payment, PaymentState.REFUND_DUE, reason="late")
    await buy(connection, [again])
    return Change(payment, PaymentState.SUCCEEDED, order_id=again.hold_id)
