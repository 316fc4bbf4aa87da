"""Every table there is, as migrations make them."""

from __future__ import annotations

import store.payments.schema  # adds its tables
import store.tickets.schema  # noqa: F401  # adds its tables
from store.schema import metadata

__all__ = ["metadata"]
