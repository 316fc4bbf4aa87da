"""A throwaway onsale with payments, chores and a webhook sink; its events; and coming to rest afterwards."""

from __future__ import annotations

import importlib
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from bench.evidence import Finding
from bench.payments.storming import rows
from bench.payments.storming.evidence import Intent
from bench.payments.storming.plan import DUPLICATES, REORDERED
from bench.payments.storming.rows import FEE_BASIS_POINTS, FEE_MINOR
from bench.payments.storming.sink import Sink, sinking
from bench.target import StageEvent, Target, wait_known
from bench.torture.stage import Stage
from onsale.processes import throwaway_stack
from store import event_prices, events
from store.audit import Said
from store.prices import PriceTerms
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState

RUNS: Final[dict[str, Any]] = {"payments": True, "chores": True}
ALLOW_PRIVATE: Final = "ONSALE_WEBHOOKS_ALLOW_PRIVATE"
REST_SECONDS_MAX: Final = 150.0
POLL_SECONDS: Final = 0.5
CALM: Final = {"duplicates": 0.0, "reorder": 0.0, "lost_replies": 0.0, "errors": 0.0, "wrong_signatures": 0.0}
ROUGH: Final = {"lost_replies": 0.03, "errors": 0.03, "wrong_signatures": 0.03, "delay_ms": 200}
"""Beside what the storm promises: what providers do besides."""
TERMS: Final = PriceTerms(fee_minor=FEE_MINOR, fee_basis_points=FEE_BASIS_POINTS, tax_basis_points=1_900)
STORM: Final = Said("storm", "payments rehearsed")
POLICIES: Final = ("refund", "reacquire")


class PaidStage(Stage):
    """A stage with a provider and a sink."""

    sink: Sink

    @property
    def provider_url(self) -> str:
        where = self.stack.processes["provider-1"].spec.ready_url
        assert where is not None, "the provider says when it is ready"
        return f"http://{where[0]}:{where[1]}"

    def control(self, **switches: Any) -> dict[str, Any]:
        """Sets the provider's switches; how they are now, and what is still to be told."""
        return self._provider("/control", switches)

    def set_rough(self, seed: int) -> None:
        self.control(duplicates=DUPLICATES, reorder=REORDERED, seed=seed, **ROUGH)

    def set_calm(self) -> None:
        self.control(**CALM, delay_ms=0, webhooks=True)

    def balance(self) -> dict[str, Any]:
        """What came in and went back, by the provider's book."""
        return self._provider("/v1/balance")

    def intent(self, intent_id: str) -> Intent:
        """As the provider's book has it."""
        found = self._provider(f"/v1/intents/{intent_id}")
        payment = next((value for name, value in found["metadata"].items() if "payment" in name), "0")
        amounts = (found["amount_minor"], found["refunded_minor"], found["fee_minor"])
        return Intent(found["id"], int(payment), found["status"], *amounts)

    def heal(self) -> None:
        """Everything that is down is started, and ready; the provider behaves."""
        for name in ("postgres", "valkey"):
            self._engine_runs(name)
        self.revive()
        self.stack.wait_ready()
        self.set_calm()

    def rest(self, on_sale: Sequence[StageEvent]) -> str:
        """Until no money is on its way, all notices are told and every message is delivered; or why not."""
        give_up_at = time.monotonic() + REST_SECONDS_MAX
        while True:
            with psycopg.connect(self.database_url, autocommit=True) as conn:
                unfinished = rows.unfinished(conn, on_sale)
                undelivered = len(rows.messages(conn, on_sale) - self.sink.got().keys())
            untold = int(self.control()["untold"])
            if not (unfinished or undelivered or untold):
                return ""
            if time.monotonic() > give_up_at:
                left = f"{unfinished} payments or refunds, {undelivered} messages, {untold} notices"
                return f"{REST_SECONDS_MAX:g} s after healing there were still {left} on their way"
            time.sleep(POLL_SECONDS)

    def alarms(self) -> list[Finding]:
        """Alerts in the logs, and what ended by itself. Tracebacks of who is killed all the time say
        nothing."""
        return [one for one in self.noticed() if one.kind == "died" or "ALERT" in one.story]

    def _engine_runs(self, name: str) -> None:
        server = self.stack.postgres if name == "postgres" else self.stack.valkey
        if not server.running:
            server.start()

    def _provider(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Asked again where it answers with a fault that is switched on."""
        content = None if body is None else json.dumps(body).encode()
        head = {"Content-Type": "application/json", "Accept": "application/json"}
        give_up_at = time.monotonic() + 30.0
        while True:
            try:
                asked = urllib.request.Request(f"{self.provider_url}{path}", content, head)
                with urllib.request.urlopen(asked, timeout=5) as answer:
                    told: dict[str, Any] = json.load(answer)
                    return told
            except (OSError, urllib.error.URLError):
                if time.monotonic() > give_up_at:
                    raise
                time.sleep(0.1)


@contextmanager
def paid_stage(*, gateways: int = 2, allocators: int = 2) -> Iterator[PaidStage]:
    """Migrated, subscribed and ready; gone when the block ends."""
    how = {"env": {ALLOW_PRIVATE: "1"}, **RUNS}
    with sinking() as sink, throwaway_stack(gateways=gateways, allocators=allocators, **how) as stack:
        stage = PaidStage(stack, {}, stack.engines.data_dir.logs)
        stage.sink = sink
        sink.secret = _subscribe(stage.database_url, sink.url)
        yield stage


def _subscribe(database_url: str, url: str) -> str:
    """The secret the sink's messages are signed with."""
    edit = importlib.import_module("store.subscribers.edit")
    with psycopg.connect(database_url, autocommit=True) as conn:
        made = edit.add(conn, url, STORM, from_start=True, allow_private=True)
        return str(made.secret)


def make_events(stage: PaidStage, wave: int, seats: int, ttl_seconds: int) -> list[StageEvent]:
    """An event of each late policy, on sale, and known to everybody."""
    plan = make("theatre", seats)
    made = []
    with psycopg.connect(stage.database_url, autocommit=True) as conn:
        venue = save_venue(conn, f"storm-{seats}", plan)
        for policy in POLICIES:
            slug = f"storm-{wave}-{policy}"
            number = events.create_event(
                conn, slug, "Storm", venue, plan, hold_ttl_seconds=ttl_seconds, fast_gate=False,
                payment="required", late_payment=policy,
            )  # fmt: skip
            event_prices.set_terms(conn, slug, TERMS, STORM)
            events.set_state(conn, slug, EventState.OPEN)
            made.append(StageEvent(number, slug, plan))
    for url in stage.stack.base_urls:
        for event in made:
            wait_known(Target(url, stage.database_url, stage.stack.token_secret), event)
    return made
