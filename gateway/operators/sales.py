"""The operators' HTTP for sales by hand (sell or give seats and places, take orders back) and for prices.

Each says `why`, and may say `who`; see `store.sales` for what is refused and what a repeated call does. A
change wakes the event's allocator.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from msgspec import Meta, Struct

from gateway.operators.access import (
    OPERATOR,
    answer,
    body_described,
    in_database,
    read_body,
    require_viewer,
    said_by,
    tell_buyer,
    wake_allocator,
)
from gateway.operators.said import Who, Why
from gateway.operators.seats import HOLD_ID, SEATS_BYTES_MAX, Conn, Named, Places
from store import blocks, event_prices, sales
from store.errors import NotFound
from store.offered import read_offered
from store.prices import PriceTerms
from store.recategorise import recategorise as move_categories
from store.sales import Order
from store.words import HoldKind

# Told in the description; checked by `store.sales`, for all who sell.
_Buyer = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": sales.BUYER_LENGTH_MAX})]
_Reference = Annotated[str, Meta(extra_json_schema={"maxLength": sales.REFERENCE_LENGTH_MAX})]
_Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
_Quantity = Annotated[int, Meta(extra_json_schema={"minimum": 1})]


class Sale(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seats by guid and standing places by area, all or nothing, for one buyer (`to`, as in their tokens).

    The same again is the same sale; `reference` tells apart two alike.
    """

    who: Who = ""
    why: Why
    to: _Buyer
    kind: Literal["complimentary", "box_office"]
    seats: Named = []
    areas: dict[str, Places] = {}
    reference: _Reference = ""


class Return(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of an order, or what is named; `quantity` is how many seats and places it has, as you know it."""

    who: Who = ""
    why: Why
    seats: Named = []
    areas: dict[str, Places] = {}
    quantity: _Quantity | None = None
    block: bool = False
    """What comes back stays off sale."""


class Categories(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seats and areas, by guid, that get this category of the plan."""

    who: Who = ""
    why: Why
    category: str
    seats: Named = []
    areas: Named = []
    version: int | None = None
    """Of the plan, as you know it: refused if it is another by now."""
    seen: _Sha256 | None = None
    """The SHA-256 of the plan, as you know it: refused if it is another by now, also in a draft."""


class Prices(PriceTerms, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fees and tax of an event that has not begun; what is left out is none."""

    who: Who = ""
    why: Why
    seen: PriceTerms | None = None
    """Fees and tax as you know them: refused if they are others by now."""


router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_viewer)])


@router.post("/events/{event}/sales", openapi_extra=body_described(Sale), dependencies=OPERATOR)
async def sell(request: Request, event: str) -> Response:
    """Sell or give seats and places by hand. 409 `seats_not_free`, `places_not_free` says who has what."""
    wanted = await read_body(request, Sale, SEATS_BYTES_MAX)
    said = said_by(request, wanted.who, wanted.why)

    def work(conn: Conn) -> Order:
        event_id, plan = blocks.event_and_plan(conn, event)
        kind, what = HoldKind(wanted.kind), (wanted.seats, wanted.areas, wanted.to)
        return sales.sell(conn, event_id, plan, *what, kind, said, reference=wanted.reference)

    order = await in_database(request, work)
    await wake_allocator(request, event)
    return answer(order)


@router.post(
    "/events/{event}/orders/{hold}/return", openapi_extra=body_described(Return), dependencies=OPERATOR
)
async def take_back(request: Request, event: str, hold: str) -> Response:
    """Take an order back, whole or in part. 409 `not_an_order`, `not_in_order`, `order_changed`."""
    wanted = await read_body(request, Return, SEATS_BYTES_MAX)
    said = said_by(request, wanted.who, wanted.why)
    if not HOLD_ID.fullmatch(hold):
        raise NotFound("hold_not_found", f"{hold!r} is no order's id; ids are numbers.")

    def work(conn: Conn) -> Order:
        event_id, plan = blocks.event_and_plan(conn, event)
        return sales.take_back(
            conn,
            event_id,
            plan,
            int(hold),
            said,
            seats=wanted.seats,
            areas=wanted.areas,
            quantity=wanted.quantity,
            block=wanted.block,
        )

    order = await in_database(request, work)
    await wake_allocator(request, event)
    await tell_buyer(request, event, order)
    return answer(order)


@router.post("/events/{event}/categories", openapi_extra=body_described(Categories), dependencies=OPERATOR)
async def recategorise(request: Request, event: str) -> Response:
    """Give seats and areas another category, before the sale or while it runs.

    409 `categories_fixed` once it is over, `category_limited` while it runs, `plan_changed`.
    """
    wanted = await read_body(request, Categories, SEATS_BYTES_MAX)
    said = said_by(request, wanted.who, wanted.why)
    given = (event, wanted.category, wanted.seats, wanted.areas, said)
    work = partial(move_categories, version=wanted.version, seen=wanted.seen)
    moved = await in_database(request, lambda conn: work(conn, *given))
    await wake_allocator(request, event)
    return answer(moved)


@router.get("/events/{event}/prices")
async def show_prices(request: Request, event: str) -> Response:
    """What a seat or place of each category costs, which have it, and what of that can still be changed."""
    return answer(await in_database(request, lambda conn: read_offered(conn, event)))


@router.put("/events/{event}/prices", openapi_extra=body_described(Prices), dependencies=OPERATOR)
async def set_prices(request: Request, event: str) -> Response:
    """Settle fees and tax before the sale begins; 409 `prices_fixed` afterwards, `prices_changed`."""
    wanted = await read_body(request, Prices)
    said = said_by(request, wanted.who, wanted.why)
    terms = PriceTerms(
        wanted.fee_minor, wanted.fee_basis_points, wanted.tax_basis_points, wanted.tax_included
    )
    work = partial(event_prices.set_terms, slug=event, terms=terms, said=said, seen=wanted.seen)
    return answer(await in_database(request, work))
