"""A waiting room with the steps of its keeper, on the real engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import redis

from allocator.keeper import BallotStep, Steps
from store.database import connect
from store.lookups import PLAN_BY_KEY
from store.room import admitting, entering
from store.room.admitting import Change, Orders, Standing
from store.settings import EngineUrls
from store.stream.redis_stream import connect as connect_stream
from tests.store.room.lines import Line


class Kept(Line):
    """A line with the steps of its keeper."""

    def __init__(
        self, conn: psycopg.Connection[Any], urls: EngineUrls, client: redis.Redis, **terms: Any
    ) -> None:
        super().__init__(conn, urls.database_url, **terms)
        self.client = client
        self.own = connect(urls.database_url, "test keeper")
        self.own.autocommit = True
        self.own.execute(PLAN_BY_KEY)
        self.keeper = self.steps()

    def steps(self, ballot: BallotStep | None = None) -> Steps:
        """Those of a keeper who has seen nothing yet."""
        return Steps(self.own, self.client, self.event, self.slug, ballot)

    def step(self, after_seconds: float = 0, *buyers: str) -> float:
        """A step, when that time has gone by since the last one."""
        if after_seconds:
            self.ago(after_seconds, *buyers)
        return self.keeper.step()

    def called(self) -> list[str]:
        """Who is admitted, by when."""
        text = (
            "SELECT buyer FROM place WHERE event_id = %s AND state = 'admitted' ORDER BY admitted_at, buyer"
        )
        return [buyer for (buyer,) in self.conn.execute(text, (self.event,)).fetchall()]

    def begin(self, *buyers: str) -> None:
        """They begin to shop."""
        for buyer in buyers:
            self._begin(buyer)

    def _begin(self, buyer: str) -> None:
        self.alone(lambda own: entering.begin(own, self.event, buyer))

    def leave(self, buyer: str) -> None:
        """They go."""
        assert self.alone(lambda own: entering.leave(own, self.event, buyer))

    def admissions(self) -> tuple[int, int]:
        """(how many were ever called, how many places were ever admitted)."""
        text = "SELECT count(*) FROM place WHERE event_id = %s AND admitted_at IS NOT NULL"
        row = self.conn.execute(text, (self.event,)).fetchone()
        assert row is not None, "an aggregate has a row"
        return self.room("admitted"), row[0]

    def giving_back(self) -> int:
        """How many left before beginning and are not counted yet."""
        text = "SELECT count(*) FROM place WHERE event_id = %s AND gives_back"
        row = self.conn.execute(text, (self.event,)).fetchone()
        assert row is not None, "an aggregate has a row"
        return int(row[0])

    def standing(self) -> Standing:
        """What its owner reads."""
        standing = admitting.read(self.own, self.event)
        assert standing is not None, "there is a room"
        return standing


@contextmanager
def keeping(conn: psycopg.Connection[Any], urls: EngineUrls) -> Iterator[Callable[..., Kept]]:
    """Makes lines; closes what they had open."""
    made: list[Kept] = []
    with closing(connect_stream(urls.redis_url)) as client:

        def make(**terms: Any) -> Kept:
            made.append(Kept(conn, urls, client, **terms))
            return made[-1]

        yield make
    for one in made:
        one.own.close()


def change(standing: Standing, **told: Any) -> Change:
    """A change of nothing but what is told."""
    usual: dict[str, Any] = {
        "serving": standing.serving, "serving_priority": standing.serving_priority, "credit": 0.0,
        "factor": 1.0, "rate": None, "reason": None, "orders": Orders(standing.told),
    }  # fmt: skip
    return Change(**usual | told)
