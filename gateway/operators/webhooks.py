"""The operators' HTTP for webhooks: who is told what becomes true. `/v1/operator/webhooks`.

Each change says `why`, and may say `who`, kept with the subscriber and in `store.audit`. A secret is in the
answer of the call that made it, and in no other; so owners add, rotate and remove. Nothing is sent from here:
a relay does, see `notifier.relay`. Errors are problem+json with the codes of `store.subscribers.edit`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from msgspec import Meta, Struct

from gateway.operators.access import (
    OWNER,
    answer,
    body_described,
    done_once,
    in_database,
    read_body,
    require_operator,
    said_by,
)
from gateway.operators.said import Reason, Who, Why
from gateway.operators.seats import Conn
from store.audit import Said
from store.errors import NotFound
from store.outbox import Told
from store.subscribers import edit, show
from store.subscribers.addresses import URL_LENGTH_MAX, private_allowed

SUBSCRIBER_ID = re.compile(r"[1-9][0-9]{0,8}")

# Told in the description; checked by `store.subscribers`, for all who change subscribers.
_Url = Annotated[str, Meta(extra_json_schema={"maxLength": URL_LENGTH_MAX, "pattern": "^https?://"})]
_Kinds = Annotated[
    list[str],
    Meta(extra_json_schema={"items": {"enum": [kind.value for kind in Told]}, "uniqueItems": True}),
]
_Hours = Annotated[int, Meta(extra_json_schema={"minimum": 0, "maximum": edit.OVERLAP_HOURS_MAX})]


class NewSubscriber(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `POST /v1/operator/webhooks` takes. Without `event` it is told of all, without `kinds` everything.

    `from_start`: also what is in the outbox already.
    """

    url: _Url
    who: Who = ""
    why: Why
    event: str | None = None
    kinds: _Kinds = []
    from_start: bool = False


class Rotation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new secret; the one before signs too for `overlap_hours`."""

    who: Who = ""
    why: Why
    overlap_hours: _Hours = edit.OVERLAP_HOURS


class Replay(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message, or without it all dead letters."""

    who: Who = ""
    why: Why
    message: str | None = None


router = APIRouter(
    prefix="/v1/operator/webhooks", tags=["operators"], dependencies=[Depends(require_operator)]
)


@router.get("")
async def list_subscribers(request: Request) -> Response:
    """Every subscriber, newest first."""
    return answer({"webhooks": await in_database(request, show.list_all)})


@router.post("", status_code=201, openapi_extra=body_described(NewSubscriber), dependencies=OWNER)
async def add_subscriber(request: Request) -> Response:
    """Subscribe a URL: 201 with its secret. 400 `invalid_url`, `unknown_kind`; 409 `too_many_subscribers`."""
    new = await read_body(request, NewSubscriber)
    said = said_by(request, new.who, new.why)

    what: dict[str, Any] = {"event": new.event, "kinds": new.kinds, "from_start": new.from_start}
    what["allow_private"] = private_allowed()

    def reply(made: edit.WithSecret) -> Response:
        return answer(made, 201, {"Location": f"/v1/operator/webhooks/{made.subscriber.id}"})

    def add(conn: Conn) -> edit.WithSecret:
        return done_once(request, conn, partial(edit.add, conn, new.url, said, **what), reply)

    return reply(await in_database(request, add))


@router.get("/{subscriber}")
async def show_subscriber(
    request: Request,
    subscriber: str,
    limit: Annotated[int, Query(ge=1, le=show.ROWS_MAX, description="of each list")] = show.LOG_ROWS,
) -> Response:
    """A subscriber with what was sent lately, what waits or is dead, and who changed it."""
    number = _number(subscriber)
    return answer(await in_database(request, lambda conn: show.show(conn, number, limit)))


@router.post("/{subscriber}/rotate", openapi_extra=body_described(Rotation), dependencies=OWNER)
async def rotate_secret(request: Request, subscriber: str) -> Response:
    """A new secret, in the answer. 400 `invalid_overlap`."""
    number, wanted = _number(subscriber), await read_body(request, Rotation)
    said = said_by(request, wanted.who, wanted.why)

    def rotate(conn: Conn) -> edit.WithSecret:
        work = partial(edit.rotate, conn, number, said, overlap_hours=wanted.overlap_hours)
        return done_once(request, conn, work)

    return answer(await in_database(request, rotate))


@router.post("/{subscriber}/disable", openapi_extra=body_described(Reason))
async def disable(request: Request, subscriber: str) -> Response:
    """Tell it nothing any more; the same however often."""
    return await _turn(request, subscriber, edit.disable)


@router.post("/{subscriber}/enable", openapi_extra=body_described(Reason))
async def enable(request: Request, subscriber: str) -> Response:
    """Go on where it was left; the same however often."""
    return await _turn(request, subscriber, edit.enable)


@router.post("/{subscriber}/replay", openapi_extra=body_described(Replay))
async def replay(request: Request, subscriber: str) -> Response:
    """Try dead letters again, all or one. 404 `unknown_message`; 409 `subscriber_disabled`."""
    number, wanted = _number(subscriber), await read_body(request, Replay)
    said = said_by(request, wanted.who, wanted.why)
    return answer(
        await in_database(request, lambda conn: edit.replay(conn, number, said, message=wanted.message))
    )


@router.post("/{subscriber}/test", status_code=202, openapi_extra=body_described(Reason))
async def send_test(request: Request, subscriber: str) -> Response:
    """Have a relay send a test message: 202 with its id; the log says what became of it."""
    number, reason = _number(subscriber), await read_body(request, Reason)
    said = said_by(request, reason.who, reason.why)

    def reply(message: str) -> Response:
        return answer({"message": message}, 202)

    def test(conn: Conn) -> str:
        return done_once(request, conn, partial(edit.send_test, conn, number, said), reply)

    return reply(await in_database(request, test))


@router.post("/{subscriber}/remove", openapi_extra=body_described(Reason), dependencies=OWNER)
async def remove(request: Request, subscriber: str) -> Response:
    """Forget it, with its log and dead letters. 404 `unknown_subscriber` when it is gone already."""
    number, reason = _number(subscriber), await read_body(request, Reason)
    said = said_by(request, reason.who, reason.why)
    await in_database(request, lambda conn: edit.remove(conn, number, said))
    return answer({"id": subscriber, "state": "removed"})


async def _turn(
    request: Request, subscriber: str, change: Callable[[Conn, int, Said], show.Subscriber]
) -> Response:
    number, reason = _number(subscriber), await read_body(request, Reason)
    said = said_by(request, reason.who, reason.why)
    return answer(await in_database(request, lambda conn: change(conn, number, said)))


def _number(subscriber: str) -> int:
    if not SUBSCRIBER_ID.fullmatch(subscriber):
        raise NotFound("unknown_subscriber", f"{subscriber!r} is no subscriber's id; ids are numbers.")
    return int(subscriber)
