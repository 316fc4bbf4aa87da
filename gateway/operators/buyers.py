"""The operators' HTTP for buyers: find one of an event, read their whole story, erase what is known of them
(docs/console-feed.md, docs/erasure.md). What names people is not for who only looks on.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from msgspec import Meta, Struct

from gateway.operators.access import (
    answer,
    body_described,
    in_database,
    read_body,
    require_operator,
    require_owner,
    said_by,
    settings_of,
)
from gateway.operators.said import Why
from gateway.operators.seats import Conn
from gateway.routing import Slug
from store.console import story
from store.console.find import FOUND_MAX, TEXT_LENGTH_MAX, Found
from store.console.find import find as find_in
from store.console.story import NEWEST
from store.erasure.erase import BUYER_LENGTH_MAX, MAIL_LENGTH_MAX, erase
from store.errors import NotFound
from store.events import get_event

_Buyer = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": BUYER_LENGTH_MAX})]
_Mail = Annotated[str, Meta(extra_json_schema={"minLength": 3, "maxLength": MAIL_LENGTH_MAX})]


class Erasing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whom to erase: by id, or by a mail address that they gave."""

    buyer: _Buyer | None = None
    mail: _Mail | None = None
    who: str = ""
    why: Why


router = APIRouter(prefix="/v1/operator", tags=["operators"])


@router.get("/events/{event}/buyers", dependencies=[Depends(require_operator)])
async def find_buyers(
    request: Request,
    event: Slug,
    find: Annotated[str, Query(min_length=1, max_length=TEXT_LENGTH_MAX)],
    limit: Annotated[int, Query(ge=1, le=FOUND_MAX)] = 20,
) -> Response:
    """Whoever `find` is of: how an id begins, a mail address, a request, hold, order or payment, a ticket's
    code. 400 `find_too_short`, `invalid_find`."""

    def look(conn: Conn) -> Found:
        return find_in(conn, get_event(conn, event).id, find, limit)

    return answer(await in_database(request, look))


@router.get("/events/{event}/buyers/{buyer:path}", dependencies=[Depends(require_operator)])
async def tell_story(
    request: Request,
    event: Slug,
    buyer: Annotated[str, Path(min_length=1, max_length=BUYER_LENGTH_MAX)],
    before: Annotated[int | None, Query(ge=1, le=NEWEST)] = None,
) -> Response:
    """A buyer's whole story; `before`: requests below that cursor. 404 `unknown_buyer`."""
    if not buyer.isprintable():
        raise NotFound("unknown_buyer", "Nobody has such an id. Look for the buyer by another word.")

    def look(conn: Conn) -> dict[str, Any]:
        return story.read(conn, get_event(conn, event).id, event, buyer, before=before)

    return answer(await in_database(request, look))


@router.post("/buyers/erase", dependencies=[Depends(require_owner)], openapi_extra=body_described(Erasing))
async def erase_buyer(request: Request) -> Response:
    """Erase a buyer's personal data: 200 with how many rows of what. 400 `invalid_buyer`, 404
    `unknown_buyer`, 409 `sale_running`, `not_at_rest`, `too_many_buyers`: nothing was erased then."""
    wanted = await read_body(request, Erasing)
    said = said_by(request, wanted.who, wanted.why)
    redis_url = settings_of(request).engines.redis_url
    return answer(
        await in_database(
            request, lambda conn: erase(conn, said, redis_url, buyer=wanted.buyer, mail=wanted.mail)
        )
    )
