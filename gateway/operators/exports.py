"""The operators' HTTP for what they take away of a sale: `…/export/{what}.{csv|json}` and
`…/settlement.csv`, streamed.

What names people is for owners, and leaves a row in the audit. Few run at once, each on a connection of its
own; one whose client reads nothing for `IDLE_SECONDS_MAX` ends in the middle of its file, and makes room.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from functools import partial
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
from store.payments import settlement_csv

log = logging.getLogger("onsale.gateway")

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

    def read(number: int, conn: Conn) -> Iterator[bytes]:
        return export(conn, number, what, kind)

    begin = partial(_begin, request=request, event=event, what=what)
    return await _stream(request, f"{event}-{what}", kind, begin, read)


@router.get("/events/{event}/settlement.csv")
async def take_settlement(request: Request, event: str) -> Response:
    """A line for each payment that money came for and each order without one, as one file; it names nobody.
    503 `exports_busy`."""

    def read(_number: int, conn: Conn) -> Iterator[bytes]:
        return settlement_csv.pieces(conn, event)

    def begin(conn: Conn) -> int:
        return get_event(conn, event).id

    return await _stream(request, f"settlement-{event}", Format.CSV, begin, read)


async def _stream(
    request: Request,
    name: str,
    kind: Format,
    begin: Callable[[Conn], int],
    read: Callable[[int, Conn], Iterator[bytes]],
) -> Response:
    """The file that `read` gives of the event that `begin` finds, once there is room for one more."""
    pieces = _Pieces(request)
    try:
        number = await in_database(request, begin)
        await anyio.to_thread.run_sync(pieces.open, partial(read, number))
    except BaseException:
        pieces.close()
        raise
    headers = {
        "Content-Disposition": f'attachment; filename="{name}.{kind}"',
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
    """A file's pieces, read as they are sent. Made and closed by the event loop alone, so no two take the
    last place; raises `Busy` (exports_busy)."""

    def __init__(self, request: Request) -> None:
        self._state = request.app.state
        self._database_url = settings_of(request).engines.database_url
        self._conn: psycopg.Connection[Any] | None = None
        self._read: Iterator[bytes] = iter(())
        running = getattr(self._state, "exports", 0)
        if running >= EXPORTS_MAX:
            raise Busy("exports_busy", "Other exports are under way. Try again when they are done.")
        self._state.exports = running + 1

    def open(self, read: Callable[[Conn], Iterator[bytes]]) -> None:
        """Raises `Unavailable`."""
        try:
            self._conn = psycopg.connect(
                self._database_url,
                autocommit=True,
                connect_timeout=CONNECT_SECONDS_MAX,
                prepare_threshold=None,
                application_name="onsale export",
                options=f"-c idle_in_transaction_session_timeout={IDLE_SECONDS_MAX}s",
            )
        except psycopg.OperationalError as error:
            raise Unavailable("Postgres does not answer. Try again shortly.") from error
        self._read = read(self._conn)

    def __iter__(self) -> Iterator[bytes]:
        return self._read

    def close(self) -> None:
        """Once: nothing more is read, and the next export may begin."""
        if self._conn is not None:
            self._conn.close()
        self._state.exports -= 1


class _Export(StreamingResponse):
    """A file on its way. Whatever ends it, its connection is closed."""

    def __init__(self, pieces: _Pieces, headers: dict[str, str], media_type: str) -> None:
        super().__init__(iterate_in_threadpool(pieces), 200, headers, media_type)
        self._pieces = pieces

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_in_time(message: Any) -> None:
            async with asyncio.timeout(IDLE_SECONDS_MAX):
                await send(message)

        try:
            await super().__call__(scope, receive, send_in_time)
        except TimeoutError:  # an answer without its end: the server closes the connection
            log.warning("an export ended in its middle: nothing was read for %s s", IDLE_SECONDS_MAX)
        finally:
            self._pieces.close()
