"""The calls about draws and about operators' waiting rooms, for the published description."""

from __future__ import annotations

from gateway.calls import Call
from gateway.operators.rooms import CodesRevoked, RoomCodes
from gateway.room.draws import DrawnPlace, ShownDraw
from store.room.standing import ShownRoom, Standing

_CHANGED = Call({200: ("The room as it is now.", ShownRoom)}, (400, 404, 409, 413, 503), "operator")
_ROOM = "/v1/operator/events/{event}/room"

CALLS: dict[tuple[str, str], Call] = {
    ("get", "/v1/events/{event}/draw"): Call(
        {200: ("What is promised, or what came of it.", ShownDraw), 304: ("You have it.", None)},
        (400, 404, 503),
    ),
    ("get", "/v1/events/{event}/draw/places.csv"): Call(
        {200: ("Every place of the draw.", None), 304: ("You have it.", None)}, (400, 404, 503)
    ),
    ("get", "/v1/events/{event}/draw/places/{place}"): Call(
        {200: ("Where it stood.", DrawnPlace)}, (400, 404, 503)
    ),
    ("get", _ROOM): Call({200: ("How it stands.", Standing)}, (404, 503), "operator"),
    ("post", _ROOM): Call(
        {201: ("The room, with what its draw promises.", ShownRoom)},
        (400, 404, 409, 413, 503),
        "operator",
        located=True,
    ),
    ("patch", _ROOM): _CHANGED,
    **{("put", f"{_ROOM}/{word}"): _CHANGED for word in ("message", "look")},
    **{("post", f"{_ROOM}/{word}"): _CHANGED for word in ("pause", "resume", "stop")},
    ("post", f"{_ROOM}/codes"): Call(
        {201: ("The codes, told this once.", RoomCodes)}, (400, 404, 413, 503), "operator"
    ),
    ("post", f"{_ROOM}/codes/revoke"): Call(
        {200: ("They let nobody in any more.", CodesRevoked)}, (400, 404, 409, 413, 503), "operator"
    ),
}
