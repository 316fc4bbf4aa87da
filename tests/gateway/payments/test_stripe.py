"""Stripe's adapter before a server that answers as Stripe does: what it is asked, how it is understood."""

from __future__ import annotations

import contextlib

import pytest
import stripe
from msgspec.structs import replace

from gateway.payments.port import Made, OnItsWay, ProviderAway
from gateway.payments.stripe import Stripe
from store.errors import BadRequest, Conflicted
from store.payments.settle import Notice
from store.payments.states import NoticeKind
from tests.gateway.payments.fake_stripe import CHARGE, DUE, KEY, PAID, PAYMENT, event, fake_stripe, intent
from tests.gateway.rig import scenario

SECRET = "whsec_test_secret"
INTENT = str(PAID["id"])


@contextlib.asynccontextmanager
async def adapter():
    async with fake_stripe() as fake:
        own = Stripe(KEY, SECRET, url=fake.url)
        try:
            yield own, fake
        finally:
            await own.close()


@scenario
async def test_an_intent_is_made_for_the_payment_under_its_key():
    async with adapter() as (own, fake):
        fake.will((200, intent()))
        made = await own.make(PAYMENT, what="The gig: 1 ticket", return_url="http://shop/e/gig?paid=65536")
        assert made == Made(INTENT, {"client_secret": intent()["client_secret"]})
        [(method, path, form, key)] = fake.asked
        assert (method, path, key) == ("POST", "/v1/payment_intents", "onsale-payment-12")
        assert form == {
            "amount": "2000", "currency": "eur", "description": "The gig: 1 ticket",
            "metadata[payment]": "12", "metadata[hold]": "65536", "metadata[event]": "1",
            "automatic_payment_methods[enabled]": "true",
        }  # fmt: skip


@pytest.mark.parametrize("answer", [None, (500, {}), (503, {}), (429, {"error": {"type": "rate_limit"}})])
@scenario
async def test_an_unknown_outcome_is_told_and_asked_again_under_the_same_key(answer):
    async with adapter() as (own, fake):
        fake.will(answer, (200, intent()))
        with pytest.raises(ProviderAway):
            await own.make(PAYMENT, what="The gig", return_url="")
        assert (await own.make(PAYMENT, what="The gig", return_url="")).intent == INTENT
        assert [key for *_, key in fake.asked] == ["onsale-payment-12"] * 2


@scenario
async def test_a_payment_that_stripe_never_takes_is_refused():
    async with adapter() as (own, fake):
        fake.refuses("amount_too_small")
        with pytest.raises(Conflicted) as refused:
            await own.make(PAYMENT, what="The gig", return_url="")
        assert refused.value.code == "payment_refused"


@scenario
async def test_a_key_that_stripe_does_not_know_is_an_alert(caplog):
    async with adapter() as (own, fake):
        fake.refuses("api_key_expired", 401)
        with pytest.raises(ProviderAway):
            await own.make(PAYMENT, what="The gig", return_url="")
        assert "ALERT" in caplog.text
        assert KEY not in caplog.text


@scenario
async def test_an_intent_is_ended_and_money_that_came_first_is_told():
    async with adapter() as (own, fake):
        fake.will((200, intent(status="canceled")))
        assert await own.end(INTENT) is None
        assert fake.asked[0][:2] == ("POST", f"/v1/payment_intents/{INTENT}/cancel")
        fake.refuses("payment_intent_unexpected_state")
        fake.will((200, PAID))
        told = await own.end(INTENT)
        succeeded = (NoticeKind.SUCCEEDED, 12, INTENT, 2_000, "eur", 58)
        assert told == Notice("stripe", f"look-{INTENT}-succeeded", *succeeded)
        fake.refuses("payment_intent_unexpected_state")
        fake.will((200, intent(status="processing")))
        with pytest.raises(OnItsWay):
            await own.end(INTENT)
        fake.refuses("resource_missing", 404)
        assert await own.end("pi_of_another_account") is None


@scenario
async def test_a_look_says_what_is_over_and_with_which_fee():
    async with adapter() as (own, fake):
        fake.will((200, PAID), (200, intent(status="canceled")), (200, intent()))
        looks = [await own.look(INTENT) for _ in range(3)]
        assert [look and (look.kind, look.provider_fee_minor) for look in looks] == [
            (NoticeKind.SUCCEEDED, 58), (NoticeKind.CANCELED, 0), None,
        ]  # fmt: skip
        assert fake.asked[0][2] == {"expand[0]": "latest_charge.balance_transaction"}
        fake.refuses("resource_missing", 404)
        assert await own.look("pi_none") is None


