"""Chores reach the gateway's parts in one place, and what fails there is tried again."""

from __future__ import annotations

from types import ModuleType

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from onsale.chores import outside
from onsale.chores.late import late
from store.errors import OutcomeUnknown, StreamMissing
from tests.onsale.chores.doings import doing, settings_of
from tests.store.payments.test_refunds import late_payment


@pytest.fixture
def asking(monkeypatch):
    """What the gateway asks the stream with; `fails` is raised once it was asked."""
    module = ModuleType("gateway.payments.asking")
    module.asked = []  # type: ignore[attr-defined]
    module.fails = None  # type: ignore[attr-defined]

    async def ask(stream, plan, payment):
        module.asked.append((len(plan.seats), payment.id))
        if module.fails is not None:
            raise module.fails

    module.ask = ask  # type: ignore[attr-defined]
    monkeypatch.setattr(outside, "asking", module)
    return module


def test_a_late_payment_is_asked_for_with_its_events_plan(conn, event, database_url, asking):
    payment = late_payment(conn, event)
    assert doing(database_url, late).told() is None
    assert asking.asked == [(100, payment.id)]


@pytest.mark.parametrize(
    "fails", [StreamMissing(), OutcomeUnknown(), RedisConnectionError("gone"), OSError("cut")]
)
def test_a_stream_that_cannot_be_asked_is_asked_again(conn, event, database_url, asking, fails):
    late_payment(conn, event)
    asking.fails = fails
    assert "The stream of gig cannot be asked now" in doing(database_url, late).told()
    conn.execute("UPDATE payment_try SET next_at = clock_timestamp()")
    asking.fails = None
    assert doing(database_url, late).told() is None
    assert len(asking.asked) == 2


def test_providers_are_made_when_one_is_needed_and_closed(database_url, conn, monkeypatch, provider):
    made = []

    def configured():
        made.append(provider)
        return {provider.name: provider}

    monkeypatch.setattr(outside, "configured_providers", configured)

    async def nothing(given):
        return 0

    async def asks(given):
        assert given.provider(provider.name) is provider
        assert given.provider(provider.name) is provider
        await given.close()
        return 0

    settings = settings_of(database_url)
    doing(database_url, nothing, settings=settings, unmade=True)
    assert made == []
    provider.away = True
    doing(database_url, asks, settings=settings, unmade=True)
    assert (made, provider.away) == ([provider], False)
