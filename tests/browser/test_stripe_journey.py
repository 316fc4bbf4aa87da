"""A hold is paid by Stripe on the real pages of a real gateway with a real allocator.

Stripe's API is a server of the tests that answers as Stripe's does, its notices are signed by its own
library, its script is a stand-in.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest
import stripe
from playwright.sync_api import Page, expect

from gateway.settings import PaymentSettings
from tests.browser import stub_stripe
from tests.browser.conftest import Profile, Tabs
from tests.browser.payers import PAY, STATE
from tests.browser.stub_stripe import DECLINED, GOOD, NUMBER
from tests.gateway.payments.fake_stripe import KEY, FakeStripe, event, fake_stripe, intent
from tests.gateway.rig import EVENT
from tests.model.clients import Http, Operator
from tests.model.house import VENUE, house
from tests.model.stack import Stack, stack

pytestmark = pytest.mark.browser

NOTICES = "whsec_of_the_tests"
BUTTON = ".pay-form .button.main"


class Shop:
    """A gateway whose buyers pay by Stripe, and what Stripe tells it."""

    def __init__(self, both: Stack, asked: FakeStripe) -> None:
        self.both, self.asked = both, asked
        self.url = f"http://127.0.0.1:{both.port}"

    def tell(self, kind: str, **changes: Any) -> None:
        """Stripe sends a notice, signed."""
        [(payment, amount)] = self.both.query("SELECT id, amount_minor FROM payment")
        came = amount if kind.endswith("succeeded") else 0
        of = intent(amount=amount, amount_received=came, metadata={"payment": str(payment)}, **changes)
        body = json.dumps(json.loads(event(kind, of)) | {"id": f"evt_{kind}"})
        head = stripe.WebhookSignature.generate_signature_header(body, NOTICES)
        path = f"{self.url}/v1/payments/notices/stripe"
        request = urllib.request.Request(path, body.encode(), {"Stripe-Signature": head})
        with urllib.request.urlopen(request) as answer:
            assert json.load(answer)["payment"] == str(payment)


@contextlib.contextmanager
def asked_for_intents() -> Iterator[FakeStripe]:
    """Stripe's API in a thread of its own."""
    ready: Future[tuple[FakeStripe, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        over = asyncio.Event()
        async with fake_stripe() as fake:
            ready.set_result((fake, asyncio.get_running_loop(), over))
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=[serve()])
    thread.start()
    fake, loop, over = ready.result(60)
    yield fake
    loop.call_soon_threadsafe(over.set)
    thread.join(60)


@pytest.fixture
def shop(engine_urls: Any) -> Iterator[Shop]:
    with asked_for_intents() as asked:
        settings = PaymentSettings(
            provider="stripe", public_url="http://later", stripe_key=KEY, stripe_webhook_secret=NOTICES,
            stripe_url=asked.url, stripe_publishable_key="pk_test_of_the_tests",
        )  # fmt: skip
        with stack(engine_urls, payments=settings, demo=True) as both:
            there = Shop(both, asked)
            runtime = both.served.runtime
            runtime.payments.public_url = there.url  # its port is known once it listens
            runtime.settings = replace(runtime.settings, payments=replace(settings, public_url=there.url))
            both.save_venue(VENUE, house())
            with contextlib.closing(Http(both.port)) as http:
                wish = {"slug": EVENT, "venue": VENUE, "open": True, "payment": "required"}
                assert Operator(http).ask("POST", "", wish)[0] == 201
            both.allocate(EVENT)
            yield there


@pytest.fixture
def buyer(profile: Profile, shop: Shop) -> Iterator[Page]:
    tabs = Tabs(profile, shop.url)
    page = tabs.open(f"/e/{EVENT}")
    stub_stripe.stand_in(page)
    yield page
    tabs.close()
    assert tabs.wrong == [], "the page wrote errors to the console"


def test_choose_hold_be_declined_by_stripe_pay_and_own_the_seats(buyer: Page, shop: Shop) -> None:
    buyer.get_by_role("button", name="Best available").click()
    buyer.locator(".choosing .button.main").click()
    expect(buyer.locator(".holding .mine li")).to_have_count(2)
    shop.asked.will((200, intent()))
    buyer.locator(PAY).click()
    buyer.wait_for_url(f"{shop.url}/e/{EVENT}/pay/*")
    [(method, path, form, _)] = shop.asked.asked
    assert (method, path, form["amount"]) == ("POST", "/v1/payment_intents", "18000")
    buyer.get_by_label(NUMBER).fill(DECLINED)
    buyer.locator(BUTTON).click()
    expect(buyer.locator(".pay-form .notice")).to_contain_text("Your card was declined. Nothing was charged")
    shop.tell("payment_intent.payment_failed", status="requires_payment_method")
    buyer.get_by_label(NUMBER).fill(GOOD)
    buyer.locator(BUTTON).click()
    buyer.wait_for_url(f"{shop.url}/e/{EVENT}")
    expect(buyer.locator(STATE)).to_contain_text("We wait for your bank’s word.")
    shop.tell("payment_intent.succeeded", status="succeeded")
    expect(buyer.locator(".order")).to_contain_text("€180.00")
    assert shop.both.query("SELECT state, declines FROM payment") == [("succeeded", 1)]
    assert shop.both.query("SELECT count(*) FROM seat WHERE state = 'sold'") == [(2,)]
