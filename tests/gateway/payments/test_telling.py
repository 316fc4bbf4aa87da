"""Who hears of a payment: every socket of its buyer, at whatever gateway, and nobody waits for it."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import psycopg
import pytest
import redis.asyncio
from standardwebhooks import Webhook

from gateway.payments import following, paying, telling
from gateway.payments.stripe import Stripe
from gateway.settings import PaymentSettings, SettingNotValid
from store.payments.settle import Settled
from store.payments.states import PaymentState
from store.wire import HoldNews, decode_news, holds_channel
from tests.gateway.payments.till import SECRET, notice_of
from tests.gateway.rig import EVENT, gateway, make_event, scenario, until
from tests.gateway.test_hold_changes import bearer, give

PAYMENTS = PaymentSettings("simulated", "http://shop.example", "http://127.0.0.1:9", SECRET)
BEGUN = """
INSERT INTO payment (event_id, hold_id, buyer, provider, intent, checkout, currency, amount_minor, fee_minor,
                     tax_minor, charged, quantity, seats)
VALUES (%s, 65536, 'ann', 'simulated', 'pi_1', '{"url":"http://pay.example/pay/pi_1"}', 'EUR', 2000, 0, 0,
        '{"currency":"EUR","amount_minor":2000,"fee_minor":0,"tax_minor":0,"lines":[]}', 2, '{1,2}')
