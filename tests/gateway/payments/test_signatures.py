"""Signatures are checked by the libraries of those who wrote the standards, and by their test vectors."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest
import stripe
from standardwebhooks import Webhook

from gateway.payments.port import NotGenuine
from gateway.payments.simulated import Simulated
from gateway.payments.stripe import Stripe
from store.errors import BadRequest
from store.payments.states import NoticeKind

# The vector of standardwebhooks' own tests (tests/test_webhooks.py, `test_sign_function`).
STANDARD_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
STANDARD_ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
STANDARD_AT = 1614265330
STANDARD_BODY = '{"test": 2432232314}'
STANDARD_SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

# What stripe's own tests are made of (tests/test_webhook.py): this payload and secret.
STRIPE_SECRET = "whsec_test_secret"
STRIPE_BODY = '{\n  "id": "evt_test_webhook",\n  "object": "event"\n}'
STRIPE_AT = 1_700_000_000
STRIPE_SIGNATURE = "v1=4f1cd7feda9826e746b7d482c4badebb657398df1099e1046364f6196a230150"
"""The HMAC-SHA256 of `{STRIPE_AT}.{STRIPE_BODY}` by openssl: what Stripe's manual says a signature is."""


@pytest.fixture
def simulated():
    return Simulated("http://127.0.0.1:1", STANDARD_SECRET)


@pytest.fixture
def stripes():
    return Stripe("sk_test_none", STRIPE_SECRET)


def at(monkeypatch, seconds):
    """The clock by which both libraries tell what is too old."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.fromtimestamp(seconds, tz or UTC)

    monkeypatch.setattr("standardwebhooks.webhooks.datetime", Clock)
    monkeypatch.setattr("stripe._webhook.time.time", lambda: seconds)


def standard_head(signature=STANDARD_SIGNATURE, when=STANDARD_AT, number=STANDARD_ID):
    return {"webhook-id": number, "webhook-timestamp": str(when), "webhook-signature": signature}


def test_the_standards_vector_is_what_the_library_signs():
    when = datetime.fromtimestamp(STANDARD_AT, UTC)
    assert Webhook(STANDARD_SECRET).sign(STANDARD_ID, when, STANDARD_BODY) == STANDARD_SIGNATURE


@pytest.mark.parametrize(
    "signature",
    [
        STANDARD_SIGNATURE,
        f"v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= v2,{STANDARD_SIGNATURE[3:]} {STANDARD_SIGNATURE}",
    ],
    ids=["alone", "among others"],
)
def test_the_standards_vector_is_genuine(simulated, monkeypatch, signature):
    at(monkeypatch, STANDARD_AT)
    with pytest.raises(BadRequest) as refused:  # it is genuine, and no notice of ours
        simulated.read(standard_head(signature), STANDARD_BODY.encode())
    assert refused.value.code == "bad_notice"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"signature": "v1,dGVzdA=="}, "bad_signature"),
        ({"signature": STANDARD_SIGNATURE.replace("v1,", "v2,")}, "bad_signature"),
        ({"signature": ""}, "bad_signature"),
        ({"signature": "v1"}, "bad_signature"),
        ({"number": "msg_other"}, "bad_signature"),
        ({"number": ""}, "bad_signature"),
        ({"when": STANDARD_AT + 1}, "bad_signature"),
        ({"when": "soon"}, "bad_signature"),
        ({"when": STANDARD_AT - 301}, "notice_too_old"),
        ({"when": STANDARD_AT + 301}, "notice_too_old"),
    ],
    ids=str,
)
def test_what_differs_from_the_standards_vector_is_not_genuine(simulated, monkeypatch, change, code):
    at(monkeypatch, STANDARD_AT)
    with pytest.raises(NotGenuine) as refused:
        simulated.read(standard_head(**change), STANDARD_BODY.encode())
    assert refused.value.code == code


@pytest.mark.parametrize("body", [STANDARD_BODY + " ", "{}", ""])
def test_another_body_is_not_genuine(simulated, monkeypatch, body):
    at(monkeypatch, STANDARD_AT)
    with pytest.raises(NotGenuine):
        simulated.read(standard_head(), body.encode())


def stripe_head(body=STRIPE_BODY, when=STRIPE_AT, secret=STRIPE_SECRET):
    return {"stripe-signature": stripe.WebhookSignature.generate_signature_header(body, secret, when)}


def test_what_stripes_library_signs_is_the_hmac_that_stripe_describes(stripes, monkeypatch):
    at(monkeypatch, STRIPE_AT)
    assert stripe_head() == {"stripe-signature": f"t={STRIPE_AT},{STRIPE_SIGNATURE}"}
    with pytest.raises(BadRequest) as refused:  # it is genuine, and no notice of ours
        stripes.read(stripe_head(), STRIPE_BODY.encode())
    assert refused.value.code == "bad_notice"


def test_what_stripe_signed_is_read_as_stripes_library_reads_it(stripes, monkeypatch):
    at(monkeypatch, STRIPE_AT)
    body = json.dumps({"id": "evt_1", "object": "event", "type": "customer.created", "data": {"object": {}}})
    event = stripe.Webhook.construct_event(body, stripe_head(body)["stripe-signature"], STRIPE_SECRET)
    notice = stripes.read(stripe_head(body), body.encode())
    assert (notice.id, notice.kind) == (event.id, NoticeKind.OTHER)


@pytest.mark.parametrize(
    ("head", "code"),
    [
        ({}, "bad_signature"),
        ({"stripe-signature": ""}, "bad_signature"),
        ({"stripe-signature": "i'm not even a real signature header"}, "bad_signature"),
        ({"stripe-signature": stripe_head()["stripe-signature"].replace("v1", "v0")}, "bad_signature"),
        ({"stripe-signature": f"t={STRIPE_AT},v1=bad_signature"}, "bad_signature"),
        ({"stripe-signature": f"t={STRIPE_AT},v1=\xe9"}, "bad_signature"),
        (stripe_head(secret="whsec_another"), "bad_signature"),
        (stripe_head(when=STRIPE_AT - 301), "notice_too_old"),
    ],
)
def test_what_stripes_own_tests_refuse_is_refused(stripes, monkeypatch, head, code):
    at(monkeypatch, STRIPE_AT)
    with pytest.raises(NotGenuine) as refused:
        stripes.read(head, STRIPE_BODY.encode())
    assert refused.value.code == code


def test_one_right_signature_among_others_is_enough_and_the_body_is_raw(stripes, monkeypatch):
    """As while a secret is rotated. Bytes that are other JSON of the same meaning are not what was signed."""
    at(monkeypatch, STRIPE_AT)
    body = '{"id":"evt_1","type":"ping","data":{"object":{}}}'
    head = {"stripe-signature": stripe_head(body)["stripe-signature"] + ",v1=bad_signature"}
    assert stripes.read(head, body.encode()).kind is NoticeKind.OTHER
    with pytest.raises(NotGenuine):
        stripes.read(head, body.replace(":", ": ").encode())


def test_no_clock_is_turned_here(simulated):
    now = int(time.time())
    signed = Webhook(STANDARD_SECRET).sign(STANDARD_ID, datetime.fromtimestamp(now, UTC), "{}")
    with pytest.raises(BadRequest) as refused:
        simulated.read(standard_head(signed, now), b"{}")
    assert refused.value.code == "bad_notice"
