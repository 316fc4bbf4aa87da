"""The operators' HTTP for their own keys: list, make, rotate, revoke. `/v1/operator/keys`, for owners of all
events.

A key's text is in the answer of the call that made it, and in no other; none of these calls takes an
Idempotency-Key, for its answer is kept nowhere. Only owners make keys, so no key makes one above itself.
Errors are problem+json with the codes of `store.operators.keys`.
"""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from msgspec import Meta, Struct

from gateway.operators.access import (
    answer,
    body_described,
    in_database,
    read_any_body,
    read_body,
    require_owner,
    said_by,
    settings_of,
)
from gateway.operators.said import MayWhy, Note, Who
from gateway.operators.seats import Conn
from store.errors import NotFound
from store.operators import keys
from store.operators.keys import Key, KeyWithSecret
from store.operators.words import DAYS_MAX, GRACE_SECONDS, GRACE_SECONDS_MAX, SCOPE_MAX, Role

KEY_ID = re.compile(r"[1-9][0-9]{0,8}")

# Told in the description; checked by `store.operators.keys`, for all who make keys.
_Name = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": 40})]
_Role = Annotated[str, Meta(extra_json_schema={"enum": [role.value for role in Role]})]
_Events = Annotated[list[str], Meta(extra_json_schema={"minItems": 1, "maxItems": SCOPE_MAX})]
_Days = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": DAYS_MAX})]
_Grace = Annotated[int, Meta(extra_json_schema={"minimum": 0, "maximum": GRACE_SECONDS_MAX})]


class NewKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key in somebody's name. Without `events` it is for all, without `expires_in_days` for good."""

    name: _Name
    role: _Role
    events: _Events | None = None
    expires_in_days: _Days | None = None
    who: Who = ""
    why: MayWhy = ""


class Rotation(Note, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new secret; the one before counts for `grace_seconds` more."""

    grace_seconds: _Grace = GRACE_SECONDS


class Keys(Struct, frozen=True):
    """Newest first."""

    keys: list[Key]


router = APIRouter(prefix="/v1/operator/keys", tags=["operators"], dependencies=[Depends(require_owner)])


@router.get("")
async def list_keys(
    request: Request, revoked: Annotated[bool, Query(description="Also those that were revoked.")] = False
) -> Response:
    """Who has a key, and when it was last used. Never a secret."""
    return answer(Keys(await in_database(request, lambda conn: keys.list_keys(conn, revoked=revoked))))


@router.post("", status_code=201, openapi_extra=body_described(NewKey))
async def make_key(request: Request) -> Response:
    """Make a key: 201 with its text, which is told this once. 409 `key_exists`, `too_many_operator_keys`."""
    new = await read_body(request, NewKey)
    said = said_by(request, new.who, new.why, "a new key")

    def make(conn: Conn) -> KeyWithSecret:
        return keys.create(
            conn, new.name, new.role, said, events=new.events, expires_in_days=new.expires_in_days
        )

    made = await in_database(request, make)
    return answer(made, 201, {"Location": f"/v1/operator/keys/{made.key.id}"})


@router.get("/{key}")
async def show_key(request: Request, key: str) -> Response:
    """One key, also one that was revoked."""
    number = _number(key)
    return answer(await in_database(request, lambda conn: keys.get(conn, number)))


@router.post("/{key}/rotate", openapi_extra=body_described(Rotation, required=False))
async def rotate_key(request: Request, key: str) -> Response:
    """A new secret, told this once. 409 `key_revoked`, `key_expired`."""
    number, wanted = _number(key), await read_any_body(request, Rotation)
    said = said_by(request, wanted.who, wanted.why, "a new secret")

    def rotate(conn: Conn) -> KeyWithSecret:
        return keys.rotate(conn, number, said, grace_seconds=wanted.grace_seconds)

    return answer(await in_database(request, rotate))


@router.post("/{key}/revoke", openapi_extra=body_described(Note, required=False))
async def revoke_key(request: Request, key: str) -> Response:
    """It lets nobody in any more; the same however often. 409 `last_owner` where no other key could make
    keys: no other owner's, and none in the environment."""
    number, wanted = _number(key), await read_any_body(request, Note)
    said = said_by(request, wanted.who, wanted.why, "revoked a key")
    keep_an_owner = not settings_of(request).operator_key

    def revoke(conn: Conn) -> Key:
        return keys.revoke(conn, number, said, keep_an_owner=keep_an_owner)

    return answer(await in_database(request, revoke))


def _number(key: str) -> int:
    if not KEY_ID.fullmatch(key):
        raise NotFound("unknown_key", f"{key!r} is no key's id; ids are numbers.")
    return int(key)
