"""What operators' calls share: the key, the size of a body, how much runs at once, the form of answers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import msgspec
import psycopg
from fastapi import Request, Response
from msgspec import Struct

from gateway.idempotency import KEPT_HEADERS, taken_in
from gateway.operator_key import has_operator_key
from gateway.problems import Busy, TooLarge, Unauthorized
from gateway.settings import Settings
from store import idempotency
from store.blocks import Released
from store.database import ENDS_IDLE
from store.errors import BadRequest, Unavailable
from store.sales import Order
from store.stream.wake import tell_holder, wake

BODY_BYTES_MAX = 16 * 1024
RUNNING_MAX = 4
WAITING_MAX = 16
CONNECT_SECONDS_MAX = 5

T = TypeVar("T")


def settings_of(request: Request) -> Settings:
    """The gateway's settings."""
    settings: Settings = request.app.state.runtime.settings
    return settings


async def require_operator(request: Request) -> None:
    """Let only who has the operator key pass; raises `Unauthorized`. Compared in constant time."""
    settings = settings_of(request)
    if not settings.operator_key:
        raise Unauthorized(
            "operator_key", "The operator API is off. Start the gateway with ONSALE_OPERATOR_KEY to use it."
        )
    if not has_operator_key(settings, request.headers.get("authorization", "")):
        raise Unauthorized("operator_key", "Send the operator key as: Authorization: Bearer <key>.")


require_viewer = require_owner = require_operator
"""Who may look, and who may change keys, people's data and the fleet."""


async def read_body(request: Request, kind: type[T], bytes_max: int = BODY_BYTES_MAX) -> T:
    """The JSON body as a `kind`; raises `TooLarge`, and `BadRequest` naming the field that is wrong."""
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > bytes_max:
            raise TooLarge("too_large", f"The body may have at most {bytes_max} bytes.")
    try:
        return msgspec.json.decode(bytes(raw), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest("invalid_body", f"The body cannot be read: {error}.") from None


def body_described(kind: type[Struct]) -> dict[str, Any]:
    """For the API pages: the body is read below FastAPI, so that it has a bound."""
    schema = msgspec.json.schema(kind, ref_template="#/components/schemas/{name}")["$defs"][kind.__name__]
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def answer(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """`value` as JSON that nobody keeps."""
    return Response(
        msgspec.json.encode(value),
        status,
        {"Cache-Control": "no-store", **(headers or {})},
        media_type="application/json",
    )


def done_once(
    request: Request,
    conn: psycopg.Connection[Any],
    work: Callable[[], T],
    reply: Callable[[T], Response] = answer,
) -> T:
    """What `work` gives; in one transaction with it, that `reply` to it is the call's answer under its key.

    For what is not idempotent by nature: where there is no answer, nothing was changed. Whether a key must
    be there is `gateway.idempotency`'s matter.
    """
    taken = taken_in(request)
    if taken is None:
        return work()
    with conn.transaction():
        done = work()
        like = reply(done)
        head = [(name, value) for name, value in like.headers.items() if name.encode() in KEPT_HEADERS]
        idempotency.keep_with(conn, taken, idempotency.Answer(like.status_code, head, bytes(like.body)))
    taken.kept = True
    return done


class Threads:
    """Runs blocking calls, `RUNNING_MAX` at once with `WAITING_MAX` behind them; of each kind one a gateway.

    `code` and `message` are what is said when too many wait.
    """

    def __init__(
        self,
        code: str = "operators_busy",
        message: str = "Too many operator calls are under way. Try again in a moment.",
    ) -> None:
        self._busy = code, message
        self._limiter = anyio.CapacityLimiter(RUNNING_MAX)
        self._under_way = 0

    async def run(self, work: Callable[[], T]) -> T:
        """The result of `work` in a thread; raises `Busy` when too many wait already."""
        if self._under_way >= RUNNING_MAX + WAITING_MAX:
            raise Busy(*self._busy)
        self._under_way += 1
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
        finally:
            self._under_way -= 1


def threads_of(request: Request) -> Threads:
    """The gateway's threads for operators, made at the first call."""
    state = request.app.state
    if not hasattr(state, "operators_threads"):
        state.operators_threads = Threads()
    threads: Threads = state.operators_threads
    return threads


async def in_database(request: Request, work: Callable[[psycopg.Connection[Any]], T]) -> T:
    """Run `work` in a thread on a connection of its own.

    Operators act rarely and their transactions lock: a short-lived connection each keeps them out of
    the pool that buyers wait for.
    """
    database_url = settings_of(request).engines.database_url

    def run() -> T:
        try:
            with psycopg.connect(
                database_url,
                autocommit=True,
                connect_timeout=CONNECT_SECONDS_MAX,
                prepare_threshold=None,
                application_name="onsale operator",
                options=ENDS_IDLE,
            ) as conn:
                return work(conn)
        except psycopg.OperationalError as error:
            raise Unavailable(
                "Postgres does not answer; nothing is known to have changed. Look, then try again."
            ) from error

    return await threads_of(request).run(run)


async def wake_allocator(request: Request, event: str) -> None:
    """Poke the event's stream after a change, best effort: the allocator looks each second anyway."""
    redis_url = settings_of(request).engines.redis_url
    with contextlib.suppress(Busy):
        await threads_of(request).run(partial(wake, redis_url, event))


async def tell_buyer(request: Request, event: str, hold: Order | Released) -> None:
    """Tell the buyer's sockets what became of a hold or an order, best effort."""
    redis_url = settings_of(request).engines.redis_url
    with contextlib.suppress(Busy):
        await threads_of(request).run(partial(tell_holder, redis_url, event, hold))
