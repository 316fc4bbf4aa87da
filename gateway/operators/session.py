"""The console's session: log in with a key, see who one is, log out. `/v1/operator/session`.

The browser keeps a cookie that no script can read and that it sends for calls of this site's own pages alone;
the key itself is kept nowhere. A login is refused as any call is (`gateway.callers`).
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

from fastapi import APIRouter, Depends, Request, Response
from msgspec import Struct

from gateway.callers import Caller, Callers
from gateway.operators.access import (
    answer,
    body_described,
    caller_of,
    in_database,
    of_its_events,
    read_body,
    require_viewer,
    said_by,
)
from store.errors import Conflicted
from store.operators import sessions
from store.operators.words import SESSION_SECONDS_MAX, Role

LOGIN_BYTES_MAX = 1_024


class Login(Struct, frozen=True, forbid_unknown_fields=True):
    """What `POST /v1/operator/session` takes: an operator key, as it was shown when it was made."""

    key: str


class Me(Struct, frozen=True):
    """Who is logged in, or has the key that the call carries."""

    name: str
    role: Role
    events: list[str] | None
    """The only events it is for; null: all."""
    expires_at: datetime | None
    """Of a session, unless it is used before; of a key, null where it does not run out."""


router = APIRouter(prefix="/v1/operator", tags=["operators"])


@router.post("/session", openapi_extra=body_described(Login))
async def log_in(request: Request) -> Response:
    """Begin a session: who one is, and a cookie. 403 `cross_origin`, 429 `operator_tries`."""
    callers: Callers = request.app.state.runtime.callers
    callers.must_be_own_page(request, browser=False)
    login = await read_body(request, Login, LOGIN_BYTES_MAX)
    caller = await callers.by_key(request, login.key.strip())
    said = said_by(request, does="logged in")
    begun = await in_database(
        request, partial(sessions.begin, key_id=caller.key_id, key_digest=caller.key_digest, said=said)
    )
    reply = answer(_me(caller, begun.ends_at))
    _set_cookie(request, reply, begun.cookie, SESSION_SECONDS_MAX)
    return reply


@router.get("/session", dependencies=[Depends(require_viewer)])
@of_its_events
async def who_am_i(request: Request) -> Response:
    """Who is logged in; 401 for nobody."""
    caller = caller_of(request)
    return answer(_me(caller, caller.expires_at))


@router.delete("/session", status_code=204, dependencies=[Depends(require_viewer)])
@of_its_events
async def log_out(request: Request) -> Response:
    """End the session. 409 `no_session` for who calls with a key."""
    digest = caller_of(request).session
    if digest is None:
        raise Conflicted("no_session", "You call with a key, so there is no session to end. Revoke the key.")
    said = said_by(request, does="logged out")
    await in_database(request, partial(sessions.end, digest=digest, said=said))
    reply = Response(status_code=204, headers={"Cache-Control": "no-store"})
    _set_cookie(request, reply, "", 0)
    return reply


def _me(caller: Caller, expires_at: datetime | None) -> Me:
    events = None if caller.events is None else list(caller.events)
    return Me(caller.name, caller.role, events, expires_at)


def _set_cookie(request: Request, reply: Response, value: str, max_age: int) -> None:
    callers: Callers = request.app.state.runtime.callers
    reply.set_cookie(
        callers.cookie_name(request),
        value,
        max_age=max_age,
        path="/",
        secure=callers.is_https(request),
        httponly=True,
        samesite="strict",
    )
