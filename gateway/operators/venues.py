"""The operators' HTTP for seating plans: look at one, keep it, make one, list what there is.

A plan is sent as it is: the body is the file, pretix's JSON or a CSV table, told by its content. What the
file does not say (prices, standing areas, the stage) is in the query, as `./run venue import` takes it. A
wrong one is 400 `plan_invalid` naming line or field, and nothing is kept. A venue never changes; sending the
same plan under the same slug again is answered the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final

import psycopg
from fastapi import APIRouter, Depends, Query, Request, Response
from msgspec import Struct
from starlette.convertors import StringConvertor, register_url_convertor

from gateway.operators.access import (
    answer,
    body_described,
    in_database,
    read_body,
    require_operator,
    require_viewer,
    said_by,
    threads_of,
)
from gateway.operators.uploads import uploads_of
from store.events import find_venue
from store.plan import CATEGORIES_MAX, NAME_LENGTH_MAX, Plan
from store.venues.described import PlanHolds, holds
from store.venues.options import slug_of, standing_of, terms_of
from store.venues.pretix import drawings
from store.venues.rows import newest_venues, save_venue
from store.venues.source import PLAN_BYTES_MAX, Format, PlanMade, plan_made, read_file

Conn = psycopg.Connection[Any]

FILE: Final = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

Written = Annotated[str, Query(max_length=200)]


@dataclass(frozen=True)
class FileOptions:
    """What the file may not say, as `./run venue import` takes it: `price` Gold=49.90, or 49.90 for what has
    none; `area` Floor=2000:Standing makes the pretix area with that text a standing area; `stage` 400,20."""

    name: Annotated[str, Query(max_length=NAME_LENGTH_MAX)] = ""
    currency: Annotated[str, Query(pattern="^[A-Z]{3}$")] = "EUR"
    price: Annotated[list[Written] | None, Query(max_length=CATEGORIES_MAX)] = None
    area: Annotated[list[Written] | None, Query(max_length=CATEGORIES_MAX)] = None
    stage: Annotated[str | None, Query(max_length=40)] = None

    def read(self, raw: bytes) -> tuple[Format, Plan, list[str]]:
        """(what the file is, its plan, areas that are only drawn); PlanError."""
        terms = terms_of(self.price or [], self.currency, self.stage, "")
        standing = standing_of(self.area or [], "")
        written, plan = read_file(raw, name=self.name, terms=terms, standing=standing)
        return written, plan, drawings(raw, standing) if written == "pretix" else []


class NewMade(PlanMade, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A venue to be made, and its slug: made from its name unless given."""

    slug: str | None = None


class Previewed(Struct, frozen=True):
    """What a plan holds, and the plan as buyers' pages read it. `format`: of the file."""

    format: Format | None
    holds: PlanHolds
    plan: Plan
    drawn: list[str]
    """Areas of a pretix file that could be standing areas."""


class KeptVenue(Struct, frozen=True):
    """A venue, and what its plan holds."""

    slug: str
    holds: PlanHolds


class ShownVenue(Struct, frozen=True):
    """A venue whole."""

    slug: str
    holds: PlanHolds
    plan: Plan


class ListedVenue(Struct, frozen=True):
    """A venue in short. `standing`: the capacity of all its areas."""

    slug: str
    name: str
    seats: int
    standing: int
    created_at: datetime


class ListedVenues(Struct, frozen=True):
    venues: list[ListedVenue]


class _Venue(StringConvertor):
    """A venue's slug in a path: any but the words that are calls."""

    regex = "(?!(?:make|preview)$)[^/]+"


register_url_convertor("venue", _Venue())
router = APIRouter(prefix="/v1/operator", tags=["operators"])
Options = Annotated[FileOptions, Depends()]


@router.get("/venues", dependencies=[Depends(require_viewer)])
async def list_venues(request: Request) -> Response:
    """The newest hundred, newest first."""
    rows = await in_database(request, newest_venues)
    listed = [ListedVenue(one.slug, one.name, one.seats, one.standing, one.created_at) for one in rows]
    return answer(ListedVenues(listed))


@router.post("/venues/preview", openapi_extra=FILE, dependencies=[Depends(require_operator)])
async def preview(request: Request, options: Options) -> Response:
    """What is in a file, and the plan to draw; nothing is kept. 400 `plan_invalid` names line or field."""

    def work(raw: bytes) -> Response:
        written, plan, drawn = options.read(raw)
        return answer(Previewed(written, holds(plan, drawn), plan, drawn))

    return await uploads_of(request).take(request, PLAN_BYTES_MAX, work)


@router.post("/venues", status_code=201, openapi_extra=FILE, dependencies=[Depends(require_operator)])
async def keep(
    request: Request, options: Options, slug: Annotated[str | None, Query(max_length=64)] = None
) -> Response:
    """Keep the plan of a file as a venue: 201. 409 `venue_exists`: another plan has that slug."""

    def work(raw: bytes) -> tuple[Plan, list[str]]:
        _, plan, drawn = options.read(raw)
        return plan, drawn

    plan, drawn = await uploads_of(request).take(request, PLAN_BYTES_MAX, work)
    return await _keep(request, slug, plan, drawn)


@router.post(
    "/venues/make",
    status_code=201,
    openapi_extra=body_described(NewMade),
    dependencies=[Depends(require_operator)],
)
async def make(request: Request) -> Response:
    """Make a theatre, an arena or a standing hall of a wanted size: 201. 409 `venue_exists`."""
    wish = await read_body(request, NewMade)
    plan = await threads_of(request).run(partial(plan_made, wish))
    return await _keep(request, wish.slug, plan, [])


@router.post(
    "/venues/make/preview", openapi_extra=body_described(PlanMade), dependencies=[Depends(require_operator)]
)
async def preview_made(request: Request) -> Response:
    """What would be made, and the plan to draw; nothing is kept."""
    wish = await read_body(request, PlanMade)

    def work() -> Response:
        plan = plan_made(wish)
        return answer(Previewed(None, holds(plan), plan, []))

    return await threads_of(request).run(work)


@router.get("/venues/{slug:venue}", dependencies=[Depends(require_viewer)])
async def show(request: Request, slug: str) -> Response:
    """A venue's plan, and what it holds. 404 `unknown_venue`."""

    def work(conn: Conn) -> Response:
        _, plan = find_venue(conn, slug)
        return answer(ShownVenue(slug, holds(plan), plan))

    return await in_database(request, work)


async def _keep(request: Request, slug: str | None, plan: Plan, drawn: list[str]) -> Response:
    chosen = slug_of(plan.name, "slug") if slug is None else slug
    said = said_by(request, does="keep a plan as a venue")

    def work(conn: Conn) -> Response:
        with conn.transaction():
            save_venue(conn, chosen, plan, said)
        location = {"Location": f"/v1/operator/venues/{chosen}"}
        return answer(KeptVenue(chosen, holds(plan, drawn)), 201, location)

    return await in_database(request, work)
