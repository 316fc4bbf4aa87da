"""The operators' HTTP for how sales stand: every launch at a glance, one of them whole, its samples.

The same is told as it changes by the console's websocket; shapes are in docs/console-feed.md.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from msgspec import Struct

from gateway.live.feed import LiveFeed
from gateway.operators.access import answer, caller_of, in_database, of_its_events, require_viewer
from gateway.operators.seats import Conn
from gateway.routing import Slug
from store.console import around, samples, view
from store.console.launch import Launch, launch_of
from store.console.needs import Need, needs_around
from store.console.now import Reader
from store.console.samples import ROWS_DEFAULT, ROWS_MAX, Samples
from store.events import get_event

_Ms = Annotated[int | None, Query(ge=0, le=4_102_444_800_000)]

router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_viewer)])


class Launches(Struct, frozen=True):
    """Every launch at a glance, and what needs a hand and is about none of them."""

    at_ms: int | None
    """When that was; null where there is none."""
    launches: list[Launch]
    needs: list[Need]


@router.get("/launches")
@of_its_events
async def list_launches(request: Request, closed: bool = False) -> Response:
    """Every launch at a glance, those that sell first; with `closed` also those that are over."""
    caller = caller_of(request)
    live: LiveFeed = request.app.state.runtime.live
    away = await live.stream_away()

    def look(conn: Conn) -> Launches:
        found = Reader(conn).launches(closed=closed, among=caller.events)
        about_all = around.read(conn)
        told = [launch_of(one, about_all.short) for one in found]
        needs = needs_around(about_all, stream_away=away, limited=caller.events is not None)
        return Launches(found[0].at_ms if found else None, told, needs)

    return answer(await in_database(request, look))


@router.get("/events/{event}/launch")
async def show_launch(request: Request, event: Slug) -> Response:
    """One event whole: its levers, its numbers now, how far its buyers came. 404 `unknown_event`."""

    def look(conn: Conn) -> dict[str, Any]:
        return view.told(view.one(conn, event), whole=True)

    return answer(await in_database(request, look))


@router.get("/events/{event}/samples")
async def show_samples(
    request: Request,
    event: Slug,
    since: _Ms = None,
    until: _Ms = None,
    limit: Annotated[int, Query(ge=1, le=ROWS_MAX)] = ROWS_DEFAULT,
) -> Response:
    """How it stood over time, in rows: after `since` (milliseconds) and up to `until`, the oldest first;
    without both the last six hours. `next_since` says where to go on."""

    def look(conn: Conn) -> Samples:
        number = get_event(conn, event).id
        return samples.read(conn, number, event, since_ms=since, until_ms=until, limit=limit)

    return answer(await in_database(request, look))
