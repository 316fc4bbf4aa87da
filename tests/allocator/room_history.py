"""Histories of a whole waiting room on a real Postgres, by chance, in virtual time, and the judge of each.

One seed is one history: buyers join, leave, begin, buy and come back; the organiser pauses; the stream's
server is wiped; the keeper's connection is cut before any of its statements, or before it hears what became
of one. Time passes by moving what is written into the past. After each of these the judge looks at all
tables.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg
import redis

from allocator.keeper import Steps
from store.database import connect
from store.lookups import PLAN_BY_KEY
from store.room import draw, entering
from store.room.words import Lane
from tests.faults.proxy import CuttingProxy
from tests.store.room.lines import Line

NOTE = """
CREATE TABLE admission (place uuid, returned boolean, lane text);
CREATE FUNCTION note_admission() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO admission VALUES (NEW.id, NEW.returned, NEW.lane); RETURN NEW; END $$;
CREATE TRIGGER note_admission AFTER UPDATE ON place FOR EACH ROW
 WHEN (NEW.state = 'admitted' AND OLD.state <> 'admitted') EXECUTE FUNCTION note_admission();
CREATE TABLE no_show (place uuid);
CREATE FUNCTION note_no_show() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO no_show VALUES (NEW.id); RETURN NEW; END $$;
CREATE TRIGGER note_no_show AFTER UPDATE ON place FOR EACH ROW
 WHEN (NEW.state IN ('expired', 'left') AND OLD.state = 'admitted' AND NEW.begun_at IS NULL)
 EXECUTE FUNCTION note_no_show()
"""
"""Writes down what happens to places, in the transaction in which it happens."""

WORDS = (
    b"INSERT INTO line",
    b"UPDATE room SET drawn_at",
    b"UPDATE room SET version = version + 1, serving",
    b"UPDATE place SET state = ended.state",
    b"UPDATE place SET gives_back",
    b"UPDATE place SET state = 'admitted'",
    b"UPDATE place SET bought_at",
    b"COMMIT",
)
BUYERS = 80

PLACES = """
SELECT place.id, buyer, place.lane, state, returned, in_draw, position
  FROM place LEFT JOIN line ON place_id = place.id WHERE place.event_id = %s
