"""Beginning to pay for a hold: what it costs is worked out and written down before any provider is asked.

Two short transactions with the provider between them, none open while it is asked: `begin` writes the
payment, `attach` notes what the provider made of it. Whoever is cut off in between begins again and gets the
same payment, and the provider the same idempotency key (`key_of`): so there is one intent.

Lock order: the hold, then its payments.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from msgspec import Struct, json

from store import hold_parts, holds, lookups
from store import plan as plans
from store.errors import Conflicted, NotFound
from store.holds import Conn, SeatNumbers
from store.lost_time import RUN_BY
from store.payments.charges import Charge, Line, charge
from store.payments.states import OPEN, PaymentState
from store.plan import Plan
from store.prices import PlanMove, PriceTerms
from store.words import EventId, HoldId, Micros, one_of

_IS_OPEN: Final = one_of("state", *sorted(OPEN))

LOCK_HOLD: Final = f"""
-- Locks the hold row while it runs. Who releases, pays or extends it waits for this short transaction.
SELECT hold.quantity FROM hold JOIN event ON event.id = hold.event_id
 WHERE hold.event_id = %(event)s AND hold.hold_id = %(hold)s AND hold.buyer = %(buyer)s
   AND hold.state || '' = 'active' AND hold.expires_at > {RUN_BY}
   FOR NO KEY UPDATE OF hold
"""

COLUMNS: Final = """
id, event_id, hold_id, order_id, buyer, provider, intent, checkout::text, state, currency, amount_minor,
fee_minor, tax_minor, quantity, declines, reason, refund_due_minor, refunded_minor,
(extract(epoch FROM created_at) * 1000000)::bigint, (extract(epoch FROM succeeded_at) * 1000000)::bigint,
charged::text
"""

FIND_OPEN: Final = f"""
SELECT {COLUMNS} FROM payment WHERE event_id = %(event)s AND hold_id = %(hold)s AND {_IS_OPEN}
"""

SET_EMAIL: Final = """
-- What the buyer said last.
UPDATE payment SET email = %(email)s WHERE id = %(payment)s AND email IS DISTINCT FROM %(email)s
"""

CANCEL: Final = f"UPDATE payment SET state = 'canceled' WHERE id = %(payment)s AND {_IS_OPEN}"

INSERT: Final = f"""
-- `payment_open` refuses a second one that could be paid.
INSERT INTO payment (event_id, hold_id, buyer, email, provider, currency, amount_minor, fee_minor, tax_minor,
                     charged, quantity, seats)
VALUES (%(event)s, %(hold)s, %(buyer)s, %(email)s, %(provider)s, %(currency)s, %(amount)s, %(fee)s, %(tax)s,
        %(charged)s, %(quantity)s, %(seats)s)
RETURNING {COLUMNS}
"""

ATTACH: Final = f"""
-- Twice the same changes nothing; another intent for the same payment cannot be. One that was named so late
-- that nobody looked for it any more is still to be ended.
UPDATE payment SET intent = %(intent)s, checkout = %(checkout)s,
       intent_ended = intent_ended AND intent IS NOT NULL
 WHERE id = %(payment)s AND (intent IS NULL OR intent = %(intent)s)
RETURNING {COLUMNS}
"""

OF_HOLD: Final = f"""
-- The newest first: a hold has more than one where an earlier was canceled.
SELECT {COLUMNS} FROM payment
 WHERE event_id = %(event)s AND hold_id = %(hold)s AND buyer = %(buyer)s ORDER BY id DESC LIMIT 1
"""

OF_BUYER: Final = f"SELECT {COLUMNS} FROM payment WHERE id = %(payment)s AND buyer = %(buyer)s"

decode_charged = json.Decoder(Charge).decode
_decode_checkout = json.Decoder(dict[str, str]).decode


class Payment(Struct, frozen=True):
    """A payment as its buyer may know it."""

    id: int
    event_id: EventId
    hold_id: HoldId
    order_id: HoldId | None
    buyer: str
    provider: str
    intent: str | None
    checkout: dict[str, str] | None
    state: PaymentState
    currency: str
    amount_minor: int
    fee_minor: int
    tax_minor: int
    quantity: int
    declines: int
    reason: str | None
    refund_due_minor: int
    refunded_minor: int
    created_at: Micros
    succeeded_at: Micros | None
    lines: tuple[Line, ...]

    @property
    def seats(self) -> list[int]:
        """By number of the plan."""
        return [line.seat for line in self.lines if line.seat is not None]

    @property
    def areas(self) -> dict[int, int]:
        """Area number → places."""
        return {line.area: line.count for line in self.lines if line.area is not None}


class Prices(Struct, frozen=True):
    """What somebody knows of an event's prices; `sha256` in hex is the plan's."""

    plan: Plan
    sha256: str
    terms: PriceTerms
    numbers: SeatNumbers


def key_of(payment_id: int) -> str:
    """The idempotency key under which a provider is asked to make a payment's intent."""
    return f"onsale-payment-{payment_id}"


