"""The operators' HTTP for buyers: erase what is known of one (docs/erasure.md)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from msgspec import Meta, Struct

from gateway.operators.access import (
    answer,
    body_described,
    in_database,
    read_body,
    require_owner,
    said_by,
    settings_of,
)
from gateway.operators.seats import Why
from store.erasure.erase import BUYER_LENGTH_MAX, MAIL_LENGTH_MAX, erase

_Buyer = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": BUYER_LENGTH_MAX})]
_Mail = Annotated[str, Meta(extra_json_schema={"minLength": 3, "maxLength": MAIL_LENGTH_MAX})]


class Erasing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whom to erase: by id, or by a mail address that they gave."""

    buyer: _Buyer | None = None
    mail: _Mail | None = None
    who: str = ""
    why: Why


router = APIRouter(prefix="/v1/operator", tags=["operators"])


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
