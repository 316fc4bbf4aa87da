"""A gateway that makes tickets, an order there, and buyers and doors who ask about it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import psycopg

from store import events
from store.settings import EngineUrls
from tests.gateway.rig import EVENT, Answer, Served, gateway, make_event, token
from tests.store.test_holds import HOLD
from tests.store.tickets.holding import order

T = TypeVar("T")
TICKET_KEY = "a ticket key that only these tests use"
OPERATOR_KEY = "an operator key of the tests"


class Box:
    """Asks as buyers and as doors."""

    def __init__(self, served: Served) -> None:
        self.served = served

    async def ask(self, method: str, path: str, body: Any = None, *, buyer: str = "ann") -> Answer:
        """As a buyer: of the event, or with a path from `/v1` on as it is."""
        there = path if path.startswith("/v1/") else f"/v1/events/{EVENT}{path}"
        return await self.served.http(
            method, there, body=body, headers={"Authorization": f"Bearer {token(buyer)}"}
        )

    async def operator(self, method: str, path: str, body: Any = None, *, event: str = EVENT) -> Answer:
        """With the operator key, of the event."""
        headers = {"Authorization": f"Bearer {OPERATOR_KEY}"}
        there = f"/v1/operator/events/{event}{path}"
        return await self.served.http(method, there, body=body, headers=headers)

    async def tickets(self, buyer: str = "ann", order_id: int = HOLD) -> Any:
        """The order's tickets as this buyer sees them."""
        answer = await self.ask("GET", f"/orders/{order_id}/tickets", buyer=buyer)
        assert answer.status == 200, answer.body
        return answer.json()

    async def check(self, ticket_token: str, device: str = "north") -> Any:
        """What a door is told."""
        answer = await self.operator("POST", "/tickets/check", {"token": ticket_token, "device": device})
        assert answer.status == 200, answer.body
        return answer.json()

    async def give(self, ticket: str, *, giver: str = "ann", to: str = "bob") -> Answer:
        """A ticket of the order, given and claimed."""
        offered = await self.ask("POST", f"/orders/{HOLD}/tickets/{ticket}/transfer", buyer=giver)
        return await self.ask("POST", "/v1/tickets/claim", {"code": offered.json()["code"]}, buyer=to)


def sold(urls: EngineUrls, **terms: Any) -> int:
    """The event, and an order of ann's: seats 3 and 4, two standing places; all is allowed unless told."""
    event = make_event(urls.database_url, **({"returns_allowed": True, "transfers_allowed": True} | terms))
    beside(urls, lambda conn: order(conn, event))
    return event


def beside(urls: EngineUrls, work: Callable[[psycopg.Connection], T]) -> T:
    """What `work` gives in a thread of its own: it may run a loop of its own."""

    def run() -> T:
        with psycopg.connect(urls.database_url, autocommit=True) as conn:
            return work(conn)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result()


@contextlib.asynccontextmanager
async def box(urls: EngineUrls, **given: Any) -> AsyncIterator[Box]:
    """A gateway with tickets."""
    settings = {"ticket_key": TICKET_KEY, "operator_key": OPERATOR_KEY} | given
    async with gateway(urls, **settings) as served:
        yield Box(served)


def set_terms(urls: EngineUrls, **terms: Any) -> None:
    """What the organiser changes."""
    with psycopg.connect(urls.database_url, autocommit=True) as conn:
        events.set_policy(conn, EVENT, **terms)
