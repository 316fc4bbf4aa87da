"""What routes by FastAPI share: parts of a path, the buyer's token, an answer in JSON; routers together."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Header, Path
from starlette.responses import Response

Slug = Annotated[str, Path(pattern=r"^[a-z0-9-]{1,64}$")]
HoldPath = Annotated[str, Path(pattern=r"^[1-9][0-9]{0,18}$")]
Authorization = Annotated[str, Header(description="Bearer and the buyer's token")]


def json_response(body: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """`body` as JSON."""
    return Response(msgspec.json.encode(body), status, headers, media_type="application/json")


def together(*routers: APIRouter) -> APIRouter:
    """One router with the routes of all, as they were made.

    `include_router` would make each of them a second time, for each app at its first request (a tenth of a
    second), and then look at a path once for every router that it is in.
    """
    return APIRouter(routes=[route for router in routers for route in router.routes])
