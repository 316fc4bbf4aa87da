"""An onsale where holds are paid for, whose ways to Postgres lead through proxies, and a subscriber.

`Till` is one for all tests of the folder: two gateways (the provider tells the first of them first), one
allocator, chores, the simulated provider. Each test breaks something, mends it, and ends with `Till.check`.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psutil
import psycopg

from bench.generator import mint
from bench.target import StageEvent, Target, wait_known
from onsale.processes import Stack, throwaway_stack
from store import audit, events
from store.invariant import mismatches, read_capacity
from store.payments import invariant
from store.payments.settlement import settlement
from store.settings import EngineUrls
from store.subscribers import edit
from store.subscribers.addresses import ALLOW_PRIVATE
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState
from tests.faults.proxy import CuttingProxy
from tests.faults.stage import WITHIN_SECONDS, until
from tests.gateway.payments.till import call

PROXIED = ("gateway-1", "gateway-2", "chores-1")
NOTICED = b"INSERT INTO payment_notice"
"""In the transaction that settles notices, near its end."""
ATTACHED = b"SET intent = "
GIVEN = b"UPDATE refund SET state = 'refunded'"
COUNTED = b"UPDATE called_off SET holds"
"""In the transaction that ends an order of an event that is called off."""
PLAN = make("arena", 60)
SAID = audit.said("Olga", "a test of faults")
EVENTS = ("paid", "canceled")


class Sink(BaseHTTPRequestHandler):
    """A subscriber: keeps the ids of what comes, and holds its answer back while `slow` says so."""

    ids: queue.SimpleQueue[str] = queue.SimpleQueue()
    may_answer = threading.Event()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.ids.put(self.headers["webhook-id"])
        self.may_answer.wait()
        with contextlib.suppress(OSError):  # who asked may be gone
            self.send_response(204)
            self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Till:
    """See the module."""

    def __init__(self, stack: Stack, postgres_of: dict[str, CuttingProxy]) -> None:
        self.stack, self.postgres_of = stack, postgres_of
        self.buyers = iter(mint(stack.token_secret, 100))
        self.seats = iter(PLAN.seats)

    @property
    def conn(self) -> psycopg.Connection[Any]:
        """Straight to Postgres, anew after it was away."""
        return psycopg.connect(self.stack.urls.database_url, autocommit=True)

    def query(self, text: str, *values: object) -> list[tuple[Any, ...]]:
        with contextlib.closing(self.conn) as conn:
            cursor = conn.execute(text, values)
            return cursor.fetchall() if cursor.description else []

    def one(self, text: str, *values: object) -> Any:
        return self.query(text, *values)[0][0]

    def buyer(self, event: str = "paid") -> Buyer:
        """Somebody with a hold of one seat."""
        return Buyer(self, event, *next(self.buyers), next(self.seats).guid)

    def provider(self, path: str, body: object = None) -> dict[str, Any]:
        method = "GET" if body is None else "POST"
        return dict(call(method, self.stack.provider_url + path, body, {"Accept": "application/json"})[1])

    def intent_of(self, payment: int) -> str:
        """What the provider made for that payment, by its own book, whether anybody here knows or not."""
        book = self.stack.engines.data_dir.path / "simulated" / "journal.jsonl"
        entries = [json.loads(line) for line in book.read_text().splitlines()]
        made = [entry["made"] for entry in entries if "made" in entry]
        [intent] = [one["id"] for one in made if one["asked"]["metadata"]["payment"] == str(payment)]
        return str(intent)

    def unprepared(self, name: str) -> CuttingProxy:
        """The way of a process to Postgres, on new connections: what is prepared on one travels without its
        text, and nobody sees it go by."""
        proxy = self.postgres_of[name]
        proxy.cut()
        return proxy

    def kill_chores(self) -> None:
        """With its workers and what they run, which end when it does."""
        everyone = psutil.Process(self.stack.pid("chores-1")).children(recursive=True)
        self.stack.kill("chores-1")
        assert psutil.wait_procs(everyone, WITHIN_SECONDS)[1] == []

    def heal(self) -> None:
        """Everything runs and reaches everything."""
        for proxy in self.postgres_of.values():
            proxy.heal()
        for name in ("postgres", "valkey"):
            engine = self.stack.postgres if name == "postgres" else self.stack.valkey
            if not engine.running:
                self.stack.start_again(name)
        for name, process in self.stack.processes.items():
            if not process.alive:
                self.stack.start_again(name)
        self.stack.wait_ready()

    def hurry(self) -> None:
        """What waits for a time waits no longer: refunds that somebody took, chores, leases of lanes."""
        for statement in (
            "UPDATE refund SET next_at = clock_timestamp() WHERE state = 'due'",
            "UPDATE chore_run SET due_at = clock_timestamp()",
            "UPDATE subscriber_position SET leased_until = clock_timestamp() WHERE lease IS NOT NULL",
            "UPDATE subscriber_position SET next_at = clock_timestamp()",
        ):
            self.query(statement)

    def check(self) -> None:
        """All money is answered for here and at the provider, and each thing was told once, without gaps."""
        self.heal()
        until(lambda: self.provider("/control")["untold"] == 0, "the provider told everything")
        self.hurry()
        until(lambda: not self.query("SELECT 1 FROM refund WHERE state = 'due'"), "all is given back")
        with contextlib.closing(self.conn) as conn:
            for slug in EVENTS:
                event = events.get_event(conn, slug).id
                assert mismatches(conn, event, read_capacity(conn, event)) == []
                assert invariant.mismatches(conn, event) == []
                assert settlement(conn, slug).balances
        paid = "SELECT coalesce(sum(amount_minor), 0), coalesce(sum(refunded_minor), 0) FROM payment"
        [(came, went)] = self.query(f"{paid} WHERE succeeded_at IS NOT NULL")
        balance = self.provider("/v1/balance")
        assert (balance["paid_minor"], balance["refunded_minor"]) == (came, went)
        assert self.query(GAPS) == []
        assert self.query(TOLD_TWICE) == []


GAPS = """
SELECT event_id FROM outbox GROUP BY event_id HAVING count(*) <> max(number) OR min(number) <> 1
"""
TOLD_TWICE = """
SELECT kind, body ->> 'order', body ->> 'refund' FROM outbox
 WHERE kind IN ('order.paid', 'order.refunded', 'payment.refunded')
 GROUP BY event_id, 1, 2, 3 HAVING count(*) > 1
