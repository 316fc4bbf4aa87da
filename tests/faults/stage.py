"""A whole onsale whose every way between a process and an engine leads through a proxy, and sales on it.

`stage` is one for all tests of a worker: two gateways, two allocators, a Postgres and a Valkey of its own.
Each test opens a `Sale` (a fresh event) on it, breaks something, and ends with `Sale.check`: everything is
healed, what was accepted is decided and told, the checker and the replay of the ledger find nothing.
"""

from __future__ import annotations

import contextlib
import json
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import redis

from bench.evidence import Finding, Truth
from bench.target import StageEvent, Target, close_event, examine, make_event, settle, wait_known
from onsale.processes import Stack, throwaway_stack
from store.settings import EngineUrls
from store.stream.redis_stream import connect as connect_stream
from store.wire import stream_key
from store.words import EventState
from tests.faults.clients import Desk
from tests.faults.proxy import CuttingProxy

PROCESSES = ("allocator-1", "allocator-2", "gateway-1", "gateway-2")
WITHIN_SECONDS = 40.0
LOOK_SECONDS = 0.02

COPY = b"COPY ledger (event_id"
"""The first statement of a batch after its fence."""
COMMIT = b"Q\x00\x00\x00\x0bCOMMIT\x00"
"""As it stands on the wire; the word alone is in comments of statements."""
REQUEST_ROW = b"\trequest\t"
"""In the data of that COPY, when the batch decides requests and not only facts."""
OFFER_ROW = b"\toffer\t"
"""The same when it gives something to who waits."""
EXPIRED_ROW = b"\texpired\t"
"""The same of a hold that ran out."""
MOVED_ROW = b"\trecategorised\t"
"""The same of seats that get another category."""
ANSWERS = b":decisions:"
"""In the PUBLISH of decisions to a gateway."""
APPEND = b"EVALSHA"


def until(true: Callable[[], object], what: str, within: float = WITHIN_SECONDS) -> None:
    """Waits for a row, a line of a log or another event of the outside world."""
    give_up_at = time.monotonic() + within
    while not true():
        assert time.monotonic() < give_up_at, f"waited {within:g} s in vain until {what}"
        time.sleep(LOOK_SECONDS)


