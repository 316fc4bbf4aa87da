"""The virtual Postgres answers what is said of a waiting room as the real one does: histories by chance."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from random import Random
from typing import Any

import pytest
from msgspec import UNSET

from allocator import keeper, pressure
from store import events, lost_time, opening
from store.audit import Said
from store.room import ballot, entering, joining, operating, watching
from store.room.ballot import REQUEST_ID
from store.room.codes import Code
from store.room.joining import Joining
from store.room.words import Admission, Lane, RoomPolicy, RoomTerms
from store.words import Best, EventState, Want
from tests.simulation.postgres import ONE
from tests.simulation.room_statements import ROOMS
from tests.simulation.twin import SLUG, Twin

pytestmark = pytest.mark.simulation

ACTS = 200
ACTS_MAX = 480
ADMITTED = 3
LOBBY_ACTS = 40
BUYERS = [f"b{number}" for number in range(24)]
CODES = [hashlib.sha256(bytes([number])).digest() for number in range(6)]
SAID = Said("Olga", "as in life")


class History:
    """What happens to both rooms, by chance."""

    def __init__(self, twin: Twin, seed: int) -> None:
        self.twin, self.random = twin, Random(seed)
        self.done: Counter[str] = Counter()
        for number, code in enumerate(CODES[:4]):
            twin.code(code, 1 + number)

    def act(self) -> None:
        acts: list[tuple[float, Callable[[], object]]] = [
            (6, self.join), (3, self.leave), (3, self.begin), (4, self.more), (4, self.look), (9, self.step),
            (4, self.time), (5, self.wish), (2, self.buy), (2, self.hold), (1, self.holds_end),
            (3, self.operate), (5, self.decide), (1, self.outage), (1, self.lose_stream), (1, self.pause),
            (0.3, self.revoke),
        ]  # fmt: skip
        weights = [weight for weight, _ in acts]
        act = self.random.choices([one for _, one in acts], weights)[0]
        self.done[act.__name__] += 1
        act()
        self.twin.goes_by(0.0)
        self.twin.compare()

    def join(self) -> None:
        joins = [
            Joining(buyer, code=self._code(), email=self.random.choice((None, None, f"{buyer}@example.org")))
            for buyer in self.random.sample(BUYERS, self.random.randint(1, 5))
        ]
        self.twin.both_at_once(lambda own: joining.join(own, ONE, joins))

    def _code(self) -> Code | None:
        if self.random.random() < 0.7:
            return None
        return Code(self.random.choice(CODES), invitation=self.random.random() < 0.3)

    def leave(self) -> None:
        called = self._in_state("admitted") if self.random.random() < 0.5 else []
        buyer = self.random.choice(called or BUYERS)
        self.twin.both_at_once(lambda own: entering.leave(own, ONE, buyer))

    def begin(self) -> None:
        for buyer in self._in_state("admitted")[:2] or [self.random.choice(BUYERS)]:
            self.twin.both_at_once(partial(_begin, buyer=buyer))

    def more(self) -> None:
        """Who is told when their time ends asks for more; now and then of a time that was."""
        places = [row for row in self.twin.database.rows["place"].values() if row.state == "admitted"]
        for row in self.random.sample(places, min(3, len(places))):
            ends = row.begin_by if row.until is None else row.until
            end = ends // 1000 - (self.random.random() < 0.2)
            for _ in range(self.random.choice((1, 1, 2))):
                self.twin.both_at_once(partial(_more, buyer=row.buyer, end=end))

    def look(self) -> None:
        some = self.random.sample(BUYERS, 5)
        self.twin.both_at_once(lambda own: joining.read(own, ONE, some))
        self.twin.both_at_once(lambda own: watching.holding(own, ONE, some))
        self.twin.both_at_once(lambda own: watching.now(own, ONE))
        places = [place for place, _ in zip(self.twin.database.rows["place"], range(4), strict=False)]
        self.twin.both_at_once(lambda own: _by_id(own, places))
        behind = {"event": ONE, "lane": self.random.choice(list(Lane)), "after": self.random.randint(0, 4)}
        for text in (ballot.UNDECIDED_NEAR, ballot.UNDECIDED_FAR):
            self.twin.both(partial(_said, text=text, values=behind))

    def step(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.twin.step()
            self.twin.goes_by(self.random.choice((0.0, 0.5)))

    def time(self) -> None:
        self.twin.goes_by(self.random.choice((0.5, 3.0, 11.0, 40.0)))

    def wish(self) -> None:
        here = self._in_state("waiting") if self.random.random() < 0.9 else []
        buyer, count = self.random.choice(here or BUYERS), self.random.randint(1, 4)
        if self.random.random() < 0.2:
            self.twin.both_at_once(lambda own: ballot.withdraw(own, ONE, buyer))
        else:
            want = Want(best=Best(count), waitlist=True if count == 4 else UNSET)  # type: ignore[arg-type]
            self.twin.both_at_once(lambda own: ballot.file(own, ONE, buyer, want))
        self.twin.both_at_once(lambda own: ballot.read(own, ONE, buyer))

    def buy(self) -> None:
        for buyer in self._in_state("admitted")[:2] or [self.random.choice(BUYERS)]:
            self.twin.buys(buyer, self.random.choice(("buyer", "buyer", "box_office")))

    def hold(self) -> None:
        buyer = self.random.choice(self._in_state("admitted") or BUYERS)
        state = self.random.choice(("active", "active", "paid"))
        request, room = f"r{self.twin.holds}", self.twin.database.rows["room"][ONE]
        if not room.terms.ballot or room.ballot_ended_at is not None:
            known = (buyer, REQUEST_ID) in self.twin.database.rows["ledger_key"]
            request = request if known or self.random.random() < 0.5 else REQUEST_ID  # as who buys may say
        self.twin.hold(buyer, request, state, self.random.choice((1.0, 20.0)))

    def holds_end(self) -> None:
        self.twin.ends_holds()

    def decide(self) -> None:
        """The loop, of what the ballot has in its stream."""
        known = self.twin.database.rows["ledger_key"]
        wishes = [row.buyer for place, row in self.twin.database.rows["place"].items()
                  if place in self.twin.database.rows["ballot_wish"]]  # fmt: skip
        for buyer in dict.fromkeys(wishes):
            if (buyer, "ballot") not in known and self.twin.pieces[0].appended and self.random.random() < 0.8:
                if self.random.random() < 0.5:
                    self.twin.hold(buyer, "ballot", self.random.choice(("active", "paid")), 15.0)
                else:
                    self.twin.decided(buyer, "ballot")

    def operate(self) -> None:
        if self.random.random() < 0.5:
            paused = self.twin.database.rows["room"][ONE].admission == Admission.PAUSED
            to = Admission.RUNNING if paused else self.random.choice(list(Admission)[:2])
            self.twin.both(lambda conn: operating.admit(conn, SLUG, to, SAID))
            return
        terms = {
            "pace": self.random.choice((None, 60, 600)),
            "shopping_max": self.random.choice((None, 2, 6)),
        }
        self.twin.both(lambda conn: operating.change(conn, SLUG, SAID, **terms))

    def revoke(self) -> None:
        label = self.random.choice(("fans", "nobody"))
        self.twin.both(lambda conn: operating.revoke_codes(conn, SLUG, SAID, label=label))

    def pause(self) -> None:
        to = EventState.OPEN if self._state() == "paused" else EventState.PAUSED
        if self._state() != "lobby":
            self.twin.both(lambda conn: _state(conn, to))

    def outage(self) -> None:
        """Nobody attends for a while, and who takes over gives the time back."""
        self.twin.goes_by(self.random.choice((2.0, 30.0)), attended=False)
        self.twin.step()
        for conn in (self.twin.real, self.twin.virtual):
            with conn.transaction():
                lost_time.give_outage_back(conn, ONE)

    def lose_stream(self) -> None:
        for pieces in self.twin.pieces:
            pieces.lost = True
        if self.random.random() < 0.5:
            self.twin.anew()

    def open(self) -> None:
        if self.random.random() < 0.5:
            self.twin.both(lambda conn: _state(conn, EventState.OPEN))
            return
        at = self.twin.world.now_us + 5_000_000
        rows = self.twin.database.rows["event"]
        rows[ONE] = rows[ONE]._replace(opens_at=at)
        self.twin.real.execute("UPDATE event SET opens_at = to_timestamp(%s / 1000000.0)", (at,))
        while self._state() == "lobby":
            self.twin.both(lambda conn: opening.open_when_due(conn, ONE))
            self.twin.goes_by(2.0)

    def _state(self) -> str:
        return str(self.twin.database.rows["event"][ONE].state)

    def _in_state(self, state: str) -> list[str]:
        found = [row.buyer for row in self.twin.database.rows["place"].values() if row.state == state]
        self.random.shuffle(found)
        return found


def _state(conn: Any, to: EventState) -> str:
    return str(events.set_state(conn, SLUG, to).state)


def _said(conn: Any, *, text: str, values: Any) -> Any:
    return conn.execute(text, values).fetchone()


async def _begin(own: Any, *, buyer: str) -> Any:
    return await entering.begin(own, ONE, buyer)


async def _more(own: Any, *, buyer: str, end: int) -> Any:
    return await entering.more_time(own, ONE, buyer, end)


async def _by_id(own: Any, places: Any) -> Any:
    return {place.id: place for place in await watching.by_id(own, places)}


TERMS = [
    RoomTerms(ballot=True, pace=600, begin_seconds=10, shopping_seconds=30),
    RoomTerms(ballot=True, shopping_max=4, begin_seconds=10, shopping_seconds=30),
    RoomTerms(pace=120, shopping_max=5, begin_seconds=10, shopping_seconds=30),
    RoomTerms(policy=RoomPolicy.FIFO, shopping_max=3, begin_seconds=10, shopping_seconds=30),
]
UNSAID = {pressure.FAILED, keeper.READ_STATE}
"""By a keeper that knows its room; or answered as if there were too few payments to tell."""


def test_whatever_happens_the_virtual_room_is_the_real_one(new_database):
    said: set[str] = set()
    for seed, terms in enumerate(TERMS):
        with closing(Twin(new_database(), seed, terms)) as twin:
            history = History(twin, seed)
            number = 0
            while number < ACTS or twin.database.rows["room"][ONE].admitted <= ADMITTED:
                assert number < ACTS_MAX, "it came to admission"
                if number == LOBBY_ACTS:
                    history.open()
                history.act()
                number += 1
            said |= twin.said
    assert set(ROOMS) - said <= UNSAID, "every statement was compared"
