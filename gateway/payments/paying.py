"""Beginning to pay for a hold, and how that stands: one short transaction before the provider is asked, one
after it, and none while it is.
"""

from __future__ import annotations

import asyncio
import logging

from redis.exceptions import RedisError

from gateway.buyers.decode import HOLD_ID_MAX
from gateway.buyers.recall import DATABASE_AWAY
from gateway.events import EventRuntime
from gateway.holders import ChangedHold, hold_frame
from gateway.problems import Busy
from gateway.runtime import Runtime
from store import holds, lookups
from store import plan as plans
from store.errors import Conflicted, NotFound, Unavailable
from store.holds import Conn
from store.payments import begin, shown
from store.payments.begin import Payment, Prices
from store.payments.shown import ShownPayment
from store.payments.states import OPEN
from store.words import HoldState

log = logging.getLogger("onsale.gateway")

ASKING_MAX = 500
"""Most buyers for whom the provider is asked at once."""
UNKNOWN = "The database is away. Whether a payment was begun is unknown: ask again, it is begun once."


class NobodyIsPaid(Unavailable):
    """No payment provider is set up here. The organiser has to do that first."""

    code = "no_provider"


async def begin_payment(
    runtime: Runtime, event: EventRuntime, hold_id: int, buyer: str, email: str | None
) -> ShownPayment:
    """The open payment of a hold, with how to pay it; a hold that costs nothing is bought at once.

    However often it is asked for, there is one intent at the provider. Raises what `store.payments.begin`
    does, `Conflicted` (payment_not_required, payment_refused), `Unavailable` (also no_provider,
    provider_away, provider_busy).
    """
    _must_be_number(hold_id)
    try:
        async with runtime.pool.connection() as connection:
            begun = await _begin(connection, runtime, event, hold_id, buyer, email)
    except DATABASE_AWAY as error:
        raise Unavailable(UNKNOWN) from error
    if begun is None:
        await _tell_bought(event, hold_id, buyer)
        return shown.free(hold_id, event.plan.currency)
    if begun.state in OPEN and begun.checkout is None:
        begun = await _make(runtime, event, begun)
    return shown.shown(begun)


async def read_payment(runtime: Runtime, event: EventRuntime, hold_id: int, buyer: str) -> ShownPayment:
    """The last payment of a hold; raises `NotFound` (payment_not_found), `Unavailable`."""
    _must_be_number(hold_id)
    try:
        async with runtime.pool.connection() as connection:
            try:
                return shown.shown(await begin.of_hold(connection, event.row.id, hold_id, buyer))
            except NotFound:
                if await _is_bought(connection, event.row.id, hold_id, buyer):
                    return shown.free(hold_id, event.plan.currency)
                raise
    except DATABASE_AWAY as error:
        raise Unavailable("The database is away. Try again shortly.") from error


async def _begin(
    connection: Conn, runtime: Runtime, event: EventRuntime, hold_id: int, buyer: str, email: str | None
) -> Payment | None:
    """The open payment; None for a hold that costs nothing, which is bought then."""
    provider, key = runtime.payments.provider, (event.row.id, hold_id, buyer)
    prices = await _prices(connection, event)
    if provider is not None:
        begun = await begin.begin(connection, *key, provider.name, prices, email=email)
    else:
        async with connection.transaction():  # what it costs is known once it is begun
            begun = await begin.begin(connection, *key, "", prices)
            if begun is not None:
                runtime.payments.nobody_is_paid(event.row.slug)
                raise NobodyIsPaid
    if begun is None:
        await holds.confirm(connection, *key, event.numbers, free=True)
    return begun


async def _make(runtime: Runtime, event: EventRuntime, payment: Payment) -> Payment:
    """Nothing is locked and no connection taken while the provider is asked: the one it was begun with."""
    desk = runtime.payments
    provider = desk.providers.get(payment.provider)
    if provider is None:
        raise NobodyIsPaid
    if desk.asking >= ASKING_MAX:
        raise Busy("provider_busy", "Too many wait for the payment provider. Begin again.")
    many = "1 ticket" if payment.quantity == 1 else f"{payment.quantity} tickets"
    return_url = f"{desk.public_url}/e/{event.row.slug}?paid={payment.hold_id}"
    desk.asking += 1
    try:
        made = await provider.make(payment, what=f"{event.row.name}: {many}", return_url=return_url)
    finally:
        desk.asking -= 1
    checkout = made.checkout | desk.page_of(provider, event.row.slug, payment.hold_id)
    desk.begun += 1
    try:
        async with runtime.pool.connection() as connection:
            return await begin.attach(connection, payment.id, made.intent, checkout)
    except DATABASE_AWAY as error:
        raise Unavailable(UNKNOWN) from error


async def _prices(connection: Conn, event: EventRuntime) -> Prices:
    """By the terms and the plan as they are now: what this gateway knows may be seconds old. Raises
    `Conflicted` (payment_not_required).
    """
    row = await lookups.event_by_slug(connection, event.row.slug)
    if row.payment == "none":
        raise Conflicted("payment_not_required", "This event asks for no money. Confirm the hold instead.")
    plan = event.plan
    if event.plan_etag != f'"{row.plan_sha256}"':
        text, sha256 = await lookups.plan_text(connection, row.id)
        return Prices(await asyncio.to_thread(plans.decode, text), sha256, row.price_terms, event.numbers)
    return Prices(plan, row.plan_sha256, row.price_terms, event.numbers)


async def _is_bought(connection: Conn, event_id: int, hold_id: int, buyer: str) -> bool:
    """Without a payment: for nothing."""
    values = {"event": event_id, "hold": hold_id, "buyer": buyer}
    try:
        return (await holds.look(connection, values)).state is HoldState.PAID
    except NotFound:
        return False


async def _tell_bought(event: EventRuntime, hold_id: int, buyer: str) -> None:
    try:
        await event.intake.stream.poke()
    except (RedisError, OSError):
        log.warning("the allocator could not be woken; it looks by itself within a second")
    event.holders.tell(buyer, hold_frame(ChangedHold(str(hold_id), HoldState.PAID)))


def _must_be_number(hold_id: int) -> None:
    if hold_id > HOLD_ID_MAX:
        raise NotFound("hold_not_found", "You have no such hold.")