"""


class History:
    """One room and what has become of it so far."""

    def __init__(
        self, conn: psycopg.Connection[Any], url: str, client: redis.Redis, proxy: CuttingProxy, seed: int
    ) -> None:
        self.chance = random.Random(seed)
        terms: dict[str, Any] = {"begin_seconds": 60, "shopping_seconds": 120}
        if seed % 3 != 1:
            terms["pace"] = self.chance.choice([60, 240, 1_200])
        if seed % 3 != 0:
            terms["shopping_max"] = self.chance.choice([3, 10, 25])
        terms["policy"] = self.chance.choice(["draw", "draw", "fifo"])
        self.terms = terms
        conn.execute(NOTE)
        self.line = Line(conn, url, **terms)
        self.conn, self.client, self.proxy = conn, client, proxy
        self._by_way_of = proxy.url(url)
        self._own: psycopg.Connection[Any] | None = None
        self._steps: Steps | None = None
        self._virtual_seconds = 0.0
        self._stood: dict[tuple[str, int], Any] = {}
        self._served = (0, 0)
        self._ids: set[Any] = set()
        self._left_lobby: set[Any] = set()
        self.cuts = 0

    def close(self) -> None:
        """Ends the keeper."""
        if self._own is not None:
            self._own.close()

    def open(self) -> None:
        """The sale begins."""
        text = "SELECT id FROM place WHERE event_id = %s AND state = 'left' AND in_draw"
        self._left_lobby = {place for (place,) in self.conn.execute(text, (self.line.event,))}
        self.line.open()
        drawn = self.conn.execute(
            "SELECT count(*) FROM place WHERE event_id = %s AND in_draw", (self.line.event,)
        )
        assert drawn.fetchone() == (self.line.room("drawn"),), "as many are counted as are drawn"

    def act(self) -> None:
        """Something happens."""
        acts: list[tuple[int, Callable[[], None]]] = [
            (6, self.join), (2, self.leave), (5, self.begin), (5, self.buy), (2, self.holds_end),
            (14, self.step), (6, self.cut), (4, self.time), (1, self.wipe), (1, self.pause), (1, self.anew),
        ]  # fmt: skip
        weights = [weight for weight, _ in acts]
        self.chance.choices([act for _, act in acts], weights)[0]()
        self.judge()

    def join(self) -> None:
        lane = self.chance.choice([Lane.ORDINARY, Lane.ORDINARY, Lane.PRIORITY])
        self.line.join(*{f"b{self.chance.randrange(BUYERS)}" for _ in range(8)}, lane=lane)

    def leave(self) -> None:
        self._one_of("state IN ('waiting', 'admitted')", entering.leave)

    def begin(self) -> None:
        self._one_of("state = 'admitted'", entering.begin)

    def buy(self) -> None:
        """Who shops holds something, and perhaps buys it."""
        for buyer in self._buyers("state = 'admitted' AND begun_at IS NOT NULL")[:4]:
            number = self.conn.execute("SELECT count(*) + 1 FROM hold").fetchone()
            assert number is not None
            self.line.hold(buyer, number[0], self.chance.choice(["active", "paid", "paid"]))
            self.line.buys(buyer)

    def holds_end(self) -> None:
        self.line.holds_end()

    def step(self) -> None:
        """The owner's next step; where its connection was cut it makes another, as its thread does."""
        try:
            if self._steps is None:
                self._own = connect(self._by_way_of, "history")
                self._own.autocommit = True
                self._own.execute(PLAN_BY_KEY)
                self._steps = Steps(self._own, self.client, self.line.event, self.line.slug)
            self._steps.step()
        except psycopg.OperationalError:
            self.cuts += 1
            self.anew()

    def cut(self) -> None:
        """The owner dies before a statement, or before it hears what became of it."""
        cut = self.chance.choice([self.proxy.cut_before, self.proxy.cut_reply_to])
        self.anew()  # statements that were prepared have no words any more
        cut(self.chance.choice(WORDS))
        for _ in range(3):
            self._pass(10.0)  # so that there is somebody to call, or to end
            self.step()
        self.proxy.heal()

    def anew(self) -> None:
        """Another owner goes on."""
        self.close()
        self._own = self._steps = None

    def time(self) -> None:
        """Some time goes by, and the organiser goes on with what was paused."""
        self._pass(self.chance.choice([1.0, 10.0, 61.0, 130.0]))
        self.conn.execute("UPDATE room SET admission = 'running'")

    def _pass(self, seconds: float) -> None:
        self.line.ago(seconds, *self._buyers("true"))
        self._virtual_seconds += seconds

    def wipe(self) -> None:
        self.client.flushdb()

    def pause(self) -> None:
        self.conn.execute("UPDATE room SET admission = 'paused'")

    def _buyers(self, where: str) -> list[str]:
        text = f"SELECT buyer FROM place WHERE event_id = %s AND {where} ORDER BY joined_at"
        found = [buyer for (buyer,) in self.conn.execute(text, (self.line.event,))]
        self.chance.shuffle(found)
        return found

    def _one_of(self, where: str, does: Any) -> None:
        for buyer in self._buyers(where)[:3]:
            self._alone(does, buyer)

    def _alone(self, does: Any, buyer: str) -> None:
        self.line.alone(lambda own: does(own, self.line.event, buyer))

    # --- the judge ---

    def judge(self) -> None:
        """Demands every law of what is in the tables now."""
        rows = self.conn.execute(PLACES, (self.line.event,)).fetchall()
        served = self.line.room("serving", "serving_priority")
        ids = {row[0] for row in rows}
        assert ids >= self._ids, "no place is lost"
        stood = {(lane, position): place for place, _, lane, _, _, _, position in rows if position}
        assert stood.items() >= self._stood.items(), "who stands somewhere stands there for good"
        for lane in Lane if self.line.room("drawn_at") else ():
            numbers = [position for of, position in stood if of == lane]
            assert sorted(numbers) == list(range(1, len(numbers) + 1)), "positions have no gaps"
        assert all(now >= was for now, was in zip(served, self._served, strict=True)), "nothing goes back"
        self._ids, self._stood, self._served = ids, stood, served
        self._judge_states(rows, dict(zip(Lane, served, strict=True)))
        self._judge_draw(rows)
        self._judge_admissions()

    def _judge_states(self, rows: list[Any], served: dict[Lane, int]) -> None:
        for _, buyer, lane, state, returned, _, position in rows:
            if position is None:
                assert state in ("waiting", "left"), f"{buyer} is {state} before the draw"
            elif position > served[Lane(lane)]:
                assert state in ("waiting", "left"), f"{buyer} is {state} and was not called"
            else:
                assert state != "waiting" or returned, f"{buyer} was passed over"
        inside = sum(row[3] == "admitted" for row in rows)
        assert inside <= self.terms.get("shopping_max", inside), "no more are inside than may be"

    def _judge_draw(self, rows: list[Any]) -> None:
        drawn_at, seed = self.line.room("drawn_at", "seed")
        if drawn_at is None:
            return
        stand = {place for place, *_, position in rows if position}
        assert not stand & self._left_lobby, "nobody stands in line who had left before the draw"
        for lane in Lane:
            drawn = [
                (position, place) for place, _, of, _, _, in_draw, position in rows if in_draw and of == lane
            ]
            by_rank = sorted((draw.rank_of(bytes(seed), place), place) for _, place in drawn)
            assert [place for _, place in sorted(drawn)] == [place for _, place in by_rank], (
                "the draw is honest"
            )

    def _judge_admissions(self) -> None:
        rows = self.conn.execute("SELECT place, returned FROM admission").fetchall()
        firsts = Counter(place for place, returned in rows if not returned)
        assert set(firsts.values()) <= {1}, "nobody is admitted twice"
        assert self.line.room("admitted") == len(firsts)
        no_shows = Counter(place for (place,) in self.conn.execute("SELECT place FROM no_show"))
        again = Counter(place for place, returned in rows if returned)
        assert all(no_shows[place] >= many for place, many in again.items()), "who returns did not begin"
        pace, opened = self.terms.get("pace"), self.line.room("lobby_ended_at")
        if pace is None or opened is None:
            return
        real = self.conn.execute("SELECT extract(epoch FROM clock_timestamp() - %s)", (opened,)).fetchone()
        assert real is not None
        due = 1 + pace / 60 * (float(real[0]) + self._virtual_seconds) + no_shows.total()
        assert len(rows) <= due, "no more are called than the pace allows and who did not begin gave back"

    def finish(self) -> None:
        """In the end everybody who still waits is called."""
        self.proxy.heal()
        for _ in range(400):
            if not self._buyers("state = 'waiting'"):
                return
            self.holds_end()
            self.time()
            self.step()
            self.judge()
        raise AssertionError("somebody waits for ever")
