"""What calls of a waiting room answer, for the published description."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from gateway.calls import Call
from gateway.room.document import ShownPlace, Status
from gateway.room.routes import Resumed


class Wished(Struct):
    """What a place's buyer wishes for in the ballot, as `PUT` took it, and since when (ms)."""

    want: dict[str, Any] | None
    filed_at: int | None


_ROOM = "/v1/events/{event}/room"
_MINE = (400, 401, 404, 503)
CALLS: dict[tuple[str, str], Call] = {
    ("get", _ROOM): Call(
        {200: ("The status document, with an `ETag`.", Status), 304: ("You have it.", None)}, (404, 503)
    ),
    ("post", f"{_ROOM}/join"): Call(
        {200: ("The place, on disk.", ShownPlace)}, (400, 401, 404, 409, 413, 429, 503), "buyer"
    ),
    ("get", f"{_ROOM}/place"): Call({200: ("The place.", ShownPlace)}, _MINE, "buyer"),
    ("post", f"{_ROOM}/begin"): Call({200: ("The place, begun.", ShownPlace)}, (*_MINE, 403), "buyer"),
    ("post", f"{_ROOM}/more-time"): Call(
        {200: ("The place, with more time; or as it is.", ShownPlace)}, (*_MINE, 403, 409, 413), "buyer"
    ),
    ("post", f"{_ROOM}/leave"): Call({200: ("The place that was given up.", ShownPlace)}, _MINE, "buyer"),
    ("get", f"{_ROOM}/wish"): Call({200: ("What is filed.", Wished)}, _MINE, "buyer"),
    ("put", f"{_ROOM}/wish"): Call({200: ("What is filed now.", Wished)}, (*_MINE, 409, 413), "buyer"),
    ("get", f"{_ROOM}/stream"): Call({200: ("Server-sent events.", None)}, _MINE, "buyer"),
    ("post", f"{_ROOM}/resume"): Call({200: ("Who the buyer is.", Resumed)}, (*_MINE, 413), "buyer"),
}
