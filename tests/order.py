"""In which order the tests run: files with tests of many seconds first, all others after them as they stand.

Each worker begins with a part of the list and then takes from who has most left. What takes long and comes
late would keep one worker busy while the others have nothing left to take.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, TypeVar

HERE = Path(__file__).parent
LONG = (
    "fuzz/test_openapi.py",
    "onsale/chores/test_processes.py",
    "browser/test_console_journey.py",
    "simulation/test_faults.py",
    "store/test_jobs.py",
    "model/test_model.py",
)


class OfFile(Protocol):
    """A test, as far as its place is concerned."""

    path: Path


Test = TypeVar("Test", bound=OfFile)


def long_first(items: Iterable[Test]) -> list[Test]:
    """Those of each file stay together: they share what they have started."""
    places = {HERE / name: place for place, name in enumerate(LONG)}
    return sorted(items, key=lambda item: places.get(item.path, len(places)))
