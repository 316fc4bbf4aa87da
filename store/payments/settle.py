"""What providers tell becomes true: many notices in one transaction, each once, in any order.

A payment that succeeded buys its hold in the same transaction: hold, seats, places, history, fact, outbox row
and the notice's id, or none of it. It needs Postgres alone. Money that finds its hold over is `late` or goes
back (`store.payments.states`); a refund's row is written here, and given by `store.payments.refunds`.

The statements take arrays: a hundred payments that arrive together cost about what one does. What cannot
be decided together (two notices about one payment, two payments for one hold) is decided in turn.

Lock order, as for all writers: holds by event and number, seats, areas; then payments, notices, the outbox's
counters. A payment is changed only from the state that was read, a hold only once it is locked; where
somebody else changed anything meanwhile, all is rolled back and read anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import psycopg
from msgspec import Struct

from store.errors import Conflicted, NotFound, OnsaleError, Unavailable
from store.holds import Conn, in_transaction
from store.jitter import jitter
from store.payments import records
from store.payments.buying import HoldKey, buy, look_at
from store.payments.records import Change, Changed, Known
from store.payments.states import (
    OPEN,
    UNPAID,
    HoldFate,
    NoticeKind,
    PaymentState,
    after_money,
    after_no_money,
)

log = logging.getLogger("onsale.payments")

NOTICES_MAX: Final = 500
"""Most notices of one transaction."""
ROUNDS_MAX: Final = 5
"""So often what somebody else changed meanwhile is read anew."""
RETRY_SECONDS_MAX: Final = 0.05


class Notice(Struct, frozen=True):
    """What a provider told, checked to come from it; `id` is the provider's, and the same when it repeats."""

    provider: str
    id: str
    kind: NoticeKind
    payment: int
    """Ours, from what the provider was given to keep with the intent."""
    intent: str
    amount_minor: int
    currency: str
    provider_fee_minor: int = 0


class Settled(Struct, frozen=True):
    """What became of a notice."""

    payment: int
    event_id: int
    hold_id: int
    buyer: str
    state: PaymentState
    repeated: bool = False
    """It was acted on before, or says nothing new."""
    order_id: int | None = None
    reason: str | None = None


SEEN: Final = """
SELECT provider, notice_id, payment_id FROM payment_notice
  JOIN unnest(%(providers)s::text[], %(notices)s::text[]) AS told (provider, notice_id)
 USING (provider, notice_id)
"""

REMEMBER: Final = """
-- A notice that somebody else acts on in this moment is waited for, and then there.
INSERT INTO payment_notice (provider, notice_id, payment_id, kind, became)
SELECT * FROM unnest(%(providers)s::text[], %(notices)s::text[], %(payments)s::bigint[], %(kinds)s::text[],
                     %(states)s::text[])
ON CONFLICT DO NOTHING
"""

REASONS: Final = {
    HoldFate.CHANGED: "hold_changed",
    HoldFate.OVER: "late",
    HoldFate.RELEASED: "hold_released",
    HoldFate.PAID: "paid_twice",
    HoldFate.REFUNDED: "order_refunded",
}
"""Why money goes back, by what it found."""


async def settle(connection: Conn, notices: Sequence[Notice]) -> list[Settled | OnsaleError]:
    """What became of each notice, in order; an error for one that is not ours or does not fit.

    `NotFound` (unknown_payment): no such payment of that provider; it may come again, nothing was changed.
    `Conflicted` (amount_mismatch, notice_of_another). A plain `OnsaleError` for one whose rows contradict
    each other or a constraint, or that Postgres cannot keep: it fails alone, with an alert. Raises
    `Unavailable` when nothing could be decided.
    """
    assert len(notices) <= NOTICES_MAX, "callers part what they give"
    answers: dict[int, Settled | OnsaleError] = {}
    left = dict(enumerate(notices))
    while left:
        known = await records.read(connection, [notice.payment for notice in left.values()])
        together = _together(left, known)
        decided = await _decide(connection, [left[place] for place in together], known)
        answers.update(zip(together, decided, strict=True))
        left = {place: notice for place, notice in left.items() if place not in together}
    return [answers[place] for place in range(len(notices))]


def _together(left: dict[int, Notice], known: dict[int, Known]) -> list[int]:
    """Places of notices that one transaction decides: one for each payment, each hold and each id."""
    payments: set[int] = set()
    holds: set[tuple[int, int]] = set()
    names: set[tuple[str, str]] = set()
    places = []
    for place, notice in left.items():
        payment = known.get(notice.payment)
        hold = None if payment is None else (payment.event_id, payment.hold_id)
        name = (notice.provider, notice.id)
        if notice.payment in payments or hold in holds or name in names:
            continue
        payments.add(notice.payment)
        names.add(name)
        if hold is not None:
            holds.add(hold)
        places.append(place)
    return places