@scenario
async def test_a_refund_is_given_once_under_its_key():
    async with adapter() as (own, fake):
        fake.will((200, {"id": "re_1", "object": "refund", "status": "succeeded", "metadata": {}}))
        assert await own.give_back(DUE) == "re_1"
        [(_, path, form, key)] = fake.asked
        assert (path, key) == ("/v1/refunds", "onsale-refund-7")
        assert form == {
            "payment_intent": INTENT, "amount": "500", "metadata[refund]": "7", "metadata[payment]": "12",
        }  # fmt: skip


@pytest.mark.parametrize("status", ["failed", "canceled"])
@scenario
async def test_a_refund_that_is_tried_again_is_looked_for_first(status):
    """Stripe forgets a key after a day."""
    again = replace(DUE, attempts=3)
    others = {"id": "re_0", "object": "refund", "status": "succeeded", "metadata": {"refund": "6"}}
    failed = {"id": "re_1", "object": "refund", "status": status, "metadata": {"refund": "7"}}
    given = {"id": "re_2", "object": "refund", "status": "succeeded", "metadata": {"refund": "7"}}
    async with adapter() as (own, fake):
        fake.will((200, {"object": "list", "data": [others, failed, given], "has_more": False}))
        assert await own.give_back(again) == "re_2"
        assert [(method, path) for method, path, *_ in fake.asked] == [("GET", "/v1/refunds")]
        fake.will((200, {"object": "list", "data": [others, failed], "has_more": False}), (200, given))
        assert await own.give_back(again) == "re_2"
        assert fake.asked[-1][0] == "POST"


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (400, {"error": {"type": "invalid_request_error", "code": "charge_already_refunded"}}),
        (200, {"id": "re_1", "object": "refund", "status": "failed"}),
        (200, {"id": "re_1", "object": "refund", "status": "canceled"}),
    ],
)
@scenario
async def test_a_refund_that_stripe_never_gives_is_refused(status, answer):
    async with adapter() as (own, fake):
        fake.will((status, answer))
        with pytest.raises(Conflicted) as refused:
            await own.give_back(DUE)
        assert refused.value.code == "refund_refused"


def read(body: bytes) -> Notice:
    header = stripe.WebhookSignature.generate_signature_header(body.decode(), SECRET)
    return Stripe(KEY, SECRET).read({"stripe-signature": header}, body)


EVENT_ID = "evt_1NG8Du2eZvKYlo2CUI79vXWy"


@pytest.mark.parametrize(
    ("kind", "of", "told"),
    [
        ("payment_intent.succeeded", PAID, (NoticeKind.SUCCEEDED, 12, INTENT, 2_000, "eur", 58)),
        (
            "payment_intent.succeeded",
            intent(status="succeeded", amount_received=1_500, latest_charge="ch_1"),
            (NoticeKind.SUCCEEDED, 12, INTENT, 1_500, "eur", 0),
        ),
        ("payment_intent.payment_failed", intent(), (NoticeKind.FAILED, 12, INTENT, 2_000, "eur", 0)),
        (
            "payment_intent.canceled",
            intent(status="canceled"),
            (NoticeKind.CANCELED, 12, INTENT, 2_000, "eur", 0),
        ),
        ("charge.refunded", CHARGE, (NoticeKind.REFUNDED, 12, INTENT, 2_000, "eur", 0)),
        ("charge.succeeded", CHARGE, (NoticeKind.OTHER, 0, "", 0, "", 0)),
        ("customer.created", {"id": "cus_1"}, (NoticeKind.OTHER, 0, "", 0, "", 0)),
        (
            "payment_intent.succeeded",
            PAID | {"metadata": {}},
            (NoticeKind.SUCCEEDED, 0, INTENT, 2_000, "eur", 58),
        ),
    ],
)
def test_each_event_is_understood(kind, of, told):
    assert read(event(kind, of)) == Notice("stripe", EVENT_ID, *told)


@pytest.mark.parametrize("of", [{}, {"id": "pi_1"}, PAID | {"amount_received": -1}, PAID | {"id": "pi\x00"}])
def test_an_event_that_cannot_be_understood_is_refused(of):
    with pytest.raises(BadRequest) as refused:
        read(event("payment_intent.succeeded", of))
    assert refused.value.code == "bad_notice"
