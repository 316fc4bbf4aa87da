"""Whom chores ask outside: payment providers, and an event's stream for a late payment.

Both belong to the gateway; among the chores they are named here alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from redis.exceptions import RedisError

from gateway.payments import asking
from gateway.payments.port import Provider
from gateway.payments.providers import providers_of
from gateway.settings import PaymentSettings, SettingNotValid
from onsale.chores.settings import ChoreSettingNotValid, ChoreSettings
from store import lookups
from store import plan as plans
from store.errors import OnsaleError, Unavailable
from store.holds import Conn
from store.payments.records import Known
from store.stream.redis_stream import RedisIntake, connect_async

STREAM_SECONDS_MAX: Final = 5.0


def payment_settings() -> PaymentSettings:
    """With whom buyers pay, as the gateways must have it too; raises `ChoreSettingNotValid`."""
    try:
        return PaymentSettings.from_env()
    except SettingNotValid as error:
        raise ChoreSettingNotValid(str(error)) from None


def configured_providers() -> Mapping[str, Provider]:
    """Every provider whose settings are given, by name: payments may be of another than now."""
    return providers_of(payment_settings())


async def ask(connection: Conn, settings: ChoreSettings, slug: str, payment: Known) -> None:
    """Ask in the event's stream for the seats of a late payment; asked twice, it is decided once.

    Raises `Unavailable`: it is asked again. No transaction is open.
    """
    text, _ = await lookups.plan_text(connection, payment.event_id)
    plan = await asyncio.to_thread(plans.decode, text)
    client = connect_async(settings.engines.redis_url, connections_max=1)
    try:
        async with asyncio.timeout(STREAM_SECONDS_MAX):
            await asking.ask(RedisIntake(client, slug), plan, payment)
    except (OnsaleError, RedisError, OSError) as error:  # its allocator makes a missing stream anew
        raise Unavailable(f"The stream of {slug} cannot be asked now: {error}") from error
    finally:
        await client.aclose()
