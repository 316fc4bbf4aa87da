"""An event that is paid for, on a real Postgres, and a provider that remembers what it was asked."""

from __future__ import annotations

import pytest

from tests.onsale.chores.doings import FakeProvider
from tests.store.payments.test_settle import event  # noqa: F401
from tests.store.test_holds import conn  # noqa: F401
from tests.store.test_holds import event as free_event  # noqa: F401


@pytest.fixture
def provider():
    return FakeProvider()
