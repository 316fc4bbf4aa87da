"""The operators' HTTP for who was turned away from an event's waiting room: `…/room/refused`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from gateway.operators.access import answer, in_database, require_operator
from gateway.routing import Slug
from store.room import refused

router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_operator)])


@router.get("/events/{event}/room/refused")
async def list_refused(
    request: Request, event: Slug, limit: Annotated[int, Query(ge=1, le=refused.READ_MAX)] = 100
) -> Response:
    """A row per minute and reason: how many, and the addresses with most of them, as keyed hashes."""
    row = (await request.app.state.runtime.events.get(event)).row
    found = await in_database(request, lambda conn: refused.read(conn, row.id, limit))
    return answer({"refused": found})
