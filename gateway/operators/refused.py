"""The operators' HTTP for who was turned away from an event's waiting room: `…/room/refused`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import AwareDatetime

from gateway.operators.access import answer, in_database, require_viewer
from gateway.operators.seats import Conn
from gateway.routing import Slug
from store.room import refused

router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_viewer)])


@router.get("/events/{event}/room/refused")
async def list_refused(
    request: Request,
    event: Slug,
    limit: Annotated[int, Query(ge=1, le=refused.READ_MAX)] = 100,
    since: AwareDatetime | None = None,
    until: AwareDatetime | None = None,
) -> Response:
    """A row per minute and reason, newest first: how many, and the addresses with most of them, as keyed
    hashes. `since` and `until` say which minutes, as times with their offset. 400 `invalid_range`."""
    row = (await request.app.state.runtime.events.get(event)).row

    def work(conn: Conn) -> list[refused.Refused]:
        return refused.read(conn, row.id, limit, since=since, until=until)

    return answer({"refused": await in_database(request, work)})
