"""Paying over HTTP: a buyer begins and reads a payment, a provider tells what became of it."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from gateway.buyers.decode import PaymentBody, body_from_json
from gateway.buyers.posting import authenticate
from gateway.payments import paying
from gateway.routing import HoldPath, Slug
from gateway.runtime import Runtime

router = APIRouter(prefix="/v1", tags=["payments"])


_BODY: dict[str, Any] = {
    "requestBody": {
        "required": False,
        "content": {"application/json": {"schema": msgspec.json.schema(PaymentBody)["$defs"]["PaymentBody"]}},
    }
}
_NOTICE: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}
}


def _answer(body: object) -> Response:
    return Response(
        msgspec.json.encode(body), headers={"Cache-Control": "no-store"}, media_type="application/json"
    )


@router.post("/events/{event}/holds/{hold}/payment", openapi_extra=_BODY)
async def begin_payment(request: Request, event: Slug, hold: HoldPath) -> Response:
    """Begin to pay for a hold, or find the payment that was begun; what costs nothing is bought at once."""
    body = body_from_json(await request.body() or b"{}", PaymentBody)
    runtime: Runtime = request.app.state.runtime
    buyer = await authenticate(runtime, request.headers.get("authorization", ""))
    served = await runtime.events.get(event)
    return _answer(await paying.begin_payment(runtime, served, int(hold), buyer.id, body.email))


@router.get("/events/{event}/holds/{hold}/payment")
async def read_payment(request: Request, event: Slug, hold: HoldPath) -> Response:
    """How the last payment of a hold stands."""
    runtime: Runtime = request.app.state.runtime
    buyer = await authenticate(runtime, request.headers.get("authorization", ""))
    served = await runtime.events.get(event)
    return _answer(await paying.read_payment(runtime, served, int(hold), buyer.id))


@router.post("/payments/notices/{provider}", openapi_extra=_NOTICE)
async def hear_notice(provider: str) -> Response:
    """What a payment provider tells, signed by it. Any order and any number of deliveries are right."""
    raise AssertionError("gateway.app answers this route before FastAPI sees it")
