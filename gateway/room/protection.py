"""The calls about protecting a waiting room, and other shops with it: challenges, admission tokens, keys."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from gateway.buyers.posting import authenticate
from gateway.room.admission_tokens import AdmissionTokens
from gateway.routing import Authorization, Slug, json_response
from gateway.tickets.room import connection_of, runtime_of
from store.room import joining

SHOP_LENGTH_MAX = 300
NO_STORE = {"Cache-Control": "no-store"}

router = APIRouter(tags=["waiting room"])


def tokens_of(request: Request) -> AdmissionTokens:
    """This gateway's."""
    state = request.app.state
    if not hasattr(state, "admission_tokens"):
        state.admission_tokens = AdmissionTokens(state.runtime.settings.room)
    tokens: AdmissionTokens = state.admission_tokens
    return tokens


@router.get("/v1/events/{event}/room/challenge")
async def show_challenge(request: Request, event: Slug, authorization: Authorization = "") -> Response:
    """What a proof of work solves, by ALTCHA's protocol; for the buyer who asks, at this event, once."""
    runtime = runtime_of(request)
    buyer = await authenticate(runtime, authorization)
    slug = (await runtime.events.get(event)).row.slug
    return json_response(runtime.guard.challenge(slug, buyer.id), headers=NO_STORE)


@router.get("/v1/events/{event}/room/admission")
async def show_admission(
    request: Request,
    event: Slug,
    authorization: Authorization = "",
    shop: Annotated[str, Query(max_length=SHOP_LENGTH_MAX, description="its origin; else the first")] = "",
) -> Response:
    """A token with which the buyer whose turn it is passes into a shop elsewhere."""
    runtime = runtime_of(request)
    buyer = await authenticate(runtime, authorization)
    row = (await runtime.events.get(event)).row
    async with connection_of(request) as connection:
        places = await joining.read(connection, row.id, [buyer.id])
    admission = tokens_of(request).of(row.slug, places.get(buyer.id), shop)
    return json_response(admission, headers=NO_STORE)


@router.get("/.well-known/jwks.json")
async def show_keys(request: Request) -> Response:
    """The public keys that tell admission tokens of ours from others; the first signs."""
    headers = {"Cache-Control": "public, max-age=300", "Access-Control-Allow-Origin": "*"}
    return json_response(tokens_of(request).published, headers=headers)
