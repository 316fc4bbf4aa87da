"""A throwaway onsale with payments, chores and a webhook sink; its events; and coming to rest afterwards."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from bench.evidence import Finding
from bench.payments.storming import journal, rows
from bench.payments.storming.plan import DUPLICATES, PIT_SHARE, REORDERED, Fate
from bench.payments.storming.rows import FEE_BASIS_POINTS, FEE_MINOR
from bench.payments.storming.sink import Sink, sinking
from bench.target import StageEvent, Target, wait_known
from bench.torture.stage import Stage
from onsale.processes import throwaway_stack
from onsale.simulated.book import Entry
from store import event_prices, events
from store.audit import Said
from store.plan import Plan
from store.prices import PriceTerms
from store.subscribers import edit
from store.subscribers.addresses import ALLOW_PRIVATE
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState

REST_SECONDS_MAX: Final = 150.0
ANSWERS_SECONDS_MAX: Final = 15.0
POLL_SECONDS: Final = 0.5
ROUGH: Final = {"lost_replies": 0.03, "errors": 0.03, "wrong_signatures": 0.03, "delay_ms": 200}
"""Beside what the storm promises: what providers do besides."""
HEALED: Final = {"lost_replies": 0.0, "errors": 0.0, "wrong_signatures": 0.0}
"""Notices come twice and out of order until the end."""
TERMS: Final = PriceTerms(fee_minor=FEE_MINOR, fee_basis_points=FEE_BASIS_POINTS, tax_basis_points=1_900)
STORM: Final = Said("storm", "payments rehearsed")
LATE_POLICIES: Final = {"refund": "refund", "reacquire": "reacquire", "canceled": "reacquire"}
"""The events of a wave, and what each does with money that comes late; the last one is canceled."""
SPARE: Final = 1.02
SPARE_PLACES: Final = 10
PIT_FROM: Final = 100
"""A smaller floor has no pit in front."""


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

    def set_healed(self) -> None:
        self.control(**HEALED, webhooks=True)

    def balance(self) -> dict[str, Any]:
        """What came in and went back, by the provider's book."""
        return self._provider("/v1/balance")

    def wait_answers(self, name: str, over: threading.Event) -> None:
        """Until a process that was started answers, whatever it says; at most a while, and not after `over`.

        So a slow machine is struck as often as it can get up again.
        """
        where = self.stack.processes[name].spec.ready_url
        give_up_at = time.monotonic() + ANSWERS_SECONDS_MAX
        while where is not None and time.monotonic() < give_up_at:
            try:
                with urllib.request.urlopen(f"http://{where[0]}:{where[1]}/health/ready", timeout=2):
                    return
            except urllib.error.HTTPError as error:
                error.close()
                return
            except OSError:
                if over.wait(POLL_SECONDS / 5):
                    return

    def journal(self) -> list[Entry]:
        """All that the provider ever did."""
        return journal.read(self.stack.engines.data_dir.path / journal.JOURNAL)

    def heal(self) -> None:
        """Everything that is down is started, and ready; the provider behaves."""
        for name in ("postgres", "valkey"):
            self._engine_runs(name)
        self.revive()
        self.stack.wait_ready()
        self.set_healed()

    def rest(self, on_sale: Sequence[StageEvent], tell: Callable[[str], None]) -> str:
        """Until no money is on its way, all notices are told and every message is delivered; or why not."""
        give_up_at = time.monotonic() + REST_SECONDS_MAX
        while True:
            with psycopg.connect(self.database_url, autocommit=True) as conn:
                unfinished = rows.unfinished(conn, on_sale)
                undelivered = rows.messages(conn) - self.sink.different
            untold = int(self.control()["untold"])
            left = f"{unfinished:,} payments or refunds, {undelivered:,} messages, {untold:,} notices"
            if unfinished <= 0 and undelivered <= 0 and untold <= 0:
                return ""
            if time.monotonic() > give_up_at:
                return f"{REST_SECONDS_MAX:g} s after healing there were still {left} on their way"
            tell(f"on their way: {left}")
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
    with (
        sinking() as sink,
        throwaway_stack(
            gateways=gateways, allocators=allocators, payments=True, chores=True, env={ALLOW_PRIVATE: "1"}
        ) as stack,
    ):
        stage = PaidStage(stack, {}, stack.engines.data_dir.logs)
        stage.sink = sink
        with psycopg.connect(stage.database_url, autocommit=True) as conn:
            sink.secret = edit.add(conn, sink.url, STORM, from_start=True, allow_private=True).secret
        yield stage


def make_events(stage: PaidStage, wave: int, who: Sequence[Fate], ttl_seconds: int) -> list[StageEvent]:
    """A wave's events, on sale, and known to everybody."""
    made = []
    with psycopg.connect(stage.database_url, autocommit=True) as conn:
        for number, (name, policy) in enumerate(LATE_POLICIES.items()):
            plan, slug = hall_for([fate for fate in who if fate.event == number]), f"storm-{wave}-{name}"
            event = events.create_event(
                conn, slug, "Storm", save_venue(conn, slug, plan), plan, hold_ttl_seconds=ttl_seconds,
                fast_gate=False, payment="required", late_payment=policy,
            )  # fmt: skip
            event_prices.set_terms(conn, slug, TERMS, STORM)
            events.set_state(conn, slug, EventState.OPEN)
            made.append(StageEvent(event, slug, plan))
    for url in stage.stack.base_urls:
        for one in made:
            wait_known(Target(url, stage.database_url, stage.stack.token_secret), one)
    return made


def hall_for(who: Sequence[Fate]) -> Plan:
    """Numbered seats and two standing areas: enough for all these buyers, and little more."""
    wanted = Counter(
        seats=sum(fate.seats for fate in who),
        pit=sum(fate.pit for fate in who),
        floor=sum(fate.floor for fate in who),
    )
    standing = max(wanted["pit"] / PIT_SHARE, wanted["floor"] / (1 - PIT_SHARE))
    return make("hall", _spare(wanted["seats"]), standing=max(PIT_FROM, _spare(standing)))


def _spare(wanted: float) -> int:
    return int(wanted * SPARE) + SPARE_PLACES
