"""The simulation notices when a guard is taken out: each fault breaks a law within a few on-sales."""

from __future__ import annotations

import pytest

from tests.simulation.faults import FAULTS, caught_by

pytestmark = pytest.mark.simulation
SEEDS_MAX = 150


@pytest.mark.parametrize("name", FAULTS)
def test_the_simulation_notices(name):
    result = caught_by(name, range(SEEDS_MAX))
    assert result is not None, f"{FAULTS[name].story}: nobody noticed in {SEEDS_MAX} on-sales"
    assert result.broken
