"""The operators' HTTP for the fleet: who runs what, why that changed, how many workers an event has, where
it goes, and which hosts are to be empty. `/v1/operator/fleet`, `/v1/operator/events/{event}/fleet`.

Each change says why. Who says which `edition` they looked at is refused (409 `fleet_changed`) where somebody
changed the event's workers since. What is asked for here is a wish: the planner makes it true within
seconds, and answers of changes show what is wanted. Errors are problem+json with the codes of
`store.fleet.edit`.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from msgspec import Meta, Struct

from gateway.operators.access import (
    answer,
    body_described,
    in_database,
    read_body,
    require_operator,
    require_viewer,
    said_by,
)
from gateway.operators.said import Reason
from gateway.operators.seats import Conn
from store.events import SLUG, get_event
from store.fleet import edit, log, read
from store.fleet.words import HOST, WORKERS_MAX, Mode

LOG_ROWS = 100
"""Of a page, unless asked for."""

# Told in the description; checked by `store.fleet.edit`, for all who scale.
Workers = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": WORKERS_MAX})]


class Scale(Reason, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """So many workers; `mode` hot: of its own, cold: shared, auto: by its load; left out: as it is.
    `edition`: only if nobody changed it since."""

    workers: Workers
    mode: Mode | None = None
    edition: int | None = None


class MoveTo(Reason, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The host that is to own the event."""

    to: str


class FleetLog(Struct, frozen=True):
    """Newest first; `before` the last id there is more."""

    log: list[log.Logged]


class ScaledEvent(edit.Wanted, frozen=True, kw_only=True):
    """What an event is to have now."""

    event: str


class HostWish(Struct, frozen=True):
    """Whether a host is to be empty."""

    host: str
    draining: bool


router = APIRouter(prefix="/v1/operator", tags=["operators"])
LOOKS = [Depends(require_viewer)]
CHANGES = [Depends(require_operator)]


@router.get("/fleet", dependencies=LOOKS)
async def show_fleet(request: Request) -> Response:
    """Hosts with their workers, and events on sale with who owns them, who stands by, and how busy they are;
    `short` says what there is too little of. All of one moment."""
    return answer(await in_database(request, read.read))


@router.get("/fleet/log", dependencies=LOOKS)
async def show_log(
    request: Request,
    event: Annotated[str | None, Query(pattern=f"^{SLUG.pattern}$", description="of this event")] = None,
    host: Annotated[str | None, Query(pattern=f"^{HOST.pattern}$", description="of this host")] = None,
    before: Annotated[int | None, Query(ge=1, le=(1 << 63) - 1, description="below this id")] = None,
    limit: Annotated[int, Query(ge=1, le=log.ROWS_MAX)] = LOG_ROWS,
) -> Response:
    """Each move with who wanted it (an operator, or the planner) and why, newest first."""

    def work(conn: Conn) -> list[log.Logged]:
        event_id = None if event is None else get_event(conn, event).id
        return log.read(conn, event_id=event_id, host=host, before=before, limit=limit)

    return answer(FleetLog(await in_database(request, work)))


@router.put("/events/{event}/fleet", dependencies=CHANGES, openapi_extra=body_described(Scale))
async def scale_event(request: Request, event: str) -> Response:
    """How many workers it has, and whether its own. 400 `invalid_workers`, 409 `fleet_changed`."""
    wish = await read_body(request, Scale)
    said = said_by(request, wish.who, wish.why)

    def work(conn: Conn) -> edit.Wanted:
        return edit.scale(conn, event, said, workers=wish.workers, mode=wish.mode, edition=wish.edition)

    now = await in_database(request, work)
    return answer(ScaledEvent(now.mode, now.workers, now.hot, now.edition, event=event))


@router.post("/events/{event}/fleet/move", dependencies=CHANGES, openapi_extra=body_described(MoveTo))
async def move_event(request: Request, event: str) -> Response:
    """Its owner is to be on that host; who owns it hands over once the other one is warm. 404
    `host_not_found`, 409 `event_not_on_sale`, `host_gone`, `host_draining`, `host_full`."""
    wish = await read_body(request, MoveTo)
    said = said_by(request, wish.who, wish.why)
    return answer(await in_database(request, lambda conn: edit.move(conn, event, wish.to, said)))


@router.post("/fleet/hosts/{host}/drain", dependencies=CHANGES, openapi_extra=body_described(Reason))
async def drain_host(request: Request, host: str) -> Response:
    """Events leave it, few at a time, then its workers stop. 404 `host_not_found`, 409 `last_host`."""
    wish = await read_body(request, Reason)
    said = said_by(request, wish.who, wish.why)
    await in_database(request, lambda conn: edit.drain(conn, host, said))
    return answer(HostWish(host, draining=True))


@router.post("/fleet/hosts/{host}/keep", dependencies=CHANGES, openapi_extra=body_described(Reason))
async def keep_host(request: Request, host: str) -> Response:
    """It takes events again. 404 `host_not_found`."""
    wish = await read_body(request, Reason)
    said = said_by(request, wish.who, wish.why)
    await in_database(request, lambda conn: edit.keep(conn, host, said))
    return answer(HostWish(host, draining=False))
