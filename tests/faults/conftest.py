"""One stage for the tests of faults that a worker runs in one go; who breaks something mends it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.stage import Sale, Stage


@pytest.fixture(scope="package")
def stage() -> Iterator[Stage]:
    with Stage() as made:
        yield made


@pytest.fixture
def sale(stage: Stage) -> Iterator[Sale]:
    """A fresh event of 60 seats on the stage."""
    with stage.sale() as made:
        yield made
