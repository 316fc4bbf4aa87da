"""How long property tests search: a fixed, short list of examples in `./run test`; many random ones with
`HYPOTHESIS_PROFILE=long`. Only that one makes what failed smaller, which takes minutes with engines.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, Phase, settings

LONG = os.environ.get("HYPOTHESIS_PROFILE", "") == "long"
LONGER = 25
"""How many times as many examples the long profile tries."""


def use() -> None:
    """Also tests that only say how many examples they want get the same ones each time, unless it is long."""
    settings.register_profile("short", derandomize=not LONG, deadline=None)
    settings.load_profile("short")


def searching(examples: int, **more: Any) -> settings:
    """About `examples` examples: the same ones each time, unless the search is a long one. No deadline for
    one of them: they wait for engines."""
    return settings(
        max_examples=examples * LONGER if LONG else examples,
        derandomize=not LONG,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=(Phase.explicit, Phase.generate, *((Phase.shrink,) if LONG else ())),
        suppress_health_check=list(HealthCheck),
        print_blob=LONG,
        **more,
    )
