"""Every chore there is: what it is for, how often it runs, and where its code is.

A short chore is `async def chore(doing: Doing) -> int` (how much it did), begun every so many seconds and
done within `doing.BUDGET_SECONDS`. A long one is `def run(database_url: str, stop: threading.Event) -> None`,
and runs until it is stopped; where nobody has heard from it for a while it is begun anew, anywhere.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

QUEUE_PREFIX: Final = "onsale-"
HERE: Final = "onsale.chores"


class Chore(NamedTuple):
    """A chore; `where` is module:function."""

    name: str
    says: str
    every_seconds: int
    where: str
    long: bool = False

    @property
    def queue(self) -> str:
        """Each has a queue of its own, so that at most one run of it waits."""
        return QUEUE_PREFIX + self.name

    def load(self) -> Callable[..., Any]:
        """Its function."""
        module, _, name = self.where.partition(":")
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return found


SHORT: Final[tuple[Chore, ...]] = (
    Chore("payments", "ends and looks up payments", 5, f"{HERE}.payments:payments"),
    Chore("refunds", "gives money back that is due", 3, f"{HERE}.refunds:refunds"),
    Chore("late", "asks for seats for money that came late", 3, f"{HERE}.late:late"),
    Chore("mail", "tells buyers by mail", 3, f"{HERE}.mail:mail"),
    Chore("sweep", "frees what ran out where nobody attends", 15, f"{HERE}.sweep:sweep"),
    Chore("reconcile", "compares money and seat maps with Postgres", 30, f"{HERE}.reconcile:reconcile"),
    Chore(
        "calling-off",
        "takes back or moves orders of events that are off",
        5,
        f"{HERE}.calling_off:calling_off",
    ),
    Chore("trim", "forgets what nobody needs any more", 3_600, f"{HERE}.trim:trim"),
)
LONG: Final[tuple[Chore, ...]] = (
    Chore("relay", "delivers webhooks", 5, f"{HERE}.long:relay", long=True),
    Chore("rehearsals", "rehearses copies of events", 5, "onsale.rehearsals.chore:run", long=True),
    Chore("figures", "keeps the figures of each sale", 5, "store.figures.project:run", long=True),
    Chore("samples", "keeps how each sale went, for the console", 5, "store.console.sampling:run", long=True),
)


def chores() -> list[Chore]:
    """All of them, the most urgent first."""
    return [*SHORT, *LONG]


def chore_named(name: str) -> Chore | None:
    """The chore of that name, if there is one."""
    return next((chore for chore in chores() if chore.name == name), None)
