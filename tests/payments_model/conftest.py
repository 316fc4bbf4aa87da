"""One database for all sales of a test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tests.payments_model import machine
from tests.payments_model.house import House


@pytest.fixture
def house(database_url) -> Iterator[House]:
    with contextlib.closing(House(database_url)) as made:
        machine.running.append(made)
        yield made
        machine.running.remove(made)
