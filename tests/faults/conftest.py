"""One stage for all tests of faults of a worker; a test that breaks something heals it before it ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.stage import Sale, Stage


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    with Stage() as made:
        yield made


@pytest.fixture
def sale(stage: Stage) -> Iterator[Sale]:
    """A fresh event of 60 seats on the stage."""
    with stage.sale() as made:
        yield made