async def _decide(
    connection: Conn, notices: list[Notice], known: dict[int, Known] | None = None
) -> list[Settled | OnsaleError]:
    """One whose rows contradict each other fails alone. `known` are their payments as just read, if they
    were: whatever changed since then, what is written says what was read."""
    for tries in range(1, ROUNDS_MAX + 1):
        known = known or await records.read(connection, [notice.payment for notice in notices])
        try:
            return await in_transaction(connection, partial(_attempt, connection, notices, known))
        except Changed:
            known = None
            await asyncio.sleep(jitter(0, RETRY_SECONDS_MAX * tries))
        except (AssertionError, psycopg.IntegrityError, psycopg.DataError):
            if len(notices) == 1:
                log.exception("ALERT: payment %d contradicts what is known of it", notices[0].payment)
                return [OnsaleError("What is known of this payment contradicts itself. It was not changed.")]
            return [answer for one in notices for answer in await _decide(connection, [one])]
    raise Unavailable("These payments are being changed by somebody else. Send the notices again.")


async def _attempt(
    connection: Conn, notices: list[Notice], known: Mapping[int, Known]
) -> list[Settled | OnsaleError]:
    seen = await _seen(connection, notices)
    answers: list[Settled | OnsaleError | None] = []
    acted = []
    for notice in notices:
        payment = known.get(notice.payment)
        of = seen.get((notice.provider, notice.id))
        error = _unfit(payment, notice, of)
        if payment is None or error is not None:
            answers.append(error)
        elif notice.kind is NoticeKind.OTHER or of is not None:
            answers.append(_settled(Change(payment, payment.state)))
        else:
            acted.append((notice, payment))
            answers.append(None)
    became = await _act(connection, acted)
    return [one or became[notice.payment] for one, notice in zip(answers, notices, strict=True)]


async def _act(connection: Conn, acted: Sequence[tuple[Notice, Known]]) -> dict[int, Settled]:
    """Changes what the notices say of these payments; by payment, what became of it. Raises `Changed`."""
    paid = [
        payment.buys(payment.hold_id)
        for notice, payment in acted
        if notice.kind is NoticeKind.SUCCEEDED and payment.state in UNPAID
    ]
    fates = await look_at(connection, paid) if paid else {}
    changes = [_change(notice, payment, fates) for notice, payment in acted]
    bought = {one.payment.id for one in changes if one.money and one.became is PaymentState.SUCCEEDED}
    await buy(connection, [payment.buys(payment.hold_id) for _, payment in acted if payment.id in bought])
    await records.write(connection, changes)
    await _remember(connection, [notice for notice, _ in acted], changes)
    await records.tell(connection, changes)
    return {one.payment.id: _settled(one) for one in changes}


def _change(notice: Notice, payment: Known, fates: Mapping[HoldKey, HoldFate]) -> Change:
    if notice.kind is NoticeKind.SUCCEEDED and payment.state in UNPAID:
        fate = fates[payment.event_id, payment.hold_id]
        became = after_money(fate, payment.policy)
        order_id = payment.hold_id if became is PaymentState.SUCCEEDED else None
        money = (notice.intent, True, False, notice.provider_fee_minor)
        return Change(payment, became, order_id, REASONS.get(fate), *money)
    declined = notice.kind is NoticeKind.FAILED and payment.state in OPEN
    became = after_no_money(payment.state, notice.kind)
    return Change(payment, became, intent=notice.intent, declined=declined)


def _settled(change: Change) -> Settled:
    payment = change.payment
    order_id = payment.order_id if change.order_id is None else change.order_id
    where = (payment.id, payment.event_id, payment.hold_id, payment.buyer)
    return Settled(*where, change.became, not change.changes, order_id, change.reason or payment.reason)


def _unfit(payment: Known | None, notice: Notice, of: int | None) -> OnsaleError | None:
    """Why a notice cannot be about this payment; `of`: what another one of that id was about."""
    theirs = payment is not None and payment.intent not in (None, notice.intent)
    if payment is None or payment.provider != notice.provider or theirs:
        return NotFound("unknown_payment", "There is no such payment here. Nothing was changed.")
    if of not in (None, payment.id):
        story = "A notice of this id was about another payment. Nothing was changed; send it under its own."
        return Conflicted("notice_of_another", story)
    told = (notice.amount_minor, notice.currency.upper())
    if notice.kind is NoticeKind.SUCCEEDED and told != (payment.amount_minor, payment.currency):
        story = "The amount or the currency is not what this payment was made for. Nothing was changed."
        return Conflicted("amount_mismatch", story)
    return None


async def _seen(connection: Conn, notices: Sequence[Notice]) -> dict[tuple[str, str], int]:
    """Which of them were acted on, and the payment they were about."""
    values = {"providers": [one.provider for one in notices], "notices": [one.id for one in notices]}
    return {(row[0], row[1]): row[2] for row in await (await connection.execute(SEEN, values)).fetchall()}


async def _remember(connection: Conn, notices: Sequence[Notice], changes: Sequence[Change]) -> None:
    """Each notice, once. Raises `Changed` when somebody else acted on one meanwhile."""
    if not notices:
        return
    values = {
        "providers": [one.provider for one in notices],
        "notices": [one.id for one in notices],
        "payments": [one.payment for one in notices],
        "kinds": [one.kind for one in notices],
        "states": [one.became for one in changes],
    }
    remembered = await connection.execute(REMEMBER, values)
    if remembered.rowcount != len(notices):
        raise Changed
