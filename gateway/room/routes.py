"""A waiting room over HTTP, by FastAPI: a buyer's place, wish and stream.

`GET …/room` and `POST …/room/join` are answered below FastAPI (`gateway.room.posting`); they are declared
here so that the published schema is whole.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from msgspec import Struct
from starlette.responses import Response

from gateway.buyers.decode import (
    TOKEN_LENGTH_MAX,
    MoreTimeBody,
    ResumeBody,
    Wish,
    body_from_json,
    request_from_json,
)
from gateway.buyers.posting import authenticate
from gateway.events import EventRuntime
from gateway.problems import Unauthorized
from gateway.room import acting
from gateway.room.acting import room_of
from gateway.room.streams import StreamResponse
from gateway.room.waiting_room import WaitingRoom
from gateway.routing import Authorization, Slug, json_response
from gateway.runtime import Runtime
from store.errors import NotFound
from store.room.words import Place, PlaceState

router = APIRouter(prefix="/v1/events/{event}/room", tags=["waiting room"])

NO_STORE = {"Cache-Control": "no-store"}
STREAM_HEADERS = NO_STORE | {"X-Accel-Buffering": "no"}
"""A proxy that gathers what it passes on would hold news back."""


class Resumed(Struct, frozen=True):
    """Who a place's buyer is, on another device."""

    buyer: str
    token: str | None
    """A buyer's token, in a demo; null: the one the call was made with is the buyer's."""


def _runtime(request: Request) -> Runtime:
    runtime: Runtime = request.app.state.runtime
    return runtime


async def _asked(request: Request, event: str, authorization: str) -> tuple[Runtime, EventRuntime, str]:
    runtime = _runtime(request)
    buyer = await authenticate(runtime, authorization)
    return runtime, await runtime.events.get(event), buyer.id


def _place(room: WaitingRoom, place: Place) -> Response:
    return Response(room.place_body(place), headers=NO_STORE, media_type="application/json")


def _takes(schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


@router.get("")
async def show_room(event: Slug, if_none_match: Annotated[str | None, Header()] = None) -> Response:
    """The waiting room as everybody may see it; the same bytes for all, until something changes."""
    raise AssertionError("gateway.app answers this route before FastAPI sees it")


@router.post(
    "/join",
    openapi_extra={
        "requestBody": {
            "required": False,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/JoinBody"}}},
        }
    },
)
async def join(event: Slug, authorization: Authorization = "") -> Response:
    """A place, durable when this is answered; the same place however often it is asked for."""
    raise AssertionError("gateway.app answers this route before FastAPI sees it")


@router.get("/place")
async def show_place(request: Request, event: Slug, authorization: Authorization = "") -> Response:
    """The buyer's place."""
    _, runtime, buyer = await _asked(request, event, authorization)
    room = room_of(runtime)
    return _place(room, await room.look_up(buyer))


@router.post("/begin")
async def begin(request: Request, event: Slug, authorization: Authorization = "") -> Response:
    """Who was called begins to choose; asking for seats does it too."""
    gateway, runtime, buyer = await _asked(request, event, authorization)
    return _place(room_of(runtime), await acting.begin(runtime, gateway.pool, buyer))


@router.post("/more-time", openapi_extra=_takes({"$ref": "#/components/schemas/MoreTimeBody"}))
async def more_time(request: Request, event: Slug, authorization: Authorization = "") -> Response:
    """More time to begin, or to shop who has begun, where it ends at `end`; else the place as it is: a
    repeated call gives nothing twice."""
    gateway, runtime, buyer = await _asked(request, event, authorization)
    body = body_from_json(await request.body(), MoreTimeBody)
    return _place(room_of(runtime), await acting.more_time(runtime, gateway.pool, buyer, body.end))


@router.post("/leave")
async def leave(request: Request, event: Slug, authorization: Authorization = "") -> Response:
    """Give the place up; nothing else does."""
    gateway, runtime, buyer = await _asked(request, event, authorization)
    return _place(room_of(runtime), await acting.leave(runtime, gateway.pool, buyer))


@router.get("/wish")
async def show_wish(request: Request, event: Slug, authorization: Authorization = "") -> Response:
    """What the buyer wishes for in the ballot."""
    gateway, runtime, buyer = await _asked(request, event, authorization)
    return json_response(await acting.wish(runtime, gateway.pool, buyer, Wish()), headers=NO_STORE)


@router.put(
    "/wish",
    openapi_extra=_takes({"anyOf": [{"$ref": "#/components/schemas/Want"}, {"type": "null"}]}),
)
async def file_wish(request: Request, event: Slug, authorization: Authorization = "") -> Response:
    """File a wish for the ballot in place of any other; `null` withdraws it."""
    gateway, runtime, buyer = await _asked(request, event, authorization)
    body = await request.body()
    wish = Wish(None if body.strip() == b"null" else request_from_json(body))
    return json_response(await acting.wish(runtime, gateway.pool, buyer, wish), headers=NO_STORE)


@router.get("/stream")
async def stream(
    request: Request,
    event: Slug,
    authorization: Authorization = "",
    access_token: Annotated[str, Query(max_length=TOKEN_LENGTH_MAX, include_in_schema=False)] = "",
) -> Response:
    """Server-sent events: `room` with the status document, `place` with the buyer's place. The token may come
    as `?access_token=` too, for a browser's EventSource sends no headers."""
    runtime = _runtime(request)
    header = authorization or (access_token and f"Bearer {access_token}")
    buyer, expires_at = await authenticate(runtime, header)
    room = room_of(await runtime.events.get(event))
    streams = runtime.streams
    return StreamResponse(streams, streams.read(room, buyer, expires_at), STREAM_HEADERS)


@router.post("/resume", openapi_extra=_takes({"$ref": "#/components/schemas/ResumeBody"}))
async def resume(request: Request, event: Slug, authorization: Authorization = "") -> Response:
    """Go on with a place on another device, by its token. In a demo that is the sign-in; elsewhere the
    organiser's sign-in says who somebody is, and must say the same."""
    runtime = _runtime(request)
    body = body_from_json(await request.body(), ResumeBody)
    room = room_of(await runtime.events.get(event))
    token = room.judge(body.token)
    if not runtime.settings.demo:
        buyer = await authenticate(runtime, authorization)
        if buyer.id != token.buyer:
            raise Unauthorized("place_of_another", "This place is another buyer's. Sign in as who joined.")
    place = await room.look_up(token.buyer)
    if place.id != token.place or place.state in (PlaceState.LEFT, PlaceState.FINISHED):
        raise NotFound("no_place", "That place was given up or is done. Join the waiting room.")
    new = runtime.tokens.demo_token_of(token.buyer) if runtime.settings.demo else None
    return json_response(Resumed(token.buyer, new), headers=NO_STORE)
