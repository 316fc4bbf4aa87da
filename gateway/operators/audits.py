"""The operators' HTTP for who did what and why: all of it, or of one event. `/v1/operator/audit`.

A key that is limited to events reads what was done with those, and nothing of what is no event's. Who only
looks on is not told which buyer it was about.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Query, Request, Response
from msgspec import Struct, structs

from gateway.callers import Caller
from gateway.operators.access import (
    answer,
    caller_of,
    in_database,
    must_see,
    of_its_events,
    require_viewer,
)
from gateway.operators.seats import Conn
from store import audit
from store.audit import Audit, AuditRow
from store.events import get_event
from store.operators.words import Role

Row = TypeVar("Row", bound=Audit)

ROWS = 100
"""Of a page, unless asked for."""
_Before = Annotated[int | None, Query(ge=1, le=(1 << 63) - 1, description="below this id")]
_Limit = Annotated[int, Query(ge=1, le=audit.ROWS_MAX)]
_Text = Annotated[str | None, Query(max_length=audit.WHO_LENGTH_MAX, pattern=r"^[^\x00]*$")]


class AuditRows(Struct, frozen=True):
    """Of one event, newest first."""

    audit: list[Audit]


class AllAuditRows(Struct, frozen=True):
    """Newest first."""

    audit: list[AuditRow]


router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_viewer)])


@router.get("/audit")
@of_its_events
async def read_all(
    request: Request, event: _Text = None, who: _Text = None, before: _Before = None, limit: _Limit = ROWS
) -> Response:
    """What operators did, newest first: of one event, by one caller, below an id, as far as each is said."""
    caller = caller_of(request)
    if event is not None:
        must_see(caller, event)

    def read(conn: Conn) -> list[AuditRow]:
        event_id = None if event is None else get_event(conn, event).id
        return audit.read_all(
            conn, event_id=event_id, events=caller.events, who=who, before=before, limit=limit
        )

    return answer(AllAuditRows(_told(caller, await in_database(request, read))))


@router.get("/events/{event}/audit")
async def read_event(request: Request, event: str, before: _Before = None, limit: _Limit = ROWS) -> Response:
    """Who changed what of an event and why, newest first."""

    def read(conn: Conn) -> list[Audit]:
        return audit.read(conn, get_event(conn, event).id, before=before, limit=limit)

    return answer(AuditRows(_told(caller_of(request), await in_database(request, read))))


def _told(caller: Caller, rows: list[Row]) -> list[Row]:
    """What names people is not for who only looks on."""
    if caller.role.includes(Role.OPERATOR):
        return rows
    return [
        structs.replace(row, what={**row.what, "buyer": None}) if "buyer" in row.what else row for row in rows
    ]
