"""The draw in public: what is promised before it, the seed after it, the list that anybody checks.

`GET …/draw`, `…/draw/places.csv`, `…/draw/places/{place}`. What is drawn never changes, so it may be kept by
whoever stands between. Until then the row is read at most once a second, however many ask.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Header, Request
from fastapi import Path as PathParameter
from msgspec import Struct
from starlette.responses import Response

from gateway.buyers.recall import DATABASE_AWAY
from gateway.events import EventRuntime
from gateway.problems import Busy
from gateway.routing import Slug, json_response
from gateway.runtime import Runtime
from store.errors import NotFound, Unavailable
from store.lookups import Pool
from store.room import listing
from store.room.listing import START, DrawNow, Piece
from store.room.published import Head, Stands, head_lines
from store.room.words import Lane, RoomPolicy

log = logging.getLogger("onsale.gateway")

KEPT_MAX: Final = 1_000
FRESH_SECONDS: Final = 1.0
DRAWN_SECONDS: Final = 3_600
"""How long others may keep what does not change."""
DOWNLOADS_MAX: Final = 32
"""Lists on their way at one gateway."""
SEND_SECONDS_MAX: Final = 30.0
"""How long a reader may take for one piece."""
AWAY: Final = "The database is away. Try again shortly."

PlacePath = Annotated[
    str, PathParameter(pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
]

router = APIRouter(prefix="/v1", tags=["buyers"])


class ShownDraw(Struct, frozen=True):
    """What is promised, and once it is drawn the seed and the list; times in milliseconds."""

    event: str
    policy: RoomPolicy
    seed_sha256: str
    seed: str | None
    lobby_ended_at: int | None
    drawn: int | None
    drawn_at: int | None
    places: str | None
    """Where the list is."""


class DrawnPlace(Struct, frozen=True):
    """Where a place of the draw stood."""

    place: str
    lane: Lane
    position: int


class Draws:
    """The draws of one gateway's events, as they were read last."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._kept: dict[int, tuple[float, DrawNow | None]] = {}
        self._reading = asyncio.Lock()
        self._downloads = 0

    async def now(self, event: EventRuntime) -> DrawNow:
        """Raises `NotFound` (no_room), `Unavailable`."""
        found = self._fresh(event.row.id)
        if found is None:
            async with self._reading:
                found = self._fresh(event.row.id) or await self._read(event.row.id)
        if found[1] is None:
            raise NotFound("no_room", "This event has no waiting room, so nothing is drawn.")
        return found[1]

    async def find(self, event: EventRuntime, place: UUID) -> Stands | None:
        """Where a place of the draw stands. Raises `Unavailable`."""
        try:
            async with self._pool.connection() as connection:
                return await listing.find(connection, event.row.id, place)
        except DATABASE_AWAY as error:
            raise Unavailable(AWAY) from error

    async def piece(self, event_id: int, after: Piece) -> Piece | None:
        """The next lines of a list. Raises `Unavailable`."""
        try:
            async with self._pool.connection() as connection:
                return await listing.piece(connection, event_id, after)
        except DATABASE_AWAY as error:
            raise Unavailable(AWAY) from error

    def begin_download(self) -> None:
        """Raises `Busy` (downloads_full)."""
        if self._downloads >= DOWNLOADS_MAX:
            story = "Many download the list just now. Try again in a moment."
            raise Busy("downloads_full", story, retry_after_seconds=5)
        self._downloads += 1

    def end_download(self) -> None:
        self._downloads -= 1

    def _fresh(self, event_id: int) -> tuple[float, DrawNow | None] | None:
        kept = self._kept.get(event_id)
        if kept is None:
            return None
        drawn = kept[1] is not None and kept[1].seed is not None
        return kept if drawn or time.monotonic() - kept[0] < FRESH_SECONDS else None

    async def _read(self, event_id: int) -> tuple[float, DrawNow | None]:
        try:
            async with self._pool.connection() as connection:
                read = time.monotonic(), await listing.now(connection, event_id)
        except DATABASE_AWAY as error:
            raise Unavailable(AWAY) from error
        if len(self._kept) >= KEPT_MAX:
            self._kept.clear()
        self._kept[event_id] = read
        return read


