"""A gateway that operators call with keys and cookies, and every route of theirs that it has."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import psycopg
from fastapi.routing import APIRoute

from store.audit import Said
from store.operators import keys
from store.operators.keys import KeyWithSecret
from store.operators.words import Role
from store.settings import EngineUrls
from tests.gateway.rig import Answer, Served, gateway

KEY = "the environment's key, for tests"
SAID = Said("olga", "tests")
SESSION = "/v1/operator/session"
EVENTS = "/v1/operator/events"


class Client:
    """Calls with a key or a cookie, as somebody at an address would."""

    def __init__(self, it: Served) -> None:
        self.it = it

    async def __call__(
        self,
        method: str,
        path: str,
        key: str | None = None,
        *,
        cookie: str | None = None,
        body: Any = None,
        **headers: str,
    ) -> Answer:
        head = {name.replace("_", "-"): value for name, value in headers.items()}
        if key is not None:
            head["Authorization"] = f"Bearer {key}"
        if cookie is not None:
            head["Cookie"] = cookie
        return await self.it.http(method, path, body=body, headers=head)

    @property
    def own(self) -> str:
        """The origin of its own pages."""
        return f"http://127.0.0.1:{self.it.port}"

    async def log_in(self, key: str) -> tuple[str, Answer]:
        """The cookie, as a browser sends it, and what was answered."""
        answer = await self("POST", SESSION, body={"key": key}, Origin=self.own)
        assert answer.status == 200, answer.body
        return answer.headers["set-cookie"].split(";")[0], answer

    def later(self, seconds: float) -> None:
        """Put the clock by which this gateway believes keys forward."""
        callers = self.it.runtime.callers
        now = callers._clock() + seconds
        callers._clock = lambda: now

    def routes(self) -> list[tuple[str, str]]:
        """(method, path) of every call of operators', described or not."""
        return sorted(
            (method, route.path)
            for route in self.it.app.api.routes
            if isinstance(route, APIRoute) and route.path.startswith("/v1/operator/")
            for method in route.methods or ()
        )


@contextlib.asynccontextmanager
async def served(urls: EngineUrls, **given: Any) -> AsyncIterator[Client]:
    async with gateway(urls, **({"operator_key": KEY} | given)) as it:
        yield Client(it)


def make(
    conn: psycopg.Connection, name: str = "anna", role: Role = Role.OPERATOR, **more: Any
) -> KeyWithSecret:
    return keys.create(conn, name, role, SAID, **more)


def refusal(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json()["code"]
