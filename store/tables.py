"""Every table there is, as migrations make them."""

from __future__ import annotations

import store.calling_off.schema
import store.chores.schema
import store.console.schema
import store.erasure.schema
import store.figures.schema
import store.fleet.schema
import store.idempotency_schema
import store.operators.schema
import store.payments.schema
import store.rehearsals.schema
import store.room.schema
import store.subscribers.schema
import store.tickets.schema  # noqa: F401  # each adds its tables
from store.schema import metadata

__all__ = ["metadata"]
