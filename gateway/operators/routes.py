"""The operators' HTTP: `/v1/operator/events`, each call asking for a role.

Answers are JSON of `store.events.Event` or `store.overview.Overview`; errors are problem+json with the
codes of `store.errors`. A change wakes the event's allocator, best effort.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Any

import msgspec
import psycopg
from fastapi import APIRouter, Depends, Request, Response
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import fields

from gateway.operators.access import (
    OPERATOR,
    answer,
    body_described,
    caller_of,
    in_database,
    of_its_events,
    read_any_body,
    read_body,
    require_viewer,
    said_by,
    settings_of,
    threads_of,
    wake_allocator,
)
from gateway.operators.said import MayWhy, Note, Who
from store import events
from store.audit import Said
from store.overview import read_overview
from store.schedule import TimesChange, times_in, told
from store.stream.wake import undecided
from store.terms import PolicyChange, Terms, terms_in
from store.waiting_overview import read_waiting
from store.words import Arrival, EventState

Conn = psycopg.Connection[Any]


# Told in the description; checked by `store.events`, for all who change events.
Slug = Annotated[str, Meta(extra_json_schema={"pattern": f"^{events.SLUG.pattern}$"})]
Name = Annotated[str, Meta(extra_json_schema={"maxLength": events.NAME_LENGTH_MAX})]


class NewEvent(Terms, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `POST /v1/operator/events` takes. `venue` is a slug; the name is the slug unless given. At
    `lobby_opens_at` its lobby begins by itself, at `opens_at` its sale."""

    slug: Slug
    venue: str
    name: Name = ""
    opens_at: datetime | None = None
    lobby_opens_at: datetime | None = None
    open: bool = False
    who: Who = ""
    why: MayWhy = ""


SeenPolicy: Any = msgspec.defstruct(
    "SeenPolicy",
    [(one.name, one.type, UNSET) for one in fields(TimesChange)],
    bases=(PolicyChange,),
    namespace={
        "__doc__": "Some terms. `lobby_opens_at` and `opens_at` are when lobby and sale begin by themselves;"
        " null: by hand."
    },
    module=__name__,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
)
NewPolicy: Any = msgspec.defstruct(
    "NewPolicy",
    [("seen", SeenPolicy | UnsetType, UNSET), ("who", Who, ""), ("why", MayWhy, "")],
    bases=(SeenPolicy,),
    namespace={
        "__doc__": "Other terms, for what is decided from now on; what is left out stays. `seen` has terms as"
        " you know them: where somebody else changed one of them, nothing is done (409 `event_changed`)."
    },
    module=__name__,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
)


