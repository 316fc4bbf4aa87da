"""What the fake gateway does with payments, and the page of a provider where they are made. As the protocol
and the states of `store.payments` have it; what a provider tells, and when, is the test's.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from store.prices import price_of

if TYPE_CHECKING:
    from tests.browser.fake_gateway import FakeGateway

Frame = dict[str, Any]
PAGE = """<!doctype html><title>Pay</title><link rel="icon" href="data:,"><h1>Pay here</h1>
<form method="post"><button id="pay" name="how" value="pay">Pay</button>
<button id="decline" name="how" value="decline">Decline</button></form>"""
OPEN = ("created", "failed")
HEAR_SECONDS_MAX = 60


@dataclass
class Payment:
    number: int
    hold: str
    buyer: str
    amount_minor: int
    fee_minor: int
    tax_minor: int
    back: str
    """Where the buyer is sent back to."""
    email: str | None = None
    state: str = "created"
    declines: int = 0
    order: str | None = None
    reason: str | None = None
    refunded_minor: int = 0
    refund_due_minor: int = 0


@dataclass
class Paying:
    """Switches are plain attributes; `refusals` are what the next beginnings are answered, one each."""

    fake: FakeGateway
    payments: list[Payment] = field(default_factory=list)
    begun: list[tuple[str, str, Frame]] = field(default_factory=list)
    """(hold, idempotency key, body) of each asking to begin."""
    looked: int = 0
    refusals: list[tuple[int, str]] = field(default_factory=list)
    telling: bool = True
    """Off: what becomes of payments is only read, never told on sockets."""
    provider_settles: bool = True
    """Off: who pays or is declined at the provider comes back before it has said anything."""
    checkout_host: str = "localhost"
    """Another origin than the page's."""
    checkout_url: str | None = None
    """What is given instead of the address of the provider's page."""
    addition_minor: int = 0
    """The server's prices are higher than those the page has read."""

    def __post_init__(self) -> None:
        self._heard = threading.Condition()

    # --- for tests ---

    def wait_begun(self, times: int) -> None:
        """Until it was asked to begin so often."""
        with self._heard:
            enough = self._heard.wait_for(lambda: len(self.begun) >= times, HEAR_SECONDS_MAX)
            assert enough, f"asked {len(self.begun)} times"

    def settle(self, state: str, payment: Payment | None = None, **changes: Any) -> None:
        """The provider told something, or time did: as the gateway makes it true and tells it."""
        self.fake.on_loop(lambda: self._settle(payment or self.payments[-1], state, changes))

    async def _settle(self, payment: Payment, state: str, changes: Frame) -> None:
        payment.state = state
        payment.declines += state == "failed"
        for name, value in changes.items():
            setattr(payment, name, value)
        if state == "succeeded" and payment.order is None:
            payment.order = payment.hold
            hold = self.fake.holds[payment.hold]
            hold.state = "paid"
            await self.fake._change([(seat, "s") for seat in hold.seats])
        if state == "refund_due":
            payment.refund_due_minor = payment.amount_minor
        if state == "refunded":
            payment.refund_due_minor, payment.refunded_minor = 0, payment.amount_minor
        if self.telling:
            await self._tell(payment)

    async def _tell(self, payment: Payment) -> None:
        for one in self.fake.buyers:
            if one.name == payment.buyer and not one.dead:
                await one.tell({"type": "payment", **self._seen(payment)})

    # --- over HTTP ---

    def mount(self, app: FastAPI) -> None:
        @app.post("/v1/events/{event}/holds/{hold}/payment")
        async def begin(hold: str, request: Request) -> Response:
            return await self._begin(hold, request)

        @app.get("/v1/events/{event}/holds/{hold}/payment")
        async def look(hold: str, request: Request) -> Response:
            self.looked += 1
            found = [one for one in self.payments if one.hold == hold and one.buyer == _buyer(request)]
            if not found:
                return _problem(404, "payment_not_found")
            return JSONResponse(self._seen(found[-1], request))

        @app.get("/pay/{number}")
        async def checkout(number: int) -> Response:
            return HTMLResponse(PAGE)

        @app.post("/pay/{number}")
        async def paid(number: int, request: Request) -> Response:
            payment = next(one for one in self.payments if one.number == number)
            if self.provider_settles:
                how = (await request.body()).decode()
                await self._settle(payment, "succeeded" if how == "how=pay" else "failed", {})
            return RedirectResponse(payment.back, 303)

    async def _begin(self, hold_id: str, request: Request) -> Response:
        body = await request.json()
        with self._heard:
            self.begun.append((hold_id, request.headers["idempotency-key"], body))
            self._heard.notify_all()
        if self.refusals:
            return _problem(*self.refusals.pop(0))
        hold = self.fake.holds.get(hold_id)
        if hold is None or hold.buyer != _buyer(request):
            return _problem(404, "hold_not_found")
        if self.fake.payment == "none":
            return _problem(409, "payment_not_required")
        if hold.state == "active" and hold.expires_at <= time.time() * 1000:
            hold.state = "expired"
        if hold.state != "active":
            return _problem(409, f"hold_{hold.state}")
        amount, fee, tax = self._cost(hold)
        if amount == 0:
            hold.state = "paid"
            await self.fake._change([(seat, "s") for seat in hold.seats])
            return JSONResponse({"payment": None, "hold": hold_id, "state": "succeeded", "order": hold_id})
        found = [one for one in self.payments if one.hold == hold_id and one.state in OPEN]
        if found and found[-1].amount_minor != amount:
            found.pop().state = "canceled"
        if not found:
            back = f"http://{request.headers['host']}/e/{self.fake.slug}?paid={hold_id}"
            number = len(self.payments) + 12
            made = Payment(number, hold_id, hold.buyer, amount, fee, tax, back, body.get("email"))
            self.payments.append(made)
            found.append(made)
        return JSONResponse(self._seen(found[-1], request))

    def _cost(self, hold: Any) -> tuple[int, int, int]:
        plan = self.fake.plan
        categories = [plan.seats[seat].category for seat in hold.seats]
        for area, count in hold.areas.items():
            categories += [plan.areas[area].category] * count
        each = [price_of(plan.categories[one].price_minor, self.fake.price_terms) for one in categories]
        amount = sum(one.total_minor for one in each) + self.addition_minor
        return amount, sum(one.fee_minor for one in each), sum(one.tax_minor for one in each)

    def _seen(self, payment: Payment, request: Request | None = None) -> Frame:
        seen = {
            "payment": str(payment.number),
            "hold": payment.hold,
            "state": payment.state,
            "amount_minor": payment.amount_minor,
            "currency": self.fake.plan.currency,
            "fee_minor": payment.fee_minor,
            "tax_minor": payment.tax_minor,
            "declines": payment.declines,
            "order": payment.order,
            "reason": payment.reason,
            "refunded_minor": payment.refunded_minor,
            "refund_due_minor": payment.refund_due_minor,
        }
        if request is None:
            return seen
        port = request.headers["host"].partition(":")[2]
        url = self.checkout_url
        if url is None:
            url = f"http://{self.checkout_host}:{port}/pay/{payment.number}"
        checkout = {"url": url}
        if self.fake.payments.provider == "stripe":
            ours = f"{self.fake.payments.public_url}/e/{self.fake.slug}/pay/{payment.hold}"
            checkout = {"client_secret": f"pi_{payment.number}_secret_of_it", "url": ours}
        return {**seen, "checkout": checkout if payment.state in OPEN else None}


def _buyer(request: Request) -> str:
    return request.headers["authorization"].removeprefix("Bearer ").removeprefix("token-of-")


def _problem(status: int, code: str) -> Response:
    body = {"type": "about:blank", "status": status, "code": code, "title": "No.", "detail": "No."}
    return JSONResponse(body, status, media_type="application/problem+json")
