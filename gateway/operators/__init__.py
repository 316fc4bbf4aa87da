"""Operators: make events, open, pause, resume and close them, see how they stand."""

from gateway.operators.routes import router

__all__ = ["router"]
