"""Does every gateway come to show what the tables say: the state of each seat, the places left, the plan?"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Sequence

import psycopg
from msgspec import Struct

from bench.evidence import Finding
from bench.target import StageEvent, Target

SHOWN_SECONDS_MAX = 8.0
POLL_SECONDS = 0.2


STATES = """
SELECT string_agg(CASE state WHEN 'available' THEN 'a' ELSE left(state, 1) END, '' ORDER BY seat_no)
  FROM seat WHERE event_id = %s
"""
PLACES = """
SELECT capacity - held - sold - blocked FROM area WHERE event_id = %s ORDER BY area_no
"""
PLAN = """
-- The last that counts: a move does once the allocator took it in.
SELECT encode(coalesce(
         (SELECT plan_sha256 FROM event_plan
           WHERE event_id = event.id AND (version = 0 OR ledger_at IS NOT NULL)
           ORDER BY version DESC LIMIT 1),
         venue.plan_sha256), 'hex')
  FROM event JOIN venue ON venue.id = event.venue_id
 WHERE event.id = %s
"""


class Shown(Struct, frozen=True):
    """An event as somebody sees it now."""

    states: str = ""
    """A letter for each seat."""
    places: tuple[int, ...] = ()
    """Free, of each area."""
    plan: str = ""
    """The plan's fingerprint: it tells which seat is of which category."""


def shown_wrongly(targets: Sequence[Target], event: StageEvent) -> list[Finding]:
    """Gateways whose seat map or plan does not become what the tables say."""
    give_up_at = time.monotonic() + SHOWN_SECONDS_MAX
    wrong = list(targets)
    while wrong and time.monotonic() < give_up_at:
        time.sleep(POLL_SECONDS)
        wrong = [target for target in wrong if _by_gateway(target, event) != _by_tables(target, event)]
    return [
        Finding("unexplained", f"What {target.base_url} shows stays wrong: {_difference(target, event)}.")
        for target in wrong
    ]


def _difference(target: Target, event: StageEvent) -> str:
    shown, true = _by_gateway(target, event), _by_tables(target, event)
    seats = [
        f"{seat.guid} {ours!r} instead of {theirs!r}"
        for seat, ours, theirs in zip(event.plan.seats, shown.states, true.states, strict=False)
        if ours != theirs
    ]
    places = f"free places {shown.places} instead of {true.places}"
    plan = f"plan {shown.plan[:12] or '?'} instead of {true.plan[:12]}"
    return f"{len(seats)} seats ({', '.join(seats[:5])}), {places}, {plan}"


def _by_gateway(target: Target, event: StageEvent) -> Shown:
    url = f"{target.base_url}/v1/events/{event.slug}"
    try:
        with urllib.request.urlopen(f"{url}/seats", timeout=5) as answer:
            seats = json.load(answer)
        with urllib.request.urlopen(f"{url}/plan", timeout=5) as answer:
            plan = str(answer.headers["ETag"]).strip('"')
    except (OSError, ValueError):
        return Shown()
    return Shown(seats["states"], tuple(seats["areas"]), plan)


def _by_tables(target: Target, event: StageEvent) -> Shown:
    with psycopg.connect(target.database_url) as conn:
        [(states,)] = conn.execute(STATES, (event.id,)).fetchall()
        free = conn.execute(PLACES, (event.id,)).fetchall()
        [(plan,)] = conn.execute(PLAN, (event.id,)).fetchall()
    return Shown(states, tuple(places for (places,) in free), plan)