class Stage:
    """The processes, their proxies (`postgres_of["allocator-1"]` ...), and how to heal all of it."""

    def __init__(self) -> None:
        self.postgres_of: dict[str, CuttingProxy] = {}
        self.valkey_of: dict[str, CuttingProxy] = {}
        self.stack: Stack
        self._postgres_silent = False
        self._leaving = contextlib.ExitStack()

    def __enter__(self) -> Stage:
        with contextlib.ExitStack() as starting:
            self.stack = starting.enter_context(throwaway_stack(gateways=2, env_of=self._by_way_of_proxies))
            starting.callback(self.heal)
            self._leaving = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.close()
        for proxy in (*self.postgres_of.values(), *self.valkey_of.values()):
            proxy.__exit__()

    def _by_way_of_proxies(self, urls: EngineUrls) -> dict[str, dict[str, str]]:
        envs = {}
        for name in PROCESSES:
            postgres = self.postgres_of[name] = CuttingProxy.before(urls.database_url)
            valkey = self.valkey_of[name] = CuttingProxy.before(urls.redis_url)
            envs[name] = {
                "DATABASE_URL": postgres.url(urls.database_url),
                "REDIS_URL": valkey.url(urls.redis_url),
            }
        return envs

    def heal(self) -> None:
        """Everything runs and reaches everything."""
        for proxy in (*self.postgres_of.values(), *self.valkey_of.values()):
            proxy.heal()
        for name in ("postgres", "valkey"):
            engine = self.stack.postgres if name == "postgres" else self.stack.valkey
            if not engine.running:
                self.stack.start_again(name)
        if self._postgres_silent:
            self.postgres_silent(False)
        for name, process in self.stack.processes.items():
            if process.alive:
                self.stack.kill(name, signal.SIGCONT)
            else:
                self.stack.start_again(name, wait_until_ready=False)
        self.stack.wait_ready()

    def kill(self, name: str) -> None:
        self.stack.kill(name)

    def freeze(self, name: str) -> None:
        """SIGSTOP."""
        self.stack.kill(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """SIGCONT."""
        self.stack.kill(name, signal.SIGCONT)

    def postgres_silent(self, silent: bool = True) -> None:
        """SIGSTOP to all of Postgres, or SIGCONT: it is there and says nothing."""
        self._postgres_silent = silent
        (self.stack.postgres.pause if silent else self.stack.postgres.resume)()

    def allocators_without_stream(self) -> None:
        """Cuts both allocators off Valkey: what is asked is accepted and not decided."""
        for name in ("allocator-1", "allocator-2"):
            self.valkey_of[name].refuse()
            self.valkey_of[name].cut()

    def log(self, name: str) -> str:
        return self.stack.processes[name].log_path.read_text(errors="replace")

    def metric(self, gateway: int, name: str) -> float:
        """A gateway's figure without labels."""
        with urllib.request.urlopen(f"{self.stack.base_urls[gateway]}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith(f"{name} ")))

    @contextlib.contextmanager
    def sale(self, *, seats: int = 60, **policy: Any) -> Iterator[Sale]:
        """A fresh event, open and known to everybody, with a desk for its buyers."""
        event = make_event(self.stack.urls.database_url, seats, seats_per_buyer_max=1_000, **policy)
        target = Target(self.stack.base_url, self.stack.urls.database_url, self.stack.token_secret)
        wait_known(target, event)
        with Sale(self, event, target) as sale:
            yield sale

    @contextlib.contextmanager
    def scheduled_sale(self) -> Iterator[Sale]:
        """A draft that opens by itself in half a minute, or when `opens_in` says, with a desk for buyers."""
        url = self.stack.urls.database_url
        event = make_event(url, 60, seats_per_buyer_max=1_000, state=EventState.DRAFT)
        with Sale(self, event, Target(self.stack.base_url, url, self.stack.token_secret)) as sale:
            sale.opens_in(30)
            yield sale


class StageOf(Stage):
    """A stage of another stack; nothing is on the way to its engines that could be healed."""

    def __init__(self, stack: contextlib.AbstractContextManager[Stack]) -> None:
        super().__init__()
        self._making = stack

    def __enter__(self) -> StageOf:
        self.stack = self._leaving.enter_context(self._making)
        return self

    def heal(self) -> None:
        """Every process runs."""
        for name, process in self.stack.processes.items():
            if not process.alive:
                self.stack.start_again(name, wait_until_ready=False)
        self.stack.wait_ready()


class Sale:
    """One event of a stage: what the truth says of it, and the verdict at the end."""

    def __init__(self, stage: Stage, event: StageEvent, target: Target) -> None:
        self.stage, self.event, self.target = stage, event, target
        self.seats = [seat.guid for seat in event.plan.seats]
        self.desk = Desk(stage.stack.addresses, target.token_secret, event.slug, self.seats)
        self._truth: psycopg.Connection[Any] | None = None

    def __enter__(self) -> Sale:
        self.desk.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.desk.__exit__()
        self.stage.heal()
        with contextlib.closing(self.connection()):
            # as if it had never been, so that no process attends to it during the next test
            self.query(
                "UPDATE event SET state = 'draft', paused_at = NULL, opens_at = NULL, lobby_opens_at = NULL"
                " WHERE id = %s"
            )

    def moves(self, category: str, *seats: str) -> int:
        """An operator gives seats another category, by HTTP; the version that the plan then has."""
        stack = self.stage.stack
        url = f"{stack.base_url}/v1/operator/events/{self.event.slug}/categories"
        body = {"category": category, "seats": seats, "who": "Olga", "why": "the pillar"}
        key = {"Authorization": f"Bearer {stack.operator_key}"}
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), key)) as answer:
            return int(json.load(answer)["version"])

    def opens_in(self, seconds: float) -> None:
        """Sets the time at which the event opens by itself."""
        when = f"clock_timestamp() + interval '{seconds} seconds'"
        self.query(f"UPDATE event SET opens_at = {when} WHERE id = %s")

    def lobby_opens_in(self, seconds: float) -> None:
        """Sets the time at which its lobby opens by itself."""
        when = f"clock_timestamp() + interval '{seconds} seconds'"
        self.query(f"UPDATE event SET lobby_opens_at = {when} WHERE id = %s")

    # --- the truth ---

    def query(self, text: str, *values: object) -> list[tuple[Any, ...]]:
        """`text` begins its parameters with the event's id. Connects anew where Postgres was restarted."""
        cursor = self.connection().execute(text, (self.event.id, *values))
        return cursor.fetchall() if cursor.description else []

    def connection(self) -> psycopg.Connection[Any]:
        if self._truth is None or self._truth.closed:
            self._truth = psycopg.connect(self.target.database_url, autocommit=True)
        return self._truth

    def looking_on(self) -> contextlib.closing[psycopg.Connection[Any]]:
        """A connection of its own, for a look while the other one is within a transaction."""
        return contextlib.closing(psycopg.connect(self.target.database_url, autocommit=True))

    def one(self, text: str, *values: object) -> Any:
        return self.query(text, *values)[0][0]

    @property
    def batch_no(self) -> int:
        return int(self.one("SELECT batch_no FROM event_cursor WHERE event_id = %s"))

    @property
    def cursor(self) -> str:
        return str(self.one("SELECT arrival FROM event_cursor WHERE event_id = %s"))

    @property
    def epoch(self) -> int:
        return int(self.one("SELECT epoch FROM event_cursor WHERE event_id = %s"))

    def epochs(self) -> list[int]:
        """Each batch's, in order."""
        rows = self.query("SELECT epoch FROM ledger_batch WHERE event_id = %s ORDER BY batch_no")
        return [epoch for (epoch,) in rows]

    def owner(self) -> str:
        """The name of the allocator that owns the event."""
        worker = self.one("SELECT worker FROM lease WHERE event_id = %s")
        pid = int(worker.rpartition(":")[2])
        processes = self.stage.stack.processes
        return next(name for name, process in processes.items() if process.child.pid == pid)

    def standby(self) -> str:
        return "allocator-2" if self.owner() == "allocator-1" else "allocator-1"

    def wait_taken_over(self, epoch: int) -> None:
        """Until somebody owns the event in a later epoch than `epoch`."""
        until(lambda: self.epoch > epoch, "another allocator takes over")

    def key_rows(self, buyer: str, request_id: str) -> list[str]:
        """Outcomes of a key's rows in the ledger."""
        rows = self.query(
            "SELECT outcome FROM ledger WHERE event_id = %s AND buyer = %s AND request_id = %s"
            " AND kind = 'request' ORDER BY batch_no, position",
            buyer,
            request_id,
        )
        return [outcome for (outcome,) in rows]

    def offered(self) -> list[tuple[str, str]]:
        """(buyer, request id) of each offer, in the ledger's order."""
        return self.query(
            "SELECT buyer, request_id FROM ledger WHERE event_id = %s AND kind = 'offer'"
            " ORDER BY batch_no, position"
        )

    @contextlib.contextmanager
    def stream(self) -> Iterator[tuple[redis.Redis, str]]:
        """(a client of its own to Valkey, the key of this event's stream)"""
        with contextlib.closing(connect_stream(self.stage.stack.urls.redis_url)) as client:
            yield client, stream_key(self.event.slug)

    # --- the verdict ---

    def check(self) -> Truth:
        """Heal, let everything be decided and told, and demand every law. Returns the truth judged by."""
        truth, findings = self.judged()
        assert not findings, "\n".join(f"{finding.kind}: {finding.story}" for finding in findings[:10])
        return truth

    def judged(self) -> tuple[Truth, list[Finding]]:
        """Heal, let everything be decided and told; the truth, and what checker and replay find."""
        self.stage.heal()
        seen = self.desk.finish()
        if self.one("SELECT state FROM event WHERE id = %s") != EventState.CLOSED:
            close_event(self.target.database_url, self.event)
        arrivals = [arrival for client in seen for ask in client.asks for _, arrival in ask.accepted]
        assert settle(self.target, self.event, arrivals), "what was accepted is decided"
        until(
            lambda: not self.one("SELECT count(*) FROM fact WHERE event_id = %s"), "every fact was consumed"
        )
        findings, truth = examine(self.target.database_url, self.event, seen)
        epochs = [batch.epoch for batch in truth.batches]
        assert epochs == sorted(epochs), f"owners took turns: {epochs}"
        return truth, findings
