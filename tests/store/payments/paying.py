"""How tests pay: what a provider would tell, and what must be true whatever it told."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg

from store.payments import begin
from store.payments.begin import Payment, Prices
from store.payments.settle import Notice, settle
from store.payments.states import NoticeKind
from store.prices import PriceTerms
from tests.store.test_holds import HOLD, NUMBERS, PLAN, url_of

TERMS = PriceTerms(fee_minor=150, tax_basis_points=1_900)
PRICES = Prices(PLAN, "", TERMS, NUMBERS)
MONEY_ANSWERED_FOR = """
-- Money that came has seats, asks for them or goes back; and what goes back is written down to the cent.
SELECT id, state FROM payment
 WHERE (state = 'succeeded') <> EXISTS (SELECT 1 FROM hold WHERE hold.event_id = payment.event_id
        AND hold.hold_id = payment.order_id AND hold.state = 'paid' AND payment.state = 'succeeded')
    OR refund_due_minor <> (SELECT coalesce(sum(amount_minor), 0) FROM refund
        WHERE payment_id = payment.id AND refund.state = 'due')
    OR refunded_minor <> (SELECT coalesce(sum(amount_minor), 0) FROM refund
        WHERE payment_id = payment.id AND refund.state = 'refunded')
"""


def run(conn: psycopg.Connection, work) -> Any:
    """What `work` returns on an asynchronous connection to the same database."""

    async def on_its_own():
        async with await psycopg.AsyncConnection.connect(url_of(conn), autocommit=True) as own:
            return await work(own)

    return asyncio.run(on_its_own())


def begun(
    conn: psycopg.Connection, event: int, hold_id: int = HOLD, buyer: str = "ann", prices=PRICES
) -> Payment:
    """A payment that the buyer was sent to the provider with."""

    async def work(own):
        payment = await begin.begin(own, event, hold_id, buyer, "simulated", prices)
        assert payment is not None, "it costs something"
        return await begin.attach(own, payment.id, f"pi_{payment.id}", {"url": "http://pay"})

    made: Payment = run(conn, work)
    return made


def notice(
    payment: Payment, kind: NoticeKind = NoticeKind.SUCCEEDED, number: int = 1, **other: Any
) -> Notice:
    """What the provider tells of it."""
    told: dict[str, Any] = {"amount_minor": payment.amount_minor, "currency": payment.currency.lower()}
    told |= {"intent": payment.intent, "provider": payment.provider, **other}
    return Notice(id=f"evt_{payment.id}_{kind}_{number}", kind=kind, payment=payment.id, **told)


def told(conn: psycopg.Connection, *notices: Notice):
    """What became of them."""
    return run(conn, lambda own: settle(own, notices))


def read(conn: psycopg.Connection, payment: Payment) -> Payment:
    """The payment as it is now."""
    now: Payment = run(conn, lambda own: begin.of_buyer(own, payment.id, payment.buyer))
    return now


def money_is_answered_for(conn: psycopg.Connection) -> bool:
    """Whether `MONEY_ANSWERED_FOR` finds nothing."""
    return conn.execute(MONEY_ANSWERED_FOR).fetchall() == []
