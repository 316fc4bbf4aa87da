"""What is done beside the sale, for Prometheus: chores, the outbox and webhooks, payments, refunds, mails,
waiting rooms.

`GET /v1/operator/chores/metrics` with the operator key. It is read from Postgres, so every gateway tells the
same and one of them is to be asked. Read at most once in `KEPT_SECONDS`, more seldom where that takes long,
however many ask, and only when somebody does; `onsale_beside_age_seconds` says how old the numbers are.
Labels are chores, states, outcomes, readers and the events of waiting rooms: all few. Those that are known
are told also while they are 0: alarms need something to look at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Final

from fastapi import APIRouter, Depends, Request, Response
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from gateway.operators.access import in_database, require_viewer
from gateway.operators.beside_rooms import tell_rooms
from store import beside
from store.beside import READERS, Beside, Waiting
from store.chores.runs import ChoreRun
from store.subscribers.log import LogOutcome

KEPT_SECONDS: Final = 5.0
"""Less than anybody scrapes."""
REST: Final = 20
"""So many times as long as a reading took it is kept: of Postgres' time it takes a twentieth at most."""
ASIDE: Final = ("waiting", "dead")
SUBSCRIBERS: Final = ("active", "disabled")
NOT_AT_REST: Final = ("created", "failed", "canceled", "late")

router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_viewer)])

_CHORES: Final[tuple[tuple[str, str, Callable[[ChoreRun], float]], ...]] = (
    ("onsale_chore_started_seconds", "When it last began.", lambda one: (one.started_at or 0) / 1_000),
    ("onsale_chore_ended_seconds", "When its last run ended.", lambda one: (one.ended_at or 0) / 1_000),
    (
        "onsale_chore_duration_seconds",
        "How long its last run took.",
        lambda one: (one.duration_ms or 0) / 1_000,
    ),
    ("onsale_chore_done", "How much its last run did.", lambda one: one.done or 0),
    ("onsale_chore_failures", "How often it failed in a row.", lambda one: one.failures),
    ("onsale_chore_runs", "How often it began.", lambda one: one.runs),
    ("onsale_chore_late", "1 while it did not run when it should have.", lambda one: one.late),
)


class Kept:
    """The last reading of one gateway."""

    def __init__(self) -> None:
        self._reading = asyncio.Lock()
        self._found: Beside | None = None
        self._read_at = self._took = 0.0

    async def read(self, request: Request) -> tuple[Beside, float]:
        """(what was found, how many seconds ago); whoever comes while it is read waits for that reading."""
        async with self._reading:
            began = monotonic()
            age = began - self._read_at
            if self._found is None or age > max(KEPT_SECONDS, REST * self._took):
                self._found = await in_database(request, beside.read)
                self._read_at, age = monotonic(), 0.0
                self._took = self._read_at - began
            return self._found, age


@router.get("/chores/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """For Prometheus; 503 while Postgres is away."""
    state = request.app.state
    if not hasattr(state, "beside"):
        state.beside = Kept()
    found, age_seconds = await state.beside.read(request)
    return Response(text_of(found, age_seconds), media_type=CONTENT_TYPE_LATEST)


def text_of(found: Beside, age_seconds: float) -> bytes:
    """The exposition format."""
    registry = CollectorRegistry()

    def plain(name: str, says: str, value: float) -> None:
        Gauge(name, says, registry=registry).set(value)

    def each(name: str, says: str, label: str, values: Iterable[tuple[str, float]]) -> None:
        gauge = Gauge(name, says, [label], registry=registry)
        for one, value in values:
            gauge.labels(one).set(value)

    plain("onsale_beside_age_seconds", "How long ago these numbers were read.", age_seconds)
    for name, says, value in _CHORES:
        each(name, says, "chore", [(one.chore, value(one)) for one in found.chores])
    plain("onsale_stuck_refunds", "Refunds that their provider will never give.", found.stuck_refunds)
    unread = [(reader, found.unread.get(reader, Waiting())) for reader in READERS]
    says = "Rows of the outbox that a reader has not come to; of webhooks one for each subscriber."
    each("onsale_outbox_unread", says, "reader", [(one, told.count) for one, told in unread])
    says = "Age of the oldest of them."
    each("onsale_outbox_oldest_seconds", says, "reader", [(one, told.oldest_seconds) for one, told in unread])
    says = "Rows webhooks are done with, one for each subscriber; it grows."
    plain("onsale_webhooks_done", says, found.done)
    says = "Deliveries tried in the last minute, of the last 1,000 of each subscriber."
    each("onsale_webhooks_tried", says, "outcome", _filled(LogOutcome, found.attempts))
    says = "Messages set aside: waiting for another try, or dead letters."
    each("onsale_webhooks_aside", says, "state", _filled(ASIDE, found.aside))
    says = "Subscribers, and those that are disabled."
    each("onsale_subscribers", says, "state", _filled(SUBSCRIBERS, found.subscribers))
    payments = [(state, found.payments.get(state, Waiting())) for state in NOT_AT_REST]
    says = "Payments that can be paid, are to be ended at their provider (canceled), or ask for seats (late)."
    each("onsale_payments", says, "state", [(state, told.count) for state, told in payments])
    says = "Age of the oldest of them."
    each(
        "onsale_payments_oldest_seconds",
        says,
        "state",
        [(one, told.oldest_seconds) for one, told in payments],
    )
    for name, what, told in (
        ("onsale_refunds_due", "Refunds that are due.", found.refunds_due),
        ("onsale_mails_due", "Mails that are to be sent.", found.mails_due),
    ):
        plain(name, what, told.count)
        plain(f"{name}_oldest_seconds", "Age of the oldest of them.", told.oldest_seconds)
    tell_rooms(registry, found.rooms)
    return generate_latest(registry)


def _filled(known: Iterable[str], found: dict[str, int]) -> list[tuple[str, float]]:
    return [(one, found.get(one, 0)) for one in map(str, known)]