"""


class Buyer:
    """One who asks for a seat and pays for it."""

    def __init__(self, till: Till, event: str, name: str, token: str, seat: str) -> None:
        self.till, self.name, self.seat = till, name, seat
        self._head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._event = f"/v1/events/{event}"
        wish: dict[str, Any] = {"Idempotency-Key": "r1", "Prefer": "wait=30"}
        status, decided = self._call("POST", f"{self._event}/requests", {"seats": [seat]}, **wish)
        assert (status, decided["outcome"]) == (200, "held"), decided
        self.hold = decided["result"]["hold"]
        self.payment: dict[str, Any] = {}

    def _call(
        self, method: str, path: str, body: object = None, *, gateway: int = 0, **head: str
    ) -> tuple[int, Any]:
        return call(method, self.till.stack.base_urls[gateway] + path, body, self._head | head)

    def begins(self, gateway: int = 0) -> dict[str, Any]:
        """The payment, once somebody answers."""
        where = f"{self._event}/holds/{self.hold}/payment"
        status, self.payment = self._call("POST", where, {}, gateway=gateway)
        assert status == 200, self.payment
        return self.payment

    def presses(self) -> None:
        """The button of the checkout page."""
        path = self.payment["checkout"]["url"].removeprefix(self.till.stack.provider_url)
        assert self.till.provider(path, {})["status"] == "succeeded"

    def releases(self) -> None:
        status, told = self._call("POST", f"{self._event}/holds/{self.hold}/release", {})
        assert status == 200, told

    @property
    def state(self) -> str:
        """Of the last payment of the hold, by the table."""
        rows = self.till.query(
            "SELECT state FROM payment WHERE buyer = %s ORDER BY id DESC LIMIT 1", self.name
        )
        return str(rows[0][0])

    def is_in_state(self, state: str) -> None:
        until(lambda: self.state == state, f"the payment is {state}")

    def has_its_seat(self) -> None:
        """Bought once, and told once."""
        self.is_in_state("succeeded")
        sold = "SELECT seat.state FROM seat JOIN hold USING (event_id, hold_id) WHERE hold.buyer = %s"
        assert self.till.query(sold, self.name) == [("sold",)]
        told = "SELECT count(*) FROM outbox WHERE kind = 'order.paid' AND body ->> 'buyer' = %s"
        assert self.till.one(told, self.name) == 1


@contextlib.contextmanager
def open_till() -> Iterator[Till]:
    """With both events on sale, and known to both gateways."""
    postgres_of: dict[str, CuttingProxy] = {}

    def by_way_of_proxies(urls: EngineUrls) -> dict[str, dict[str, str]]:
        for name in PROXIED:
            postgres_of[name] = CuttingProxy.before(urls.database_url)
        return {name: {"DATABASE_URL": proxy.url(urls.database_url)} for name, proxy in postgres_of.items()}

    how: dict[str, Any] = {"gateways": 2, "allocators": 1, "payments": True, "chores": True}
    how |= {"env": {ALLOW_PRIVATE: "1"}, "env_of": by_way_of_proxies, "prepare": _on_sale}
    with contextlib.ExitStack() as leaving:
        stack = leaving.enter_context(throwaway_stack(**how))
        for proxy in postgres_of.values():
            leaving.callback(proxy.__exit__)
        till = Till(stack, postgres_of)
        with contextlib.closing(till.conn) as conn:
            on_sale = [events.get_event(conn, slug) for slug in EVENTS]
        known = [StageEvent(one.id, one.slug, PLAN) for one in on_sale]
        for url in stack.base_urls:
            for event in known:
                wait_known(Target(url, stack.urls.database_url, stack.token_secret), event)
        leaving.callback(till.heal)
        yield till


def _on_sale(urls: EngineUrls) -> None:
    with psycopg.connect(urls.database_url, autocommit=True) as conn:
        venue = save_venue(conn, "arena", PLAN)
        for slug in EVENTS:
            events.create_event(conn, slug, "The gig", venue, PLAN, payment="required", fast_gate=False)
            events.set_state(conn, slug, EventState.OPEN)


@contextlib.contextmanager
def subscribed(till: Till) -> Iterator[type[Sink]]:
    """A subscriber to whatever is told from here on; it answers nothing until it may."""
    Sink.may_answer.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever, name="sink", daemon=True)
    serving.start()
    with contextlib.closing(till.conn) as conn:
        url = f"http://127.0.0.1:{server.server_port}/hook"
        number = edit.add(conn, url, SAID, allow_private=True).subscriber.id
    try:
        yield Sink
    finally:
        Sink.may_answer.set()
        with contextlib.closing(till.conn) as conn:
            edit.remove(conn, int(number), SAID)
        server.shutdown()
        serving.join()
        server.server_close()


def metric(url: str, start: str) -> float:
    """A gateway's figure, by how its line begins; 0 where there is none."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        lines = [line for line in answer.read().decode().splitlines() if line.startswith(start)]
    return sum(float(line.split()[-1]) for line in lines)
