"""Whether this gateway lives, and whether it can serve."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from redis.exceptions import RedisError
from starlette.responses import Response

from gateway.buyers.recall import DATABASE_AWAY
from gateway.metrics import CONTENT_TYPE
from gateway.runtime import Runtime

CHECK_SECONDS_MAX = 2.0

router = APIRouter(tags=["operators"])


@router.get("/health/live")
async def live() -> dict[str, str]:
    """The process answers."""
    return {"state": "live"}


@router.get("/health/ready", responses={503: {"description": "An engine is away, or the gateway stops."}})
async def ready(request: Request) -> Response:
    """Both engines answer and the gateway is not stopping; says which does not."""
    runtime: Runtime = request.app.state.runtime
    database, stream = await asyncio.gather(_database(runtime), _stream(runtime))
    ok = database and stream and not runtime.stopping
    checks = {"database": database, "stream": stream, "stopping": runtime.stopping}
    body = msgspec.json.encode({"state": "ready" if ok else "not_ready", **checks})
    return Response(body, 200 if ok else 503, media_type="application/json")


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """For Prometheus."""
    runtime: Runtime = request.app.state.runtime
    database, stream = await asyncio.gather(_database(runtime), _stream(runtime))
    told = runtime.metrics.text({"database": database, "stream": stream})
    return Response(told, media_type=CONTENT_TYPE)


async def _database(runtime: Runtime) -> bool:
    try:
        async with asyncio.timeout(CHECK_SECONDS_MAX), runtime.pool.connection() as connection:
            await connection.execute("SELECT 1")
    except (TimeoutError, *DATABASE_AWAY):
        return False
    return True


async def _stream(runtime: Runtime) -> bool:
    answer: Any
    try:
        async with asyncio.timeout(CHECK_SECONDS_MAX):
            answer = await runtime.redis.execute_command("PING")  # type: ignore[no-untyped-call]
    except (TimeoutError, RedisError, OSError):
        return False
    return bool(answer)
