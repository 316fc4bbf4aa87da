"""Operators: make events, open, pause, resume and close them, change their seats, see how they stand."""

from fastapi import APIRouter

from gateway.operators import routes, seats

router = APIRouter()
router.include_router(routes.router)
router.include_router(seats.router)

__all__ = ["router"]
