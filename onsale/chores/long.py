"""Long chores whose code is called another way than `catalogue` says."""

from __future__ import annotations

import importlib
import threading


def relay(database_url: str, stop: threading.Event) -> None:
    """Deliver webhooks until `stop`."""
    importlib.import_module("notifier.relay").run_until_told(database_url, stop.is_set)
