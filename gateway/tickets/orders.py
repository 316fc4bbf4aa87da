"""A buyer's orders and tickets, to look at. Anybody else finds nothing there."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from gateway.buyers.decode import HOLD_ID_MAX
from gateway.buyers.posting import authenticate
from gateway.events import EventRuntime
from gateway.routing import Authorization, HoldPath, Slug, json_response
from gateway.tickets.room import connection_of, order_not_found, order_number, room_of, runtime_of
from gateway.tickets.shown import ShownOrders, ShownTickets, order_shown, tickets_shown
from store.tickets import reads
from store.tickets.reads import ORDERS_MAX, Seen

NO_STORE = {"Cache-Control": "no-store"}

router = APIRouter(prefix="/v1", tags=["buyers"])


@router.get("/events/{event}/orders")
async def list_orders(
    request: Request,
    event: Slug,
    authorization: Authorization = "",
    before: Annotated[int, Query(ge=0, le=HOLD_ID_MAX, description="`next` of the page before")] = 0,
) -> Response:
    """What the buyer bought, or was given some of; newest first, a page at a time."""
    buyer = await authenticate(runtime_of(request), authorization)
    runtime = await runtime_of(request).events.get(event)
    async with connection_of(request) as connection:
        found = await reads.orders(connection, runtime.row.id, buyer.id, runtime.numbers, before=before)
    more = str(found[-1].id) if len(found) == ORDERS_MAX else None
    shown = ShownOrders([order_shown(seen, runtime.plan) for seen in found], more)
    return json_response(shown, headers=NO_STORE)


@router.get("/events/{event}/orders/{order}/tickets")
async def show_tickets(
    request: Request, event: Slug, order: HoldPath, authorization: Authorization = ""
) -> Response:
    """The tickets of an order that are the buyer's, each with its token and the QR code of it."""
    buyer = await authenticate(runtime_of(request), authorization)
    runtime = await runtime_of(request).events.get(event)
    return await tickets_answer(request, runtime, order_number(order), buyer.id)


async def tickets_answer(request: Request, event: EventRuntime, order_id: int, buyer: str) -> Response:
    """An order as it is now, with its tickets."""
    room = room_of(request)
    keys = room.keys
    seen = await seen_by(request, event, order_id, buyer)
    shown: ShownTickets = await room.draw(partial(tickets_shown, seen, event, keys))
    return json_response(shown, headers=NO_STORE)


async def seen_by(request: Request, event: EventRuntime, order_id: int, buyer: str) -> Seen:
    """An order as this buyer may see it; raises `NotFound` (order_not_found)."""
    async with connection_of(request) as connection:
        seen = await reads.order(connection, event.row.id, order_id, buyer, event.numbers)
    if seen is None:
        raise order_not_found()
    return seen
