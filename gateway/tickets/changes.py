"""What buyers do with their tickets: return them, give them to somebody else, claim what they were given.

Each may be called again after a lost reply and answers the same. A return wakes the event's allocator, which
gives what is free again to the waiting list, and is told to the buyer's sockets.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi import Path as PathParameter
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from gateway.buyers.decode import body_from_json
from gateway.buyers.owning import wake_allocator
from gateway.buyers.posting import authenticate
from gateway.holders import ChangedHold, hold_frame
from gateway.operators.access import body_described
from gateway.routing import Authorization, HoldPath, Slug, json_response
from gateway.tickets.orders import NO_STORE, seen_by
from gateway.tickets.room import connection_of, order_number, room_of, runtime_of
from gateway.tickets.shown import ClaimedTicket, Offered, order_shown
from store.tickets import returns, transfers
from store.tickets.items import item_of
from store.tickets.transfers import CODE_LENGTH_MAX
from store.words import HoldState

TICKETS_MAX = 1_000
"""Most tickets one return names: no order has more (`store.sales.QUANTITY_MAX`)."""
NAME_PATTERN = r"^(?:(?:0|[1-9][0-9]{0,5})-)?(?:0|[1-9][0-9]{0,8})$(?!\n)"

TicketText = Annotated[str, Meta(pattern=NAME_PATTERN)]
TicketPath = Annotated[str, PathParameter(pattern=r"^((0|[1-9][0-9]{0,5})-)?(0|[1-9][0-9]{0,8})$")]


class ReturnBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The tickets to return; without any, all that the order has."""

    tickets: Annotated[tuple[TicketText, ...], Meta(min_length=1, max_length=TICKETS_MAX)] | UnsetType = UNSET


class ClaimBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The code somebody gave you."""

    code: Annotated[str, Meta(min_length=1, max_length=CODE_LENGTH_MAX, pattern=r"^[A-Z2-7]*$(?!\n)")]


def _takes(body: type[Struct], *, required: bool) -> dict[str, Any]:
    """For the API pages: the body is read below FastAPI."""
    described = body_described(body)
    described["requestBody"]["required"] = required
    return described


router = APIRouter(prefix="/v1", tags=["buyers"])


@router.post("/events/{event}/orders/{order}/return", openapi_extra=_takes(ReturnBody, required=False))
async def return_order(
    request: Request, event: Slug, order: HoldPath, authorization: Authorization = ""
) -> Response:
    """Return an order, or with a body some of its tickets, for what they cost; the order as it is then."""
    buyer = await authenticate(runtime_of(request), authorization)
    body = body_from_json(await request.body() or b"{}", ReturnBody)
    runtime = await runtime_of(request).events.get(event)
    items = None if body.tickets is UNSET else [item_of(name) for name in body.tickets]
    order_id, event_id, plan = order_number(order), runtime.row.id, runtime.plan

    def work(conn: Any) -> HoldState:
        return returns.give_back(conn, event_id, plan, order_id, buyer.id, items)

    await room_of(request).write(work)
    await wake_allocator(runtime)
    shown = order_shown(await seen_by(request, runtime, order_id, buyer.id), plan)
    told = ChangedHold(shown.order, HoldState(shown.state), seats=shown.seats, areas=shown.areas)
    runtime.holders.tell(buyer.id, hold_frame(told))
    return json_response(shown, headers=NO_STORE)


@router.post("/events/{event}/orders/{order}/tickets/{ticket}/transfer")
async def offer_ticket(
    request: Request, event: Slug, order: HoldPath, ticket: TicketPath, authorization: Authorization = ""
) -> Response:
    """Offer a ticket to somebody: the code by which they claim it. It stays yours until they do."""
    return await _offer(request, event, order, ticket, authorization, transfers.offer)


@router.post("/events/{event}/orders/{order}/tickets/{ticket}/withdraw")
async def withdraw_ticket(
    request: Request, event: Slug, order: HoldPath, ticket: TicketPath, authorization: Authorization = ""
) -> Response:
    """Take the offer of a ticket back: its code means nothing then."""
    return await _offer(request, event, order, ticket, authorization, transfers.withdraw)


@router.post("/tickets/claim", openapi_extra=_takes(ClaimBody, required=True))
async def claim_ticket(request: Request, authorization: Authorization = "") -> Response:
    """Make what is offered under a code yours. Its tokens from before are worthless from then on."""
    buyer = await authenticate(runtime_of(request), authorization)
    body = body_from_json(await request.body(), ClaimBody)
    async with connection_of(request) as connection:
        claimed = await transfers.claim(connection, body.code, buyer.id)
    return json_response(
        ClaimedTicket(claimed.event, str(claimed.order), claimed.item.name), headers=NO_STORE
    )


async def _offer(
    request: Request, event: str, order: str, ticket: str, authorization: str, change: Any
) -> Response:
    buyer = await authenticate(runtime_of(request), authorization)
    runtime = await runtime_of(request).events.get(event)
    async with connection_of(request) as connection:
        code = await change(connection, runtime.row.id, order_number(order), item_of(ticket), buyer.id)
    return json_response(Offered(order, ticket, code), headers=NO_STORE)
