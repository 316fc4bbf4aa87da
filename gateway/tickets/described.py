"""The calls about orders and tickets, for the published description."""

from __future__ import annotations

from gateway.calls import Call
from gateway.tickets.shown import (
    ClaimedTicket,
    DoorAnswer,
    Export,
    Keys,
    Offered,
    ShownOrder,
    ShownOrders,
    ShownTickets,
)

_OFFER = Call({200: ("The offer as it is now.", Offered)}, (400, 401, 404, 409, 503), "buyer")

CALLS: dict[tuple[str, str], Call] = {
    ("get", "/v1/events/{event}/orders"): Call(
        {200: ("Newest first.", ShownOrders)}, (400, 401, 404, 503), "buyer"
    ),
    ("get", "/v1/events/{event}/orders/{order}/tickets"): Call(
        {200: ("What of it is yours.", ShownTickets)}, (400, 401, 404, 503), "buyer"
    ),
    ("post", "/v1/events/{event}/orders/{order}/return"): Call(
        {200: ("What is left of it.", ShownOrder)}, (400, 401, 404, 409, 413, 503), "buyer"
    ),
    ("post", "/v1/events/{event}/orders/{order}/tickets/{ticket}/transfer"): _OFFER,
    ("post", "/v1/events/{event}/orders/{order}/tickets/{ticket}/withdraw"): _OFFER,
    ("post", "/v1/tickets/claim"): Call(
        {200: ("It is yours.", ClaimedTicket)}, (400, 401, 404, 409, 413, 503), "buyer"
    ),
    ("get", "/v1/tickets/keys"): Call({200: ("The first signs.", Keys)}, (404,)),
    ("post", "/v1/operator/events/{event}/tickets/check"): Call(
        {200: ("What to do is in `result`.", DoorAnswer)}, (400, 404, 413, 503), "operator"
    ),
    ("get", "/v1/operator/events/{event}/tickets/export"): Call(
        {200: ("Keys, and a page of what is revoked.", Export)}, (400, 404, 503), "operator"
    ),
}
