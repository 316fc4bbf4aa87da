"""The operators' HTTP for what they take away of a sale: `…/export/{what}.{csv|json}`, streamed.

What names people is for owners, and leaves a row in the audit. Few run at once, each on a connection of its
own; one whose client reads nothing for `IDLE_SECONDS_MAX` loses it, and ends in the middle of its file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import anyio.to_thread
import psycopg
from fastapi import APIRouter, Depends, Request, Response
from starlette.concurrency import iterate_in_threadpool
from starlette.responses import StreamingResponse

from gateway.operators.access import caller_of, in_database, require_viewer, said_by, settings_of
from gateway.operators.seats import Conn
from gateway.problems import Busy, Forbidden
from gateway.routing import Slug
from store import audit
from store.console.export import PERSONAL, Format, What, export
from store.errors import Unavailable
from store.events import get_event
from store.operators.words import Role

EXPORTS_MAX: Final = 3
"""Of one gateway at a time."""
IDLE_SECONDS_MAX: Final = 60
CONNECT_SECONDS_MAX: Final = 5
MEDIA: Final = {Format.CSV: "text/csv; charset=utf-8", Format.JSON: "application/json"}

router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_viewer)])


@router.get("/events/{event}/export/{what}.{kind}")
async def take_away(request: Request, event: Slug, what: What, kind: Format) -> Response:
    """A whole sale's orders, decisions, buyers, seats or seats' history as one file. 403 `role_required` for
    orders and buyers, which name people, unless by an owner; 503 `exports_busy`."""
    caller = caller_of(request)
    if what in PERSONAL and not caller.role.includes(Role.OWNER):
        raise Forbidden("role_required", f"{what} name people: this is for owners. Ask one of them.")
    number = await in_database(request, lambda conn: _begin(conn, request, event, what))
    pieces = _Pieces(request, number, what, kind)
    await anyio.to_thread.run_sync(pieces.open)
    headers = {
        "Content-Disposition": f'attachment; filename="{event}-{what}.{kind}"',
        "Cache-Control": "no-store",
    }
    return _Export(pieces, headers, MEDIA[kind])


def _begin(conn: Conn, request: Request, event: str, what: What) -> int:
    number = get_event(conn, event).id
    if what in PERSONAL:
        said = said_by(request, does=f"exported {what}")
        audit.write(conn, number, said, {"change": "export", "what": what.value})
    return number


class _Pieces:
    """A file's pieces, read as they are sent."""

    def __init__(self, request: Request, event_id: int, what: What, kind: Format) -> None:
        self._state = request.app.state
        self._database_url = settings_of(request).engines.database_url
        self._asked = event_id, what, kind
        self._open: tuple[psycopg.Connection[Any], Iterator[bytes]] | None = None

    def open(self) -> None:
        """Raises `Busy` (exports_busy) and `Unavailable`."""
        running = getattr(self._state, "exports", 0)
        if running >= EXPORTS_MAX:
            raise Busy("exports_busy", "Other exports are under way. Try again when they are done.")
        try:
            conn: psycopg.Connection[Any] = psycopg.connect(
                self._database_url,
                autocommit=True,
                connect_timeout=CONNECT_SECONDS_MAX,
                prepare_threshold=None,
                application_name="onsale export",
                options=f"-c idle_in_transaction_session_timeout={IDLE_SECONDS_MAX}s",
            )
        except psycopg.OperationalError as error:
            raise Unavailable("Postgres does not answer. Try again shortly.") from error
        self._state.exports = running + 1
        self._open = conn, export(conn, *self._asked)

    def __iter__(self) -> Iterator[bytes]:
        assert self._open is not None, "it is opened before it is read"
        return self._open[1]

    def close(self) -> None:
        """Nothing more is read; the next export may begin."""
        if self._open is not None:
            self._open[0].close()
            self._open = None
            self._state.exports -= 1


class _Export(StreamingResponse):
    """A file on its way. Whatever ends it, its connection is closed."""

    def __init__(self, pieces: _Pieces, headers: dict[str, str], media_type: str) -> None:
        super().__init__(iterate_in_threadpool(pieces), 200, headers, media_type)
        self._pieces = pieces

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._pieces.close()
