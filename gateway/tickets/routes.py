"""The calls about tickets, put together."""

from gateway.routing import together
from gateway.tickets import changes, doors, orders

router = together(orders.router, changes.router, doors.router)

__all__ = ["router"]
