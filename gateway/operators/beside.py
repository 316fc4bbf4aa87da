"""What the whole onsale is, for Prometheus, whichever gateway is asked: events on sale and who owns them, the
fleet, the engines, and what is done beside the sale (chores, the outbox and webhooks, payments, refunds,
mails, waiting rooms).

`GET /v1/operator/metrics` with an operator's key, and at its older address `/v1/operator/chores/metrics`. It
is read from Postgres, so every gateway tells the same and one of them is to be asked. Read at most once in
`KEPT_SECONDS`, more seldom where that takes long, however many ask, and only when somebody does;
`onsale_beside_age_seconds` says how old the numbers are. Labels are chores, states, outcomes, readers, hosts
and events on sale, of which a bounded number is told. Those that are known are told also while they are 0:
alarms need something to look at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from time import monotonic
from typing import Any, Final, NamedTuple

import psycopg
from fastapi import APIRouter, Depends, Request, Response
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from gateway.operators import families
from gateway.operators.access import in_database, require_viewer, settings_of
from gateway.operators.beside_fleet import of_engines, of_fleet
from gateway.operators.beside_rooms import of_rooms
from gateway.operators.families import counter, gauge, one
from gateway.settings import Settings
from store import beside, engine_numbers
from store.beside import READERS, Beside, Waiting
from store.chores.runs import ChoreRun
from store.engine_numbers import DatabaseNumbers, StreamNumbers
from store.fleet import numbers
from store.fleet.numbers import FleetNumbers
from store.subscribers.log import LogOutcome

KEPT_SECONDS: Final = 5.0
"""Less than anybody scrapes."""
REST: Final = 20
"""So many times as long as a reading took it is kept: of Postgres' time it takes a twentieth at most."""
ASIDE: Final = ("waiting", "dead")
SUBSCRIBERS: Final = ("active", "disabled")
NOT_AT_REST: Final = ("created", "failed", "canceled", "late")

router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_viewer)])

_CHORES_GROWING: Final[tuple[tuple[str, str, Callable[[ChoreRun], float]], ...]] = (
    ("onsale_chore_runs", "How often it began.", lambda run: run.runs),
)
_CHORES: Final[tuple[tuple[str, str, Callable[[ChoreRun], float]], ...]] = (
    (
        "onsale_chore_started_timestamp_seconds",
        "When it last began; 0: never.",
        lambda run: (run.started_at or 0) / 1_000,
    ),
    (
        "onsale_chore_ended_timestamp_seconds",
        "When its last run ended; 0: never.",
        lambda run: (run.ended_at or 0) / 1_000,
    ),
    (
        "onsale_chore_duration_seconds",
        "How long its last run took.",
        lambda run: (run.duration_ms or 0) / 1_000,
    ),
    ("onsale_chore_done", "How much its last run did.", lambda run: run.done or 0),
    ("onsale_chore_failures", "How often it failed in a row.", lambda run: run.failures),
    ("onsale_chore_late", "1 while it did not run when it should have.", lambda run: run.late),
)


class Whole(NamedTuple):
    """Everything that is told."""

    beside: Beside
    fleet: FleetNumbers
    database: DatabaseNumbers
    database_bytes_max: int
    stream: StreamNumbers | None


def _read(settings: Settings, conn: psycopg.Connection[Any]) -> Whole:
    done_beside = beside.read(conn)  # first: from here on no statement takes long
    fleet, database = numbers.read(conn), engine_numbers.read_database(conn)
    stream = engine_numbers.read_stream(settings.engines.redis_url)
    return Whole(done_beside, fleet, database, settings.database_bytes_max, stream)