"""
PAYMENT = {"payment": "1", "amount_minor": 2000, "currency": "EUR", "checkout": {"url": "/pay/pi_1"}}


@pytest.fixture
def event(database_url):
    """A hold that is being paid for."""
    number = make_event(database_url, payment="required")
    with psycopg.connect(database_url, autocommit=True) as conn:
        give(conn, number, places=0)
        conn.execute(BEGUN, (number,))
    return number


def signed(body):
    now = int(time.time())
    signature = Webhook(SECRET).sign("msg_1", datetime.fromtimestamp(now, UTC), body.decode())
    return {"webhook-id": "msg_1", "webhook-timestamp": str(now), "webhook-signature": signature}


async def tell(served):
    body = notice_of(PAYMENT)
    path = "/v1/payments/notices/simulated"
    return await served.http("POST", path, body=body, headers=signed(body))


@scenario
async def test_a_gateway_that_does_not_serve_the_event_tells_the_one_where_the_buyer_is(engine_urls, event):
    async with gateway(engine_urls, payments=PAYMENTS) as one, gateway(engine_urls) as other:
        async with other.socket("ann") as ann, other.socket("bob") as bob:
            await until(lambda: other.runtime.events.loaded()[0].following)
            answer = await tell(one)
            assert (answer.status, answer.json()["state"]) == (200, "succeeded")
            assert await ann.receive("hold") == {"type": "hold", "hold": "65536", "state": "paid"}
            frame = await ann.receive("payment")
            assert (frame["state"], frame["order"], "checkout" in frame) == ("succeeded", "65536", False)
            await bob.nothing_for(0.2)
        assert one.runtime.events.loaded() == []


@scenario
async def test_many_that_changed_are_told_in_messages_with_a_bound(engine_urls, event, monkeypatch):
    monkeypatch.setattr(telling, "NEWS_MAX", 1)
    async with (
        redis.asyncio.Redis.from_url(engine_urls.redis_url) as client,
        client.pubsub(ignore_subscribe_messages=True) as elsewhere,
        gateway(engine_urls, payments=PAYMENTS) as served,
    ):
        await elsewhere.subscribe(holds_channel(EVENT))
        await elsewhere.get_message(timeout=10)  # that it is subscribed
        await tell(served)
        heard: list[HoldNews] = []
        while len(heard) < 2:
            message = await elsewhere.get_message(timeout=10)
            assert message is not None, heard
            heard.append(decode_news(message["data"]))
    assert [len(news.more) for news in heard] == [0, 0]
    assert [msgspec.json.decode(news.frame)["type"] for news in heard] == ["hold", "payment"]


@scenario
async def test_the_buyers_sockets_here_hear_once(engine_urls, event):
    async with gateway(engine_urls, payments=PAYMENTS) as served, served.socket("ann") as ann:
        await until(lambda: served.runtime.events.loaded()[0].following)
        await tell(served)
        assert (await ann.receive("hold"))["state"] == "paid"
        assert (await ann.receive("payment"))["state"] == "succeeded"
        await ann.nothing_for(0.3)
        again = await tell(served)
        assert again.json()["repeated"]
        await ann.nothing_for(0.3)


@scenario
async def test_a_failing_database_is_told_to_come_back_and_nothing_is_lost(engine_urls, event, monkeypatch):
    async with gateway(engine_urls, payments=PAYMENTS) as served:

        async def away(*_):
            raise psycopg.OperationalError("the server closed the connection unexpectedly")

        with monkeypatch.context() as broken:
            broken.setattr("gateway.payments.settling.settle", away)
            answer = await tell(served)
            assert (answer.status, answer.json()["code"]) == (503, "unavailable")
            assert int(answer.headers["retry-after"]) > 0

            async def wrong(*_):
                raise ZeroDivisionError

            broken.setattr("gateway.payments.settling.settle", wrong)
            assert (await tell(served)).status == 500
        assert (await tell(served)).json() == {"payment": "1", "state": "succeeded", "repeated": False}


@scenario
async def test_what_is_told_and_followed_has_a_bound(engine_urls, event, monkeypatch):
    monkeypatch.setattr(following, "FOLLOWED_MAX", 1)
    async with gateway(engine_urls, payments=PAYMENTS) as served:
        desk = served.runtime.payments
        await desk.stop()
        for number in (1, 2):
            desk.following.follow(Settled(number, event, 65_536, "ann", PaymentState.LATE))
        assert list(desk.following.followed) == [1]
        desk.telling.changed(range(telling.QUEUED_MAX + 5))
        assert list(desk.telling._queue)[:1] == [5]


@scenario
async def test_where_nobody_is_paid_no_payment_is_begun(engine_urls, event):
    async with gateway(engine_urls) as served:
        path = f"/v1/events/{EVENT}/holds/65536/payment"
        before = await payments(engine_urls)
        answer = await served.http("POST", path, headers=bearer())
        assert (answer.status, answer.json()["code"]) == (503, "no_provider")
        assert await payments(engine_urls) == before
        assert (await served.http("GET", path, headers=bearer())).json()["state"] == "created"


@scenario
async def test_what_costs_nothing_needs_nobody_who_is_paid(engine_urls, event):
    async with await psycopg.AsyncConnection.connect(engine_urls.database_url, autocommit=True) as conn:
        await conn.execute(
            "UPDATE venue SET plan = regexp_replace(plan, '\"price_minor\":[0-9]+', '\"price_minor\":0', 'g')"
        )
    async with gateway(engine_urls) as served:
        path = f"/v1/events/{EVENT}/holds/65536/payment"
        answer = await served.http("POST", path, headers=bearer())
        assert (answer.status, answer.json()["state"]) == (200, "succeeded")


@scenario
async def test_a_payment_stays_with_whom_it_was_begun_and_those_who_ask_have_a_bound(
    engine_urls, event, monkeypatch
):
    """The one that is asked for new payments is another by now."""
    async with await psycopg.AsyncConnection.connect(engine_urls.database_url, autocommit=True) as conn:
        await conn.execute("DELETE FROM payment")

    async def never(*_: object, **__: object) -> None:
        raise AssertionError("nobody asks Stripe for a payment of another's")

    monkeypatch.setattr(Stripe, "make", never)
    both = replace(PAYMENTS, stripe_key="sk", stripe_webhook_secret="whsec_1")
    path = f"/v1/events/{EVENT}/holds/65536/payment"
    for settings in (both, replace(both, provider="stripe", stripe_url="http://127.0.0.1:9")):
        async with gateway(engine_urls, payments=settings) as served:
            answer = await served.http("POST", path, headers=bearer())
            assert (answer.status, answer.json()["code"]) == (503, "provider_away")
            monkeypatch.setattr(paying, "ASKING_MAX", 0)
            answer = await served.http("POST", path, headers=bearer())
            assert (answer.status, answer.json()["code"]) == (503, "provider_busy")
            monkeypatch.setattr(paying, "ASKING_MAX", 500)
            assert served.runtime.payments.asking == 0
    assert [provider for _, provider in await payments(engine_urls)] == ["simulated"]


async def payments(urls):
    async with await psycopg.AsyncConnection.connect(urls.database_url, autocommit=True) as conn:
        return await (await conn.execute("SELECT id, provider FROM payment ORDER BY id")).fetchall()


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"ONSALE_PAYMENT_PROVIDER": "barter"}, "simulated or stripe"),
        ({"ONSALE_PAYMENT_PROVIDER": "stripe", "ONSALE_STRIPE_KEY": "sk"}, "ONSALE_STRIPE_WEBHOOK_SECRET"),
        ({"ONSALE_PAYMENT_PROVIDER": "simulated"}, "ONSALE_PUBLIC_URL"),
        ({"ONSALE_PUBLIC_URL": "tickets.example.org"}, "https://"),
    ],
)
def test_a_provider_that_is_half_set_up_is_refused_at_the_start(environ, said):
    with pytest.raises(SettingNotValid, match=said):
        PaymentSettings.from_env(environ)


def test_secrets_are_not_in_what_is_printed():
    settings = PaymentSettings.from_env(
        {"ONSALE_STRIPE_KEY": "sk_live_1", "ONSALE_STRIPE_WEBHOOK_SECRET": "whsec_1"}
    )
    assert (settings.stripe_key, settings.provider) == ("sk_live_1", "")
    assert "_1" not in repr(settings)
