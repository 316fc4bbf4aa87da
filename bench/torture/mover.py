"""An operator who moves seats and places to other categories while buyers buy, by the public HTTP.

Of three moves one names the plan's version, one a version that is not the last any longer, one none. Each is
asked for again, at any gateway, until there is an answer. What was answered is kept, to be judged against the
ledger.
"""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from itertools import cycle
from typing import Any, Literal

from msgspec import Struct

from bench.target import StageEvent
from bench.torture.office import AtWork
from store.errors import Unavailable
from store.plan import Plan

ANSWER_SECONDS_MAX = 5.0
PATIENCE_SECONDS = 30.0
PAUSE_SECONDS = 0.1
BETWEEN_SECONDS = (0.2, 1.2)
SEATS_MAX = 3
AREA_SHARE = 0.2
NO_ANSWER = (0, 503)
"""Nobody there, or nobody who knows: to be asked again."""
Names = Literal["the last", "an older one", "none"]


class Move(Struct, frozen=True):
    """One move and its answer."""

    category: str
    seats: tuple[str, ...]
    areas: tuple[str, ...]
    known: int
    """The plan has at least this version when it is asked for, by what was answered before."""
    asked: int | None
    """Only if this is the plan's version still."""
    unsure: bool
    """A try of this operator had no answer so far: more may have been moved than it knows of."""
    status: int
    code: str
    version: int
    """What the plan is by the answer; 0 in a refusal."""

    @property
    def told(self) -> str:
        """In a few words."""
        asked = "" if self.asked is None else f" if it is {self.asked}"
        answer = f"{self.status} {self.code}".strip()
        what = ", ".join((*self.seats, *self.areas))
        return (
            f"A move of {what} to {self.category} (plan {self.known} or later{asked}) was answered {answer}"
        )


class Mover(AtWork):
    """Moves on one event, all the time and whatever is broken, until it is closed."""

    def __init__(
        self, urls: Sequence[str], operator_key: str, event: StageEvent, chance: random.Random
    ) -> None:
        self.moves: list[Move] = []
        self._urls = cycle(f"{url}/v1/operator/events/{event.slug}/categories" for url in urls)
        self._key = operator_key
        self._plan = event.plan
        self._chance = chance
        self._names: cycle[Names] = cycle(("the last", "an older one", "none"))
        self._known = 0
        self._unsure = False
        super().__init__("mover")

    def turn(self) -> None:
        if self.closing.wait(self._chance.uniform(*BETWEEN_SECONDS)):
            return
        known, names = self._known, next(self._names)
        asked = {"the last": known, "an older one": max(0, known - 1), "none": None}[names]
        category, seats, areas = _something(self._plan, self._chance)
        body = {"category": category, "seats": seats, "areas": areas, "who": "torture", "why": "other prices"}
        status, answer = self._answered(body if asked is None else body | {"version": asked})
        version = int(answer.get("version", 0))
        what = (category, tuple(seats), tuple(areas), known, asked, self._unsure)
        self.moves.append(Move(*what, status, str(answer.get("code", "")), version))
        self._known = max(known, version)

    def _answered(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        while True:
            status, answer = self._post(next(self._urls), body)
            if status not in NO_ANSWER:
                return status, answer
            self._unsure = True
            if time.monotonic() > give_up_at:
                raise Unavailable(
                    f"No gateway answered a move for {PATIENCE_SECONDS:g} s ({status} {answer})."
                )
            time.sleep(PAUSE_SECONDS)

    def _post(self, url: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """(status, JSON); status 0 where no whole answer came."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        try:
            try:
                with urllib.request.urlopen(request, timeout=ANSWER_SECONDS_MAX) as reply:
                    return reply.status, json.load(reply)
            except urllib.error.HTTPError as refused:
                with refused:
                    return refused.code, json.load(refused)
        except (OSError, ValueError, http.client.HTTPException):
            return 0, {}


def _something(plan: Plan, chance: random.Random) -> tuple[str, list[str], list[str]]:
    """A category, and neighbours or an area to become of it; they may be of it already."""
    category = chance.choice(plan.categories).name
    if plan.areas and chance.random() < AREA_SHARE:
        return category, [], [chance.choice(plan.areas).guid]
    first = chance.randrange(len(plan.seats))
    return category, [seat.guid for seat in plan.seats[first : first + chance.randint(1, SEATS_MAX)]], []