def payment_of(row: tuple[Any, ...]) -> Payment:
    """A row of `COLUMNS`."""
    checkout = None if row[7] is None else _decode_checkout(row[7])
    return Payment(*(*row[:7], checkout, PaymentState(row[8]), *row[9:20], decode_charged(row[20]).lines))


async def begin(
    connection: Conn,
    event_id: int,
    hold_id: int,
    buyer: str,
    provider: str,
    prices: Prices,
    *,
    email: str | None = None,
) -> Payment | None:
    """The open payment of a hold: the one there is, or a new one. None: the hold costs nothing.

    One that was made for more than the hold has by now is canceled; `email` is kept with the one there is.
    Raises `NotFound` (hold_not_found), `Conflicted` (hold_expired, hold_released, hold_paid, hold_refunded),
    `Unavailable`.
    """

    async def attempt() -> Payment | None:
        values = {"event": event_id, "hold": hold_id, "buyer": buyer, "provider": provider}
        values["email"] = email
        row = await (await connection.execute(LOCK_HOLD, values)).fetchone()
        if row is None:
            holds.must_run(await holds.look(connection, values))
            raise Conflicted("hold_expired", "This hold ran out. Ask for the seats again.")
        owed = await _charge(connection, values, prices)
        found = sum([line.count for line in owed.lines])
        assert found == row[0], f"hold {hold_id} counts {row[0]} but {found} seats and places name it"
        begun = await (await connection.execute(FIND_OPEN, values)).fetchone()
        if begun is not None:
            there = payment_of(begun)
            if there.quantity == row[0] and there.amount_minor == owed.amount_minor:
                if email is not None:
                    await connection.execute(SET_EMAIL, values | {"payment": there.id})
                return there
            await connection.execute(CANCEL, {"payment": there.id})
        if owed.amount_minor == 0:
            return None
        values |= {"currency": owed.currency, "amount": owed.amount_minor, "fee": owed.fee_minor}
        values |= {"tax": owed.tax_minor, "charged": json.encode(owed).decode(), "quantity": row[0]}
        values["seats"] = [line.seat for line in owed.lines if line.seat is not None]
        made = await (await connection.execute(INSERT, values)).fetchone()
        assert made is not None, "the statement returns the row it inserts"
        return payment_of(made)

    return await holds.in_transaction(connection, attempt)


async def attach(connection: Conn, payment_id: int, intent: str, checkout: dict[str, str]) -> Payment:
    """Note what the provider made of a payment."""
    values = {"payment": payment_id, "intent": intent, "checkout": json.encode(checkout).decode()}
    row = await (await connection.execute(ATTACH, values)).fetchone()
    assert row is not None, f"payment {payment_id} has another intent: the provider made two for one key"
    return payment_of(row)


async def of_hold(connection: Conn, event_id: int, hold_id: int, buyer: str) -> Payment:
    """The last payment of a hold; raises `NotFound` (payment_not_found)."""
    values = {"event": event_id, "hold": hold_id, "buyer": buyer}
    return _found(await (await connection.execute(OF_HOLD, values)).fetchone())


async def of_buyer(connection: Conn, payment_id: int, buyer: str) -> Payment:
    """A payment by its id; raises `NotFound` (payment_not_found) for none of this buyer."""
    values = {"payment": payment_id, "buyer": buyer}
    return _found(await (await connection.execute(OF_BUYER, values)).fetchone())


def _found(row: tuple[Any, ...] | None) -> Payment:
    if row is None:
        raise NotFound("payment_not_found", "You have no such payment. Begin one for your hold.")
    return payment_of(row)


async def _charge(connection: Conn, values: dict[str, Any], prices: Prices) -> Charge:
    """What the hold, which is locked, has and costs by the plan that counts."""
    plan, moves = await _plan(connection, values["event"], prices)
    among = await holds.seats_decided(connection, values, prices.numbers)
    kept = await (await connection.execute(hold_parts.KEPT_SEATS, values | {"among": among})).fetchall()
    places = await (await connection.execute(hold_parts.KEPT_PLACES, values)).fetchall()
    return charge(plan, moves, prices.terms, values["hold"], [seat for (seat,) in kept], dict(places))


async def _plan(connection: Conn, event_id: int, prices: Prices) -> tuple[Plan, list[PlanMove]]:
    """The plan and what was moved since the sale began: the plan first, for a move that comes between the
    two readings says itself what the seat was, and the hold is older than it.
    """
    if not await lookups.plan_moves(connection, event_id):  # and any that comes now is younger than the hold
        return prices.plan, []
    if await lookups.plan_sha256(connection, event_id) == prices.sha256:
        return prices.plan, await lookups.plan_moves(connection, event_id)
    text, _ = await lookups.plan_text(connection, event_id)
    plan = await asyncio.to_thread(plans.decode, text)
    return plan, await lookups.plan_moves(connection, event_id)
