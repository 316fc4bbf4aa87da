"""What calls for plans, launches and rehearsals answer, for `gateway.openapi`."""

from __future__ import annotations

from typing import Final

from gateway.calls import Call
from gateway.operators.rehearsals import Rehearsals
from gateway.operators.venues import KeptVenue, ListedVenues, Previewed, ShownVenue
from store.launches.words import Launched
from store.rehearsals.words import Rehearsal

CALLS: Final[dict[tuple[str, str], Call]] = {
    ("get", "/v1/operator/venues"): Call({200: ("Newest first.", ListedVenues)}, (503,), "operator"),
    ("post", "/v1/operator/venues"): Call(
        {201: ("It is kept.", KeptVenue)}, (400, 409, 413, 503), "operator", located=True
    ),
    ("post", "/v1/operator/venues/preview"): Call(
        {200: ("What is in it; nothing was kept.", Previewed)}, (400, 413, 503), "operator"
    ),
    ("post", "/v1/operator/venues/make"): Call(
        {201: ("It is kept.", KeptVenue)}, (400, 409, 413, 503), "operator", located=True
    ),
    ("post", "/v1/operator/venues/make/preview"): Call(
        {200: ("What would be made; nothing was kept.", Previewed)}, (400, 413, 503), "operator"
    ),
    ("get", "/v1/operator/venues/{slug}"): Call(
        {200: ("Its plan, and what it holds.", ShownVenue)}, (404, 503), "operator"
    ),
    ("post", "/v1/operator/events/{event}/rehearsals"): Call(
        {202: ("It is run soon; ask for it at `Location`.", Rehearsal)},
        (400, 404, 409, 413, 503),
        "operator",
        located=True,
    ),
    ("get", "/v1/operator/events/{event}/rehearsals"): Call(
        {200: ("Newest first.", Rehearsals)}, (404, 503), "operator"
    ),
    ("get", "/v1/operator/events/{event}/rehearsals/{rehearsal}"): Call(
        {200: ("How far it is, or what came of it.", Rehearsal)}, (400, 404, 503), "operator"
    ),
    ("post", "/v1/operator/launches"): Call(
        {201: ("All of it is made.", Launched)}, (400, 404, 409, 413, 503), "operator", located=True
    ),
}
