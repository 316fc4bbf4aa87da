"""The operators' HTTP for a whole launch in one call: plan, event, prices, waiting room, look, codes.

All of it is made, or nothing. What is wrong is told at once: 400 `invalid_launch` has every field with what
to do about it in `errors`. Its answer may have presale codes in it, so it is kept under no key.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import psycopg
from fastapi import APIRouter, Depends, Request, Response
from msgspec import Meta, Struct, field

from gateway.operators.access import (
    answer,
    body_described,
    in_database,
    require_operator,
    said_by,
    wake_allocator,
)
from gateway.operators.rooms import GivenTerms
from gateway.operators.routes import Name, Slug
from gateway.operators.said import MayWhy, Who
from gateway.operators.uploads import uploads_of
from store import audit
from store.errors import BadRequest
from store.launches.checking import checked
from store.launches.making import make
from store.launches.reading import LAUNCH_BYTES_MAX, Read, read
from store.launches.words import Begin, Launched
from store.plan import CATEGORIES_MAX
from store.prices import PriceTerms
from store.room import codes, rooms
from store.room.look import Look
from store.terms import Terms
from store.venues.source import PlanFile, PlanMade
from store.words import PRICE_MINOR_MAX

Conn = psycopg.Connection[Any]

# Told in the description; checked by `store.launches`, field by field.
_Price = Annotated[int, Meta(extra_json_schema={"minimum": 0, "maximum": PRICE_MINOR_MAX})]
_Currency = Annotated[str, Meta(extra_json_schema={"pattern": "^[A-Z]{3}$"})]
_Categories = Annotated[dict[str, _Price], Meta(extra_json_schema={"maxProperties": CATEGORIES_MAX})]
_Label = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": codes.LABEL_LENGTH_MAX})]
_Count = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": codes.COUNT_MAX})]
_Uses = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": codes.USES_MAX})]
_Message = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": rooms.MESSAGE_LENGTH_MAX})]


class LaunchEvent(Terms, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The event's name and terms. At `opens_at` its sale begins by itself, at `lobby_opens_at` its lobby;
    `tour`: the slug of the tour it becomes a date of."""

    slug: Slug
    name: Name = ""
    opens_at: datetime | None = None
    lobby_opens_at: datetime | None = None
    tour: str | None = None


class LaunchPrices(PriceTerms, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What categories cost, in the smallest unit of money; fees and tax; the rest is as in the plan."""

    currency: _Currency | None = None
    categories: _Categories = field(default_factory=dict)


class LaunchRoom(GivenTerms, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A waiting room's terms."""


class LaunchCodes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Presale codes: so many, each for so many buyers; `label` says for whom."""

    label: _Label
    count: _Count = 1
    uses: _Uses = 1


class NewLaunch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An event with everything it needs. Its plan is one of `venue` (a slug), `plan` (a file) and `make`."""

    event: LaunchEvent
    venue: str | None = None
    plan: PlanFile | None = None
    make: PlanMade | None = None
    venue_slug: Slug | None = None
    prices: LaunchPrices | None = None
    room: LaunchRoom | None = None
    look: Look | None = None
    message: _Message | None = None
    codes: list[LaunchCodes] = []
    begin: Begin = Begin.DRAFT
    who: Who = ""
    why: MayWhy = ""


router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_operator)])


@router.post("/launches", status_code=201, openapi_extra=body_described(NewLaunch))
async def launch(request: Request) -> Response:
    """Make an event with everything it needs, or nothing: 201. 400 `invalid_launch` names every field that is
    wrong in `errors`; 409 `event_exists`, `venue_exists`."""
    found = await uploads_of(request).take(request, LAUNCH_BYTES_MAX, read)
    said = _said(request, found)

    def work(conn: Conn) -> Launched:
        return make(conn, checked(conn, found), said)

    made = await in_database(request, work)
    await wake_allocator(request, made.event.slug)
    return answer(made, 201, {"Location": f"/v1/operator/events/{made.event.slug}"})


def _said(request: Request, found: Read) -> audit.Said:
    """Who makes it and why; what cannot be is an error of its field like any other."""
    who, why = (str(found.plain.get(name) or "") for name in ("who", "why"))
    try:
        return said_by(request, who, why, does="made in one sitting")
    except BadRequest as error:
        found.wrong("who" if error.code == "who_required" else "why", str(error))
        return audit.Said("", "")
