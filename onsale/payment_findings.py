"""What the doctor finds about paying: events that ask for money, providers, tickets.

Settings are those of the environment the doctor runs in, which in containers is a gateway's or the chores'
own (`docker compose exec gateway python -m onsale doctor`). Where `./run up` runs, it said who is paid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

from gateway.payments.simulated import Simulated
from gateway.payments.stripe import Stripe
from gateway.settings import PaymentSettings, SettingNotValid
from notifier.tickets import TicketKeys, TicketKeysNotValid
from onsale.findings import Finding, Level
from store.payments import needed
from store.payments.needed import ForMoney

NAMED_MAX: Final = 5
SETTINGS: Final = "ONSALE_PAYMENT_PROVIDER and what belongs to it, for gateways and chores: docs/payments.md"
TICKET_KEY: Final = "ONSALE_TICKET_KEY, the same for every gateway; make one with: openssl rand -hex 32"

Conn = psycopg.Connection[Any]


def payments(conn: Conn, environ: Mapping[str, str], runs: str | None) -> Iterator[Finding]:
    """`runs`: who is paid in the onsale that runs here; None where none does."""
    cursor = conn.cursor(row_factory=tuple_row)
    events = needed.events_of(cursor.execute(needed.EVENTS).fetchall())
    under_way = [str(name) for (name,) in cursor.execute(needed.UNDER_WAY).fetchall()]
    if runs is not None:
        yield from _provider(runs, events)
        return
    try:
        settings = PaymentSettings.from_env(environ)
    except SettingNotValid as error:
        yield Finding(
            Level.BAD, "payments", str(error), "a gateway or chores with these settings do not start"
        )
        return
    yield from _provider(settings.provider, events)
    yield from _under_way(settings, under_way)
    if settings.provider == Stripe.name and not settings.stripe_publishable_key:
        yield Finding(
            Level.WARN,
            "payments",
            "ONSALE_STRIPE_PUBLISHABLE_KEY is not set: buyers on onsale's own pages cannot pay",
            "set it, unless your own pages carry Stripe's Payment Element (docs/payments.md)",
        )
    if _is_a_gateways(environ):
        yield from _tickets(environ)


def _provider(provider: str, events: list[ForMoney]) -> Iterator[Finding]:
    if provider == Simulated.name:
        yield Finding(Level.NOTE, "payments", "simulated: no money moves, and anybody can pay for anything")
    elif provider:
        yield Finding(Level.OK, "payments", f"by {provider}")
    if provider or not events:
        return
    selling = [one for one in events if one.sells]
    named = [one.slug for one in (selling or events)[:NAMED_MAX]]
    more = len(selling or events) - len(named)
    who = ", ".join(named) + (f" and {more} more" if more else "")
    found = f"{who}: money is asked for and no payment provider is configured; nobody can buy"
    yield Finding(Level.BAD if selling else Level.WARN, "payments", found, f"set {SETTINGS}")


def _under_way(settings: PaymentSettings, names: list[str]) -> Iterator[Finding]:
    known = settings.known
    for name in names:
        if name not in known:
            found = f"payments with {name} are under way, and its settings are missing here"
            remedy = (
                "nobody here ends them, hears of them or gives money back: set what docs/payments.md names"
            )
            yield Finding(Level.BAD, "payments", found, remedy)


def _is_a_gateways(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("ONSALE_TOKEN_SECRET") or environ.get("ONSALE_JWKS_URL"))


def _tickets(environ: Mapping[str, str]) -> Iterator[Finding]:
    key = environ.get("ONSALE_TICKET_KEY", "")
    if not key:
        yield Finding(Level.WARN, "tickets", "no key: who buys gets no tickets", f"set {TICKET_KEY}")
        return
    try:
        TicketKeys(key)
    except TicketKeysNotValid as error:
        yield Finding(Level.BAD, "tickets", f"this gateway does not start: {error}", f"set {TICKET_KEY}")
    else:
        yield Finding(Level.OK, "tickets", "are signed")
