"""A server that answers as Stripe does, on the shapes of its API reference, and what it would send."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

from store.payments.begin import Payment
from store.payments.refunds import Due
from store.payments.states import PaymentState
from store.words import EventId, HoldId, Micros

KEY = "sk_test_of_the_tests"


def intent(number: str = "pi_3MtwBwLkdIwHu7ix28a3tqPa", **other: Any) -> dict[str, Any]:
    """A PaymentIntent."""
    return {
        "id": number,
        "object": "payment_intent",
        "amount": 2_000,
        "amount_capturable": 0,
        "amount_details": {"tip": {}},
        "amount_received": 0,
        "application": None,
        "automatic_payment_methods": {"enabled": True},
        "canceled_at": None,
        "capture_method": "automatic",
        "client_secret": f"{number}_secret_YrKJUKribcBjcG8HVhfZluoGH",
        "confirmation_method": "automatic",
        "created": 1_680_800_504,
        "currency": "eur",
        "customer": None,
        "description": None,
        "last_payment_error": None,
        "latest_charge": None,
        "livemode": False,
        "metadata": {"payment": "12", "hold": "65536", "event": "1"},
        "next_action": None,
        "payment_method_types": ["card", "link"],
        "status": "requires_payment_method",
        **other,
    }


def event(kind: str, of: dict[str, Any]) -> bytes:
    """An event about it, as a webhook carries it."""
    told = {
        "id": "evt_1NG8Du2eZvKYlo2CUI79vXWy",
        "object": "event",
        "api_version": "2019-02-19",
        "created": 1_686_089_970,
        "data": {"object": of},
        "livemode": False,
        "pending_webhooks": 1,
        "request": {"id": None, "idempotency_key": None},
        "type": kind,
    }
    return json.dumps(told, indent=2).encode()


PAID = intent(
    status="succeeded",
    amount_received=2_000,
    latest_charge={
        "id": "ch_3MmlLrLkdIwHu7ix0snN0B15",
        "object": "charge",
        "amount": 2_000,
        "balance_transaction": {"id": "txn_1MiN3g", "object": "balance_transaction", "fee": 58, "net": 1_942},
    },
)
CHARGE = {
    "id": "ch_3MmlLrLkdIwHu7ix0snN0B15",
    "object": "charge",
    "amount": 2_000,
    "amount_refunded": 500,
    "currency": "eur",
    "metadata": {"payment": "12"},
    "payment_intent": "pi_3MtwBwLkdIwHu7ix28a3tqPa",
    "refunded": False,
    "status": "succeeded",
}
PAYMENT = Payment(
    12, EventId(1), HoldId(65_536), None, "ann", "stripe", None, None, PaymentState.CREATED, "EUR", 2_000, 0,
    0, 1, 0, None, 0, 0, Micros(0), None, (),
)  # fmt: skip
DUE = Due(7, 12, 1, "gig", "stripe", PAID["id"], "ann", 500, "EUR", "hold_released", 1)


class FakeStripe:
    """Remembers what it was asked; `answer` is (status, JSON) or None for a cut connection."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str], str]] = []
        """(method, path, form, idempotency key)"""
        self.answers: list[tuple[int, Any] | None] = []
        self.url = ""

    def will(self, *answers: tuple[int, Any] | None) -> None:
        self.answers += answers

    def refuses(self, code: str, status: int = 400, kind: str = "invalid_request_error") -> None:
        self.will((status, {"error": {"type": kind, "code": code, "message": "said by the fake"}}))

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        form = {name: str(value) for name, value in (await request.post()).items()}
        form |= dict(request.query)
        self.asked.append((request.method, request.path, form, request.headers.get("Idempotency-Key", "")))
        answer = self.answers.pop(0)
        if answer is None:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        return web.json_response(answer[1], status=answer[0])


@contextlib.asynccontextmanager
async def fake_stripe() -> AsyncIterator[FakeStripe]:
    fake = FakeStripe()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", fake._answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield fake
    finally:
        await runner.cleanup()
