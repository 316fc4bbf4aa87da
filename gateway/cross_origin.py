"""What pages of other origins may call: of those that `ONSALE_ORIGINS` lists, all that a buyer can do.

Operators' calls are for pages of this origin and for programs. Browsers let no page of another one read or
make them, listed or not: an operator's key does not belong into a shop's page.
"""

from __future__ import annotations

from collections.abc import Collection, MutableMapping
from typing import Any, Final

from starlette.middleware.cors import CORSMiddleware

from gateway.buyers.posting import EXPOSED
from gateway.idempotency import REPLAYED

OPERATORS: Final = "/v1/operator"
METHODS: Final = ("GET", "POST", "PUT")
"""Those of buyers' calls."""
HEADERS: Final = ("Authorization", "Content-Type", "Idempotency-Key", "Prefer")


class CrossOrigin(CORSMiddleware):
    """Starlette's, for all but operators' calls."""

    def __init__(self, app: Any, origins: Collection[str]) -> None:
        super().__init__(
            app,
            allow_origins=sorted(origins),
            allow_methods=METHODS,
            allow_headers=HEADERS,
            expose_headers=[*EXPOSED.decode().split(", "), REPLAYED],
        )

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        if path == OPERATORS or path.startswith(f"{OPERATORS}/"):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)
