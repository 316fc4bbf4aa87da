"""The calls about tickets, put together."""

from fastapi import APIRouter

from gateway.tickets import changes, doors, orders

router = APIRouter()
router.include_router(orders.router)
router.include_router(changes.router)
router.include_router(doors.router)

__all__ = ["router"]
