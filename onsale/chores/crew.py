"""The workers of one host: one for all short chores and one for each long one, kept running."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from onsale.chores.catalogue import Chore
from store.jobs.crew import Crew, Hand

log = logging.getLogger("onsale.chores")


def crew_for(chores: Sequence[Chore]) -> Crew:
    """Who does these chores here."""
    short = [chore.name for chore in chores if not chore.long]
    return Crew([_hand(short), *[_hand([chore.name]) for chore in chores if chore.long]])


def _hand(names: Sequence[str]) -> Hand:
    return Hand("onsale.chores.worker", names, f"the worker for {', '.join(names)}", log)
