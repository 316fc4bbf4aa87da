"""What operators' calls share: who may call, the size of a body, how much runs at once, the form of
answers.

Each call asks for a role by one of `require_viewer`, `require_operator` and `require_owner`. A key that is
limited to events is answered 404 where a path names another one, as if there were none of that name: that a
sale is being made may be a secret. What names no event is refused to it (403 `key_limited`), but for what
shows it only its own (`of_its_events`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import msgspec
import psycopg
from fastapi import Depends, Request, Response
from msgspec import Struct
from starlette.requests import HTTPConnection

from gateway.callers import CALLER, Caller, Callers
from gateway.idempotency import KEPT_HEADERS, taken_in
from gateway.problems import Busy, Forbidden, TooLarge
from gateway.settings import Settings
from store import audit, idempotency
from store.audit import Said
from store.blocks import Released
from store.database import ENDS_IDLE
from store.errors import BadRequest, NotFound, Unavailable
from store.operators.words import Role
from store.sales import Order
from store.stream.wake import tell_holder, wake

BODY_BYTES_MAX = 16 * 1024
RUNNING_MAX = 4
WAITING_MAX = 16
CONNECT_SECONDS_MAX = 5

T = TypeVar("T")
Called = TypeVar("Called", bound=Callable[..., Any])

_WHO = {Role.VIEWER: "viewers", Role.OPERATOR: "operators and owners", Role.OWNER: "owners"}
_ONE = {Role.VIEWER: "a viewer", Role.OPERATOR: "an operator", Role.OWNER: "an owner"}


def settings_of(request: Request) -> Settings:
    """The gateway's settings."""
    settings: Settings = request.app.state.runtime.settings
    return settings


async def identify(request: HTTPConnection) -> Caller:
    """Who calls, by a key or the console's cookie; raises as `Callers.identify`."""
    callers: Callers = request.app.state.runtime.callers
    return await callers.identify(request)


async def require_viewer(request: Request) -> None:
    """Let only those pass who may look at what the call is about."""
    await _require(request, Role.VIEWER)


async def require_operator(request: Request) -> None:
    """Let only those pass who may change a sale and the fleet, and this one."""
    await _require(request, Role.OPERATOR)


async def require_owner(request: Request) -> None:
    """Let only those pass who may change keys and webhooks, call an event off, and have people's data."""
    await _require(request, Role.OWNER)


OPERATOR: list[Any] = [Depends(require_operator)]
OWNER: list[Any] = [Depends(require_owner)]
"""Of one route, beside what its router asks for."""


def caller_of(request: HTTPConnection) -> Caller:
    """Who acts, once one of `require_…` let them pass."""
    caller = request.scope.get(CALLER)
    assert isinstance(caller, Caller), "a call of operators' asks for a role first"
    return caller


def of_its_events(endpoint: Called) -> Called:
    """Marks a call that names no event and tells a key that is limited to some only of those.

    What is not marked and names no event is refused to such a key.
    """
    endpoint.of_its_events = True  # type: ignore[attr-defined]  # read where the role is asked for
    return endpoint


def must_see(caller: Caller, event: str) -> None:
    """Raises `NotFound` (unknown_event) for what the key is not for, as for an event that is not there: that
    there is a sale may be a secret."""
    if not caller.may_see(event):
        raise NotFound("unknown_event", f"There is no event {event!r}. List them to see which there are.")


async def _require(request: Request, role: Role) -> None:
    caller = await identify(request)
    if not caller.role.includes(role):
        story = f"This is for {_WHO[role]}; {caller.name!r} is {_ONE[caller.role]}."
        raise Forbidden("role_required", f"{story} Ask an owner for another key.")
    if caller.events is None:
        return
    event = request.path_params.get("event")
    if event is not None:
        must_see(caller, event)
    elif not getattr(request.scope["endpoint"], "of_its_events", False):
        story = f"The key {caller.name!r} is limited to {len(caller.events)} events, and this is about more."
        raise Forbidden("key_limited", f"{story} Ask who has a key for all.")


def said_by(request: HTTPConnection, who: str = "", why: str = "", does: str = "") -> Said:
    """Who acts and why, for the audit: the caller, and behind it who they say they are.

    `does` is what is written for those who say no reason; without it they must. Raises `BadRequest`.
    """
    return audit.by(caller_of(request).name, who, why, does)


async def read_body(request: Request, kind: type[T], bytes_max: int = BODY_BYTES_MAX) -> T:
    """The JSON body as a `kind`; raises `TooLarge`, and `BadRequest` naming the field that is wrong."""
    return _decoded(await _body(request, bytes_max), kind)


async def read_any_body(request: Request, kind: type[T], bytes_max: int = BODY_BYTES_MAX) -> T:
    """The same where there may be none: then all is as `kind` has it by itself."""
    return _decoded(await _body(request, bytes_max) or b"{}", kind)


async def _body(request: Request, bytes_max: int) -> bytes:
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > bytes_max:
            raise TooLarge("too_large", f"The body may have at most {bytes_max} bytes.")
    return bytes(raw)


def _decoded(raw: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest("invalid_body", f"The body cannot be read: {error}.") from None


def body_described(kind: type[Struct], *, required: bool = True) -> dict[str, Any]:
    """For the API pages: the body is read below FastAPI, so that it has a bound."""
    schema = msgspec.json.schema(kind, ref_template="#/components/schemas/{name}")["$defs"][kind.__name__]
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}


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
