"""Long chores whose code is called another way than `catalogue` says."""

from __future__ import annotations

import threading

from notifier.relay import run_until_told


def relay(database_url: str, stop: threading.Event) -> None:
    """Deliver webhooks until `stop`."""
    run_until_told(database_url, stop.is_set)
