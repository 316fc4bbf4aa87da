"""What several of these tests share, because starting it takes seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.backlog import allocator_stack
from bench.target import Target
from onsale.processes import Stack, throwaway_stack


@pytest.fixture(scope="package")
def alone_stack() -> Iterator[Stack]:
    """Engines and one allocator."""
    with allocator_stack() as stack:
        yield stack


@pytest.fixture(scope="package")
def whole_stack() -> Iterator[Stack]:
    """Engines, a gateway, an owner and a standby."""
    with throwaway_stack(allocators=2) as stack:
        yield stack


@pytest.fixture(scope="package")
def target(whole_stack: Stack) -> Target:
    return Target(whole_stack.base_url, whole_stack.urls.database_url, whole_stack.token_secret)
