"""Where a run goes: an onsale with its database, buyers' tokens, and events made for the run only."""

from __future__ import annotations

import json
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from msgspec import Struct

from bench.checker import judge
from bench.evidence import Finding, Loss, Seen, Truth
from bench.truth import read_truth
from store import events
from store.errors import OnsaleError
from store.plan import Plan
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState

KNOWN_SECONDS_MAX = 20.0
SETTLED_SECONDS_MAX = 30.0
POLL_SECONDS = 0.02


class NotThisMachine(OnsaleError):
    """The checker reads the database, so it needs an onsale of this machine."""


class Target(Struct, frozen=True):
    """A running onsale of this machine, seen from outside and from its database."""

    base_url: str
    database_url: str
    token_secret: str


class StageEvent(Struct, frozen=True):
    """An event made for one run."""

    id: int
    slug: str
    plan: Plan


@contextmanager
def throwaway_target(
    *, allocators: int = 2, env: dict[str, str] | None = None
) -> Iterator[tuple[Target, Callable[[str], int]]]:
    """An onsale of its own, and the process ids of its processes by name; `env` is added to theirs."""
    from onsale.processes import throwaway_stack

    with throwaway_stack(allocators=allocators, env=env) as stack:
        yield Target(stack.base_url, stack.urls.database_url, stack.token_secret), stack.pid


def running_target(url: str, data_dir: Path | None = None) -> Target:
    """The onsale that runs on this machine at `url`, found through its data directory."""
    from onsale.engines.data_dir import DataDir, default_data_dir

    home = DataDir(data_dir or default_data_dir())
    runtime = home.runtime()
    wanted = url.rstrip("/").replace("//localhost", "//127.0.0.1")
    if runtime is None or (runtime.base_url or "").rstrip("/") != wanted:
        runs = runtime.base_url if runtime and runtime.base_url else "none"
        raise NotThisMachine(
            f"No onsale of this machine answers at {url} (running from {home.path}: {runs}). The checker "
            "reads the database: run this where onsale runs, set ONSALE_DATA_DIR, or leave --url out."
        )
    return Target(wanted, runtime.database_url, home.secret("token-secret"))


def make_event(
    database_url: str,
    seats: int | Plan,
    *,
    gate: bool = False,
    hold_ttl_seconds: int = 480,
    seats_per_buyer_max: int = 8,
    offer_ttl_seconds: int = 600,
    state: EventState = EventState.OPEN,
) -> StageEvent:
    """An event of a plan, or of `seats` seats in a theatre of its own."""
    plan = make("theatre", seats) if isinstance(seats, int) else seats
    slug = f"stampede-{secrets.token_hex(4)}"
    with psycopg.connect(database_url) as connection:
        venue_id = save_venue(connection, f"stampede-{plan.name.lower().replace(' ', '-')}", plan)
        event_id = events.create_event(
            connection,
            slug,
            "Stampede",
            venue_id,
            plan,
            hold_ttl_seconds=hold_ttl_seconds,
            seats_per_buyer_max=seats_per_buyer_max,
            fast_gate=gate,
            offer_ttl_seconds=offer_ttl_seconds,
        )
        if state is not EventState.DRAFT:
            events.set_state(connection, slug, state)
    return StageEvent(event_id, slug, plan)


def close_event(database_url: str, event: StageEvent) -> None:
    """The run is over: nobody can ask for these seats any more."""
    with psycopg.connect(database_url) as connection:
        events.set_state(connection, event.slug, EventState.CLOSED)


def wait_known(target: Target, event: StageEvent, state: str = "open") -> None:
    """Until the gateway knows the event in that state and an allocator owns it."""
    with psycopg.connect(target.database_url, autocommit=True) as connection:
        owned = "SELECT 1 FROM event_cursor WHERE event_id = %s AND owner IS NOT NULL AND batch_no > 0"
        _wait(lambda: connection.execute(owned, (event.id,)).fetchone() is not None, "an allocator owns it")
    _wait(lambda: _state(target, event) == state, "the gateway knows it")


def settle(target: Target, event: StageEvent, arrivals: list[str]) -> bool:
    """Wait until everything acknowledged is decided; False when the time ran out."""
    from store.wire import arrival_order

    if not arrivals:
        return True
    last = max(map(arrival_order, arrivals))
    statement = "SELECT arrival FROM event_cursor WHERE event_id = %s"
    give_up_at = time.monotonic() + SETTLED_SECONDS_MAX
    with psycopg.connect(target.database_url, autocommit=True) as connection:
        while time.monotonic() < give_up_at:
            row = connection.execute(statement, (event.id,)).fetchone()
            if row is not None and arrival_order(row[0]) >= last:
                return True
            time.sleep(POLL_SECONDS)
    return False


def examine(
    database_url: str, event: StageEvent, seen: list[Seen], losses: Sequence[Loss] = ()
) -> tuple[list[Finding], Truth]:
    """The checker's findings and those of the replay, and what the database holds."""
    from allocator import replay

    with psycopg.connect(database_url) as connection:
        truth = read_truth(connection, event.slug)
        findings = judge(seen, truth, losses)
        for item in replay.verify(connection, event.id):
            if isinstance(item, replay.Finding):
                findings.append(Finding("replay", f"Batch {item.batch_no} {item.story}."))
    return findings, truth


def _state(target: Target, event: StageEvent) -> str:
    try:
        with urllib.request.urlopen(f"{target.base_url}/v1/events/{event.slug}", timeout=5) as answer:
            found: dict[str, Any] = json.load(answer)
    except (urllib.error.URLError, ValueError):
        return ""
    return str(found.get("state") or found.get("event", {}).get("state", ""))


def _wait(true_when: Callable[[], bool], what: str) -> None:
    give_up_at = time.monotonic() + KNOWN_SECONDS_MAX
    while not true_when():
        if time.monotonic() > give_up_at:
            raise OnsaleError(f"Waited {KNOWN_SECONDS_MAX:g} s for the event until {what}; see the logs.")
        time.sleep(POLL_SECONDS)
