"""A real gateway on the real engines, with an order of ann's, for the pages of tickets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg

from store.settings import EngineUrls
from tests.browser.live import serving
from tests.gateway.rig import EVENT, Served, make_event, token
from tests.gateway.tickets.box import OPERATOR_KEY, TICKET_KEY
from tests.store.payments.paying import TERMS, begun, notice
from tests.store.payments.paying import told as pay
from tests.store.test_holds import HOLD, hold

T = TypeVar("T")
ALLOWED = {"returns_allowed": True, "transfers_allowed": True}


class Live:
    """Where it is, and ways to change what it knows."""

    def __init__(self, urls: EngineUrls, event: int, served: Served) -> None:
        self.event = event
        self._urls = urls
        self.url = f"http://127.0.0.1:{served.port}"

    def path(self, order: str = str(HOLD), buyer: str = "ann", **more: str) -> str:
        """The page of the order for this buyer, who comes in from the shop."""
        hashed = "&".join([f"token={token(buyer)}", *[f"{name}={value}" for name, value in more.items()]])
        return f"/e/{EVENT}/tickets{'/' + order if order else ''}#{hashed}"

    def database(self, work: Callable[[psycopg.Connection], T]) -> T:
        """What `work` gives on a connection of its own, in a thread where it may run a loop."""
        found: list[T] = []

        def run() -> None:
            with psycopg.connect(self._urls.database_url, autocommit=True) as conn:
                found.append(work(conn))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join(60)
        assert found, "the work came to its end"
        return found[0]


def ordered(live: Live, hold_id: int = HOLD, buyer: str = "ann", **given: Any) -> None:
    """An order that was paid for: seats 3 and 4 and two standing places, unless told."""

    def work(conn: psycopg.Connection) -> int:
        hold(conn, live.event, hold_id=hold_id, buyer=buyer, **given)
        payment = begun(conn, live.event, hold_id, buyer)
        pay(conn, notice(payment))
        conn.execute("DELETE FROM fact")
        return payment.id

    live.database(work)


@contextmanager
def running(urls: EngineUrls, **terms: Any) -> Iterator[Live]:
    """A gateway in a thread of its own, and ann's order."""
    event = make_event(urls.database_url, payment="required", **(ALLOWED | terms))
    with psycopg.connect(urls.database_url, autocommit=True) as conn:
        values = (event, TERMS.fee_minor, TERMS.tax_basis_points)
        conn.execute("INSERT INTO event_price VALUES (%s, %s, 0, %s, true)", values)
    with serving(urls, ticket_key=TICKET_KEY, operator_key=OPERATOR_KEY) as served:
        live = Live(urls, event, served)
        ordered(live)
        yield live
