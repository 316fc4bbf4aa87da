"""What several of these tests share, because starting it takes seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.backlog import allocator_stack
from onsale.processes import Stack


@pytest.fixture(scope="session")
def alone_stack() -> Iterator[Stack]:
    """Engines and one allocator."""
    with allocator_stack() as stack:
        yield stack
