"""A till for each test that asks for one."""

from __future__ import annotations

import pytest

from tests.gateway.payments.till import till as open_till


@pytest.fixture
def till(engine_urls, tmp_path):
    """Holds are paid for; what comes too late goes back."""
    with open_till(engine_urls, tmp_path / "simulated") as opened:
        yield opened