class PlacesResponse(Response):
    """The list, piece by piece; a reader that is too slow for one, or who left, gets no more."""

    media_type = "text/csv; charset=utf-8"

    def __init__(self, draws: Draws, event: EventRuntime, head: Head, headers: dict[str, str]) -> None:
        super().__init__(headers=headers)
        del self.headers["content-length"]
        self._draws = draws
        self._event_id = event.row.id
        self._head = head

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._draws.begin_download()
        gone = asyncio.create_task(_gone(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await _send(send, head_lines(self._head))
            piece: Piece | None = START
            while not gone.done() and (piece := await self._draws.piece(self._event_id, piece or START)):
                await _send(send, piece.text)
            await send({"type": "http.response.body", "body": b""})
        except (Unavailable, TimeoutError) as error:  # it ends without its end, so nobody takes it for whole
            log.warning("a list of the draw of %s was broken off: %r", self._head.event, error)
        finally:
            gone.cancel()
            self._draws.end_download()


async def _send(send: Any, text: str) -> None:
    async with asyncio.timeout(SEND_SECONDS_MAX):
        await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def draws_of(request: Request) -> Draws:
    """The gateway's, made at the first call."""
    state = request.app.state
    if not hasattr(state, "draws"):
        state.draws = Draws(state.runtime.pool)
    draws: Draws = state.draws
    return draws


def shown(draw: DrawNow, slug: str) -> ShownDraw:
    """A draw as it is told."""
    return ShownDraw(
        event=slug,
        policy=draw.policy,
        seed_sha256=draw.seed_sha256.hex(),
        seed=None if draw.seed is None else draw.seed.hex(),
        lobby_ended_at=_ms(draw.lobby_ended_at),
        drawn=draw.drawn,
        drawn_at=_ms(draw.drawn_at),
        places=None if draw.seed is None else f"/v1/events/{slug}/draw/places.csv",
    )


@router.get("/events/{event}/draw")
async def show_draw(
    request: Request, event: Slug, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """Before the draw the SHA-256 of its seed; after it the seed, and where the list is."""
    draw = await draws_of(request).now(await _event(request, event))
    etag = f'"{_stage(draw)}-{draw.seed_sha256.hex()[:32]}"'
    headers = _kept(draw) | {"ETag": etag}
    if if_none_match == etag:
        return Response(status_code=304, headers=headers)
    return json_response(shown(draw, event), headers=headers)


@router.get("/events/{event}/draw/places.csv")
async def download_places(
    request: Request, event: Slug, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """Every place of the draw, by lane and position. 404 `not_drawn` until it is drawn."""
    runtime, draws = await _event(request, event), draws_of(request)
    draw = await draws.now(runtime)
    head = draw.head(event)
    if head is None:
        raise NotFound("not_drawn", "Nothing is drawn yet. The list is here once it is.")
    etag = f'"places-{draw.seed_sha256.hex()[:32]}"'
    headers = _kept(draw) | {"ETag": etag}
    if if_none_match == etag:
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="draw-{event}.csv"'
    return PlacesResponse(draws, runtime, head, headers)


@router.get("/events/{event}/draw/places/{place}")
async def show_drawn_place(request: Request, event: Slug, place: PlacePath) -> Response:
    """Where a place of the draw stood. 404 `not_in_draw`: it was not in it, or nothing is drawn yet."""
    runtime, draws = await _event(request, event), draws_of(request)
    draw = await draws.now(runtime)
    stands = None if draw.seed is None else await draws.find(runtime, UUID(place))
    if stands is None:
        story = (
            "This place is not in the draw: it was given up before, it was made when the sale had begun, or"
        )
        story += " nothing is drawn yet."
        raise NotFound("not_in_draw", story)
    return json_response(DrawnPlace(place, stands.lane, stands.position), headers=_kept(draw))


async def _event(request: Request, slug: str) -> EventRuntime:
    runtime: Runtime = request.app.state.runtime
    return await runtime.events.get(slug)


def _kept(draw: DrawNow) -> dict[str, str]:
    seconds = int(FRESH_SECONDS) if draw.seed is None else DRAWN_SECONDS
    return {"Cache-Control": f"public, max-age={seconds}"}


def _stage(draw: DrawNow) -> str:
    if draw.seed is not None:
        return "drawn"
    return "promised" if draw.lobby_ended_at is None else "drawing"


def _ms(moment: int | None) -> int | None:
    return None if moment is None else moment // 1000
