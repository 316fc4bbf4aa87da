"""The operators' HTTP for tours: events that share a limit per buyer. `/v1/operator/tours`.

A tour's limit never changes, and an event joins it as a draft, with a row in the event's audit that says who
made it join and why. Errors are problem+json with the codes of `store.tours`.
"""

from __future__ import annotations

from typing import Annotated

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
    wake_allocator,
)
from gateway.operators.routes import Name, Slug
from gateway.operators.said import MayWhy, Who, Why
from gateway.operators.seats import Conn
from store import tours
from store.events import Event
from store.terms import SEATS_PER_BUYER_MAX

# Told in the description; checked by `store.tours`, for all who change tours.
_Seats = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": SEATS_PER_BUYER_MAX})]


class NewTour(Struct, frozen=True, forbid_unknown_fields=True):
    """What `POST /v1/operator/tours` takes; the name is the slug unless given."""

    slug: Slug
    seats_per_buyer_max: _Seats
    name: Name = ""
    who: Who = ""
    why: MayWhy = ""


class NewDate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `POST /v1/operator/tours/{tour}/events` takes: a draft, who makes it a date, and why."""

    event: Slug
    who: Who = ""
    why: Why


router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_viewer)])


@router.get("/tours")
async def list_tours(request: Request) -> Response:
    """Every tour, newest first."""
    return answer({"tours": await in_database(request, tours.list_tours)})


@router.post("/tours", status_code=201, openapi_extra=body_described(NewTour), dependencies=OPERATOR)
async def create_tour(request: Request) -> Response:
    """Make a tour without dates: 201 with it. 409 `tour_exists`."""
    new = await read_body(request, NewTour)

    said = said_by(request, new.who, new.why, "made a tour")

    def create(conn: Conn) -> tours.Tour:
        return tours.create_tour(conn, new.slug, new.name or new.slug, new.seats_per_buyer_max, said)

    made = await in_database(request, create)
    return answer(made, 201, {"Location": f"/v1/operator/tours/{made.slug}"})


@router.get("/tours/{tour}")
async def show_tour(request: Request, tour: str) -> Response:
    """A tour and its dates."""

    def show(conn: Conn) -> dict[str, object]:
        found = tours.get_tour(conn, tour)
        return {"tour": found, "events": tours.dates_of(conn, found)}

    return answer(await in_database(request, show))


@router.post("/tours/{tour}/events", openapi_extra=body_described(NewDate), dependencies=OPERATOR)
async def add_event(request: Request, tour: str) -> Response:
    """Make a draft a date of the tour; the same however often. 409 `event_not_draft`, `event_of_tour`."""
    new = await read_body(request, NewDate)
    said = said_by(request, new.who, new.why)

    def add(conn: Conn) -> Event:
        return tours.add_event(conn, tour, new.event, said)

    event = await in_database(request, add)
    await wake_allocator(request, event.slug)
    return answer(event)
