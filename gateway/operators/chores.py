"""The operators' HTTP for what is done beside the sale: `/v1/operator/chores`; and the same for Prometheus,
which sends the operator key like everybody. Every gateway tells the same, so one of them is to be asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import psycopg
from fastapi import APIRouter, Depends, Request, Response
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.exposition import generate_latest

from gateway.operators.access import answer, in_database, require_operator
from store.chores import runs
from store.chores.runs import ChoreRun
from store.payments import stuck

Conn = psycopg.Connection[Any]

router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_operator)])


@router.get("/chores")
async def list_chores(request: Request) -> Response:
    """When each chore last ran, how long it took and what failed; `trouble` says what needs a hand, and
    `stuck_refunds` which refunds their provider will never give."""
    found, by_hand = await in_database(request, lambda conn: (runs.read(conn), stuck.read(conn)))
    told = [{**msgspec.to_builtins(one), "trouble": one.trouble} for one in found]
    return answer({"chores": told, "stuck_refunds": by_hand})


@router.get("/chores/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """For Prometheus."""
    found, by_hand = await in_database(request, lambda conn: (runs.read(conn), stuck.read(conn)))
    return Response(metrics_of(found, len(by_hand)), media_type="text/plain; version=0.0.4; charset=utf-8")


_GAUGES = (
    ("onsale_chore_started_seconds", "When it last began.", lambda one: (one.started_at or 0) / 1_000),
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


def metrics_of(found: Sequence[ChoreRun], by_hand: int) -> bytes:
    """How the chores stand, for Prometheus."""
    registry = CollectorRegistry()
    for name, says, value in _GAUGES:
        gauge = Gauge(name, says, ["chore"], registry=registry)
        for one in found:
            gauge.labels(one.chore).set(value(one))
    stuck_refunds = "Refunds that their provider will never give."
    Gauge("onsale_stuck_refunds", stuck_refunds, registry=registry).set(by_hand)
    return generate_latest(registry)
