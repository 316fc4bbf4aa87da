"""Every table there is, as migrations make them."""

from __future__ import annotations

import store.idempotency_schema  # adds its table
import store.payments.schema  # noqa: F401  # adds its tables
from store.schema import metadata

__all__ = ["metadata"]
