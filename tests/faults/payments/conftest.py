"""One till for the tests of this folder that a worker runs; who breaks something mends it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.payments.till import Till, open_till


@pytest.fixture(scope="package")
def till() -> Iterator[Till]:
    with open_till() as made:
        yield made
