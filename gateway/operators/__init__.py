"""Operators: make events and tours, open, pause, resume and close events, change their seats and waiting
rooms, see how they stand, say who is told; see how chores and the fleet do; who they are, and who did what.
"""

from gateway.operators import (
    audits,
    beside,
    buyers,
    chores,
    exports,
    fleet,
    keys,
    launches,
    launching,
    money,
    refused,
    rehearsals,
    rooms,
    routes,
    sales,
    seats,
    session,
    tours,
    venues,
    webhooks,
)
from gateway.routing import together

router = together(
    session.router,
    keys.router,
    audits.router,
    routes.router,
    seats.router,
    sales.router,
    rooms.router,
    tours.router,
    buyers.router,
    chores.router,
    launches.router,
    launching.router,
    exports.router,
    beside.router,
    fleet.router,
    money.router,
    refused.router,
    webhooks.router,
    venues.router,
    rehearsals.router,
)

__all__ = ["router"]
