"""What calls about the fleet answer, for the published description."""

from __future__ import annotations

from gateway.calls import Call
from gateway.operators.fleet import FleetLog, HostWish, ScaledEvent
from store.fleet.edit import Moved
from store.fleet.read import Fleet

_CHANGE = (400, 404, 409, 413, 503)
CALLS: dict[tuple[str, str], Call] = {
    ("get", "/v1/operator/fleet"): Call({200: ("How it stands.", Fleet)}, (503,), "operator"),
    ("get", "/v1/operator/fleet/log"): Call({200: ("Newest first.", FleetLog)}, (400, 404, 503), "operator"),
    ("put", "/v1/operator/events/{event}/fleet"): Call(
        {200: ("What it is to have now.", ScaledEvent)}, _CHANGE, "operator"
    ),
    ("post", "/v1/operator/events/{event}/fleet/move"): Call(
        {200: ("Where it goes.", Moved)}, _CHANGE, "operator"
    ),
    **{
        ("post", f"/v1/operator/fleet/hosts/{{host}}/{word}"): Call(
            {200: ("What is wanted of it now.", HostWish)}, _CHANGE, "operator"
        )
        for word in ("drain", "keep")
    },
}