class StateChange(Note, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing has to be said. `seen` is the state the event is in as far as you know: where somebody else
    changed it meanwhile, nothing is done (409 `event_changed`)."""

    seen: EventState | None = None


_STATE_CHANGE = body_described(StateChange, required=False)


router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_viewer)])


@router.get("/events")
@of_its_events
async def list_events(request: Request) -> Response:
    """Every event, newest first; of a key that is limited to events, those."""
    caller = caller_of(request)
    found = await in_database(request, events.list_events)
    return answer({"events": [event for event in found if caller.may_see(event.slug)]})


@router.post("/events", status_code=201, openapi_extra=body_described(NewEvent), dependencies=OPERATOR)
async def create_event(request: Request) -> Response:
    """Put a venue's plan on sale: 201 with the event, a draft unless `open` is true."""
    new = await read_body(request, NewEvent)
    said = said_by(request, new.who, new.why, "put on sale")
    event = await in_database(request, partial(_create, new, said))
    await wake_allocator(request, event.slug)
    return answer(event, 201, {"Location": f"/v1/operator/events/{event.slug}"})


@router.get("/events/{event}")
async def show_event(request: Request, event: str) -> Response:
    """How the sale stands; `undecided` is how many requests wait, null when the stream does not answer."""
    overview = await in_database(request, lambda conn: read_overview(conn, event))
    redis_url, cursor = settings_of(request).engines.redis_url, Arrival(overview.progress.arrival)
    behind = await threads_of(request).run(partial(undecided, redis_url, event, cursor))
    return answer({**msgspec.to_builtins(overview), "undecided": behind})


@router.get("/events/{event}/waiting")
async def show_waiting_list(request: Request, event: str) -> Response:
    """Who waits for what, since when, and what became of the offers."""
    return answer(await in_database(request, lambda conn: read_waiting(conn, event)))


@router.post("/events/{event}/lobby", openapi_extra=_STATE_CHANGE, dependencies=OPERATOR)
async def begin_lobby(request: Request, event: str) -> Response:
    """Let buyers join its waiting room, before it opens."""
    return await _change(request, event, EventState.LOBBY, "began its lobby")


@router.post("/events/{event}/open", openapi_extra=_STATE_CHANGE, dependencies=OPERATOR)
async def open_event(request: Request, event: str) -> Response:
    """Start selling."""
    return await _change(request, event, EventState.OPEN, "opened the sale")


@router.post("/events/{event}/pause", openapi_extra=_STATE_CHANGE, dependencies=OPERATOR)
async def pause_event(request: Request, event: str) -> Response:
    """Stop deciding: requests keep their order, running holds get the lost time back."""
    return await _change(request, event, EventState.PAUSED, "paused the sale")


@router.post("/events/{event}/resume", openapi_extra=_STATE_CHANGE, dependencies=OPERATOR)
async def resume_event(request: Request, event: str) -> Response:
    """Go on after a pause."""
    return await _change(
        request, event, EventState.OPEN, "went on after a pause", leaving=(EventState.PAUSED,)
    )


@router.post("/events/{event}/close", openapi_extra=_STATE_CHANGE, dependencies=OPERATOR)
async def close_event(request: Request, event: str) -> Response:
    """Stop selling for good; running holds can still be paid."""
    return await _change(request, event, EventState.CLOSED, "closed the sale")


@router.patch("/events/{event}/policy", openapi_extra=body_described(NewPolicy), dependencies=OPERATOR)
async def set_policy(request: Request, event: str) -> Response:
    """Change how long holds and offers last, whether holds may be extended, seats a buyer, the fast gate, and
    when lobby and sale begin by themselves: 409 `times_fixed` for what has begun."""
    wanted = await read_body(request, NewPolicy)
    said = said_by(request, wanted.who, wanted.why, "changed its terms")
    seen = None if wanted.seen is UNSET else terms_in(wanted.seen) | told(times_in(wanted.seen))
    times = times_in(wanted)
    work = partial(events.set_policy, slug=event, said=said, times=times, seen=seen, **terms_in(wanted))
    changed = await in_database(request, work)
    await wake_allocator(request, event)
    return answer(changed)


async def _change(
    request: Request, event: str, to: EventState, does: str, *, leaving: tuple[EventState, ...] | None = None
) -> Response:
    wanted = await read_any_body(request, StateChange)
    said = said_by(request, wanted.who, wanted.why, does)
    work = partial(events.set_state, slug=event, to=to, leaving=leaving, seen=wanted.seen, said=said)
    changed = await in_database(request, work)
    await wake_allocator(request, event)
    return answer(changed)


def _create(new: NewEvent, said: Said, conn: Conn) -> events.Event:
    with conn.transaction():
        venue_id, plan = events.find_venue(conn, new.venue)
        events.create_event(
            conn,
            new.slug,
            new.name or new.slug,
            venue_id,
            plan,
            opens_at=new.opens_at,
            lobby_opens_at=new.lobby_opens_at,
            said=said,
            **terms_in(new),
        )
        if new.open:
            events.set_state(conn, new.slug, EventState.OPEN, said=said)
    return events.get_event(conn, new.slug)
