"""Operators: make events and tours, open, pause, resume and close events, change their seats and waiting
rooms, see how they stand, say who is told; see how chores and the fleet do; who they are, and who did what.
"""

from fastapi import APIRouter

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

router = APIRouter()
router.include_router(session.router)
router.include_router(keys.router)
router.include_router(audits.router)
router.include_router(routes.router)
router.include_router(seats.router)
router.include_router(sales.router)
router.include_router(rooms.router)
router.include_router(tours.router)
router.include_router(buyers.router)
router.include_router(chores.router)
router.include_router(launches.router)
router.include_router(launching.router)
router.include_router(exports.router)
router.include_router(beside.router)
router.include_router(fleet.router)
router.include_router(money.router)
router.include_router(refused.router)
router.include_router(webhooks.router)
router.include_router(venues.router)
router.include_router(rehearsals.router)

__all__ = ["router"]