class Kept:
    """The last reading of one gateway."""

    def __init__(self) -> None:
        self._reading = asyncio.Lock()
        self._found: Whole | None = None
        self._read_at = self._took = 0.0

    async def read(self, request: Request) -> tuple[Whole, float]:
        """(what was found, how many seconds ago); whoever comes while it is read waits for that reading."""
        async with self._reading:
            began = monotonic()
            age = began - self._read_at
            if self._found is None or age > max(KEPT_SECONDS, REST * self._took):
                self._found = await in_database(request, partial(_read, settings_of(request)))
                self._read_at, age = monotonic(), 0.0
                self._took = self._read_at - began
            return self._found, age


@router.get("/metrics", include_in_schema=False)
@router.get("/chores/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """For Prometheus; 503 while Postgres is away."""
    state = request.app.state
    if not hasattr(state, "beside"):
        state.beside = Kept()
    found, age_seconds = await state.beside.read(request)
    return Response(text_of(found, age_seconds), media_type=CONTENT_TYPE_LATEST)


def text_of(found: Whole, age_seconds: float) -> bytes:
    """The exposition format."""
    return families.text_of(_all(found, age_seconds))


def _all(whole: Whole, age_seconds: float) -> Iterator[Metric]:
    found = whole.beside
    yield one("onsale_beside_age_seconds", "How long ago these numbers were read.", age_seconds)
    for kind, listed in ((counter, _CHORES_GROWING), (gauge, _CHORES)):
        for name, says, value in listed:
            yield kind(name, says, ["chore"], [((run.chore,), value(run)) for run in found.chores])
    yield from _of_outbox(found)
    yield from _of_money(found)
    yield from of_rooms(found.rooms)
    yield from of_fleet(whole.fleet)
    yield from of_engines(whole.database, whole.database_bytes_max, whole.stream)


def _of_outbox(found: Beside) -> Iterator[Metric]:
    unread = [((reader,), found.unread.get(reader, Waiting())) for reader in READERS]
    says = "Rows of the outbox that a reader has not come to; of webhooks one for each subscriber."
    yield gauge("onsale_outbox_unread", says, ["reader"], [(of, told.count) for of, told in unread])
    says = "Age of the oldest of them."
    oldest = [(of, told.oldest_seconds) for of, told in unread]
    yield gauge("onsale_outbox_oldest_seconds", says, ["reader"], oldest)
    says = "Rows webhooks are done with, one for each subscriber."
    yield counter("onsale_webhooks_done", says, (), [((), found.done)])
    says = "Deliveries tried in the last minute, of the last 1,000 of each subscriber."
    yield gauge("onsale_webhooks_tried", says, ["outcome"], _filled(LogOutcome, found.attempts))
    says = "Messages set aside: waiting for another try, or dead letters."
    yield gauge("onsale_webhooks_aside", says, ["state"], _filled(ASIDE, found.aside))
    says = "Subscribers, and those that are disabled."
    yield gauge("onsale_subscribers", says, ["state"], _filled(SUBSCRIBERS, found.subscribers))


def _of_money(found: Beside) -> Iterator[Metric]:
    payments = [((state,), found.payments.get(state, Waiting())) for state in NOT_AT_REST]
    says = "Payments that can be paid, are to be ended at their provider (canceled), or ask for seats (late)."
    yield gauge("onsale_payments", says, ["state"], [(of, told.count) for of, told in payments])
    says = "Age of the oldest of them."
    oldest = [(of, told.oldest_seconds) for of, told in payments]
    yield gauge("onsale_payments_oldest_seconds", says, ["state"], oldest)
    yield one("onsale_stuck_refunds", "Refunds that their provider will never give.", found.stuck_refunds)
    for name, what, told in (
        ("onsale_refunds_due", "Refunds that are due.", found.refunds_due),
        ("onsale_mails_due", "Mails that are to be sent.", found.mails_due),
    ):
        yield one(name, what, told.count)
        yield one(f"{name}_oldest_seconds", "Age of the oldest of them.", told.oldest_seconds)


def _filled(known: Iterable[str], found: dict[str, int]) -> list[tuple[tuple[str], float]]:
    return [((name,), found.get(name, 0)) for name in map(str, known)]
