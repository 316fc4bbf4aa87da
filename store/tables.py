"""Every table there is, as migrations make them."""

from __future__ import annotations

import store.chores.schema
import store.payments.schema  # noqa: F401  # each adds its tables
from store.schema import metadata

__all__ = ["metadata"]
