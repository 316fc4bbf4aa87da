"""Operators: make events, open, pause, resume and close them, change their seats, see how they stand."""

from fastapi import APIRouter

from gateway.operators import routes, sales, seats

router = APIRouter()
router.include_router(routes.router)
router.include_router(seats.router)
router.include_router(sales.router)

__all__ = ["router"]
