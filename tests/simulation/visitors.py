"""Who comes to the waiting room of an on-sale that has one, and its organiser: in every fifth there is one.

They join, again and elsewhere too, with and without codes; file wishes, leave, begin or miss their time and
come back. Who is told that they have a place remembers it, and so is everything they are shown of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec
import psycopg
from msgspec import UNSET

from gateway.buyers.decode import Wish
from gateway.room import acting
from store.audit import Said
from store.errors import OnsaleError
from store.room import operating
from store.room.codes import Code
from store.room.draw import SEED_BYTES
from store.room.words import Admission, Place, RoomPolicy, RoomTerms
from store.words import EventState
from tests.simulation.clients import Client
from tests.simulation.gateways import EVENT, Gateway
from tests.simulation.keepers import DoubtfulConnection
from tests.simulation.postgres import ONE, Database
from tests.simulation.room_rows import CodeRow, RoomRow, may_come_back
from tests.simulation.world import SECOND, START_US, Process, World

if TYPE_CHECKING:
    from tests.simulation.people import People

OLGA = Said("Olga", "as in life")
CODES = [hashlib.sha256(bytes([number])).digest() for number in range(4)]
LABEL = "fans"


def has_room(seed: int) -> bool:
    """In every fifth on-sale buyers wait in a line; never on the dates of a tour."""
    return seed % 5 == 4


class Visitors:
    """Of one event."""

    def __init__(self, world: World, database: Database, people: People) -> None:
        self.world, self.database, self.people = world, database, people
        random = world.random
        policy = random.choice((RoomPolicy.DRAW, RoomPolicy.DRAW, RoomPolicy.FIFO))
        self.terms = RoomTerms(
            policy=policy,
            ballot=policy is RoomPolicy.DRAW and random.random() < 0.6,
            pace=random.choice((None, 120, 600, 3_000)),
            shopping_max=random.choice((None, 2, 5, 12)),
            begin_seconds=random.choice((1, 3)),
            shopping_seconds=random.choice((2, 5)),
            more_begin_max=random.choice((0, 1, 3)),
            more_shopping_max=random.choice((0, 1, 3)),
        )
        seed = random.getrandbits(8 * SEED_BYTES).to_bytes(SEED_BYTES)
        database.rows["room"][ONE] = RoomRow(self.terms, seed)
        for number, code in enumerate(CODES[:3]):
            database.rows["room_code"][code] = CodeRow(LABEL, (1, 2, 5)[number])
        self.opens_at = START_US + int(random.uniform(1.5, 4.0) * SECOND)
        event = database.rows["event"][ONE]
        chance = random.random()
        by_itself = self.opens_at if chance < 0.5 else None
        lobby = (START_US + self.opens_at) // 2 if chance < 0.25 else None
        begins = event._replace(state="lobby" if lobby is None else "draft")
        database.rows["event"][ONE] = begins._replace(opens_at=by_itself, lobby_opens_at=lobby)
        people.buyers += [f"visitor{number}" for number in range(random.randint(4, 24))]
        self._pause = random.choice((0.02, 0.05, 0.1))
        self.acknowledged: list[tuple[str, Place]] = []
        """Whom a gateway told that they have this place."""
        self.shown: dict[str, dict[str, Any]] = {}
        """What was shown of a place last, by its id."""
        self.on_phase: list[Callable[[], None]] = []
        self._meanwhile = random.choice((0.1, 0.3, 0.6))
        """How often something is done while the owner decides."""
        self._organiser: Process | None = None
        """While it waits for what to do next."""
        database.on_room_read = self.act_meanwhile
        self._late = {buyer for buyer in people.buyers if random.random() < 0.3}
        """Who does nothing when they are called for the first time."""
        self._holders: set[str] = set()
        """Who does something with what the ballot gave them."""

    # --- buyers ---

    def come(self) -> None:
        """Somebody does something, now; and somebody else a little later."""
        world, random = self.world, self.world.random
        if world.calm:
            return
        lobby = self.state == "lobby"
        acts: list[Callable[[str, Gateway], None]] = [
            self.join, self.begin, self.more_time, self.leave, self.go, self.wish,
        ]  # fmt: skip
        ballot = 8.0 if self.terms.ballot else 0.1
        act = random.choices(acts, (8, 0.1, 0.1, 0.7, 0.1, ballot) if lobby else (3, 5, 2, 1, 0.5, 0.1))[0]
        gateway = self.people.a_gateway()
        if gateway is not None:
            act(random.choice(self.people.buyers), gateway)
            if world.chance(0.15) and (other := self.people.a_gateway()) is not None:  # in the same moment
                act(random.choice(self.people.buyers), other)
        world.after(random.expovariate(1.0 / self._pause) * (1 if lobby else 2), self.come)

    def act_meanwhile(self) -> None:
        """The owner has read the room, and decides by that."""
        world, random, gateway = self.world, self.world.random, self.people.a_gateway()
        waiting = any(row.state == "waiting" for row in self.database.rows["place"].values())
        if world.calm or gateway is None or not waiting or self.phase != "admission":
            return
        if not world.chance(self._meanwhile):
            return
        if world.chance(0.4) and self._organiser is not None:
            self._organiser.nudge()
        else:
            random.choice((self.leave, self.go, self.begin, self.more_time))("", gateway)

    @property
    def state(self) -> str:
        return str(self.database.rows["event"][ONE].state)

    def next_phase(self) -> None:
        """The lobby ended, the draw was made, or the ballot is over."""
        for tell in self.on_phase:
            tell()

    @property
    def phase(self) -> str:
        """Which part of its life the room is in."""
        room: RoomRow = self.database.rows["room"][ONE]
        if room.lobby_ended_at is None:
            return "lobby"
        if room.drawn_at is None:
            return "draw"
        return "ballot" if room.terms.ballot and room.ballot_ended_at is None else "admission"

    def join(self, buyer: str, gateway: Gateway) -> None:
        random = self.world.random
        back = [row.buyer for row in self.database.rows["place"].values() if may_come_back(row)]
        if back and random.random() < 0.8:
            buyer = random.choice(back)
        code = Code(random.choice(CODES)) if random.random() < 0.2 else None
        email = f"{buyer}@example.org" if random.random() < 0.3 else None
        self.world.note(buyer, f"joins at {gateway.name}" + (" with a code" if code else ""))
        for at in self._here_and_elsewhere(gateway):
            at.loop.call_soon(partial(self._join, buyer, at, code, email))

    def _here_and_elsewhere(self, gateway: Gateway) -> list[Gateway]:
        """Where somebody says something: now and then on two devices."""
        other = self.people.a_gateway() if self.world.chance(0.2) else None
        return [gateway] if other is None or other is gateway else [gateway, other]

    def _join(self, buyer: str, gateway: Gateway, code: Code | None, email: str | None) -> None:
        def then(place: Place | None, error: OnsaleError | None) -> None:
            if place is not None:
                self.world.counters["joined"] += 1
                self.acknowledged.append((buyer, place))
            elif error is not None:
                self._refused(error)

        assert gateway.room is not None, "there is a waiting room"
        gateway.room.enter(buyer, _Sees(self, buyer))
        try:
            gateway.room.join(buyer, code, then, email)
        except OnsaleError as error:
            self._refused(error)

    def _refused(self, error: OnsaleError) -> None:
        self.world.counters[f"room_{getattr(error, 'code', 'unavailable')}"] += 1

    def wish(self, buyer: str, gateway: Gateway) -> None:
        joined = list(self.database.rows["place_live"])
        if joined and self.world.chance(0.8):
            buyer = self.world.random.choice(joined)
        want = None if self.world.chance(0.1) else self.people.a_want(waitlist=0.2)
        frame = Wish(want=want if want is None or want.move is UNSET else None)
        self._act(buyer, gateway, lambda event, pool: acting.wish(event, pool, buyer, frame), "wishes")

    def begin(self, _anybody: str, gateway: Gateway) -> None:
        buyer = self._somebody_inside()
        self._act(buyer, gateway, lambda event, pool: acting.begin(event, pool, buyer), "begins")

    def more_time(self, _anybody: str, gateway: Gateway) -> None:
        """By when their time ends as the table has it, or had it: what is said twice gives nothing twice."""
        buyer = self._somebody_inside()
        place = self.database.rows["place_live"].get(buyer)
        row = None if place is None else self.database.rows["place"][place]
        ends = None if row is None else row.begin_by if row.until is None else row.until
        end = 0 if ends is None or self.world.chance(0.05) else ends // 1000
        for at in self._here_and_elsewhere(gateway):
            self._act(
                buyer, at, lambda event, pool: acting.more_time(event, pool, buyer, end), "asks for more time"
            )

    def go(self, _anybody: str, gateway: Gateway) -> None:
        """Somebody who was called leaves."""
        self._leaves(self._somebody_inside(), gateway)

    def _somebody_inside(self) -> str:
        return self.world.random.choice(self._inside() or self.people.buyers)

    def _inside(self) -> list[str]:
        """Who is, but for those who miss their first turn."""
        rows = self.database.rows["place"].values()
        return [
            row.buyer
            for row in rows
            if row.state == "admitted" and (row.returned or row.buyer not in self._late)
        ]

    def leave(self, buyer: str, gateway: Gateway) -> None:
        """Somebody who may be called in this moment, or anybody."""
        rows = self.database.rows
        served = {"ordinary": rows["room"][ONE].serving, "priority": rows["room"][ONE].serving_priority}
        following = [rows["line"].get((lane, last + 1)) for lane, last in served.items()]
        waiting = [place for place in following if place is not None]
        if waiting and (not buyer or self.world.chance(0.7)):
            buyer = rows["place"][self.world.random.choice(waiting)].buyer
        self._leaves(buyer or self._somebody_inside(), gateway)

    def _leaves(self, buyer: str, gateway: Gateway) -> None:
        self._act(buyer, gateway, lambda event, pool: acting.leave(event, pool, buyer), "leaves")

    def _act(
        self, buyer: str, gateway: Gateway, act: Callable[[Any, Any], Coroutine[Any, Any, Any]], what: str
    ) -> None:
        self.world.note(buyer, f"{what} at {gateway.name}")

        async def work() -> None:
            try:
                await act(SimpleNamespace(room=gateway.room), gateway.room_pool)
                self.world.counters[f"room_{what.replace(' ', '_')}"] += 1
            except OnsaleError as error:
                self._refused(error)

        gateway.loop.call_soon(lambda: gateway.keep(work()))

    def who_asks(self) -> str | None:
        """For seats: mostly who is inside; before the sale, and else, somebody who may not."""
        random = self.world.random
        inside = self._inside()
        if inside and random.random() < 0.9:
            return random.choice(inside)
        return random.choice(self.people.buyers) if random.random() < 0.15 else None

    def look_after_wishes(self, process: Process) -> None:
        """Who got something in the ballot does with it what holders do."""
        longest = self.world.random.choice((0.1, 1.0))
        while not self.world.calm:
            process.sleep(self.world.random.uniform(0.01, longest))
            ledger = self.database.rows["ledger"]
            for (buyer, request), at in list(self.database.rows["ledger_key"].items()):
                if request == "ballot" and buyer not in self._holders:
                    self._holders.add(buyer)
                    if ledger[at].outcome == "held" and (gateway := self.people.a_gateway()) is not None:
                        client = Client(self.people, buyer, gateway)
                        self.people.has_hold(client, msgspec.json.decode(ledger[at].result))

    # --- the organiser ---

    def operate(self, process: Process) -> None:
        """Begins the sale, if it does not begin by itself; pauses, stops and resumes admission."""
        random = self.world.random
        process.sleep(max(0.0, (self.opens_at - self.world.now_us) / SECOND))
        while not self.world.calm:
            if self.state == "lobby" and self.database.rows["event"][ONE].opens_at is None:
                self.people.set_state(process, EventState.OPEN)
            until_us = self.world.now_us + int(random.choice((0.3, 1.0, 4.0)) * SECOND)
            self._organiser = process
            process.park(until_us)
            self._organiser = None
            nudged = self.world.now_us < until_us
            kind = random.random() * (0.3 if nudged else 1.0)
            if self.admission != "running":
                self._change(process, partial(_admit, to=Admission.RUNNING))
            elif kind < 0.3:
                to = random.choice((Admission.PAUSED, Admission.PAUSED, Admission.STOPPED))
                self._change(process, partial(_admit, to=to))
            elif kind > 0.8:
                self._change(process, _revoke)
            elif kind < 0.4 and self.terms.shopping_max is not None:
                most = random.choice((2, 5, 12))
                self._change(process, partial(_change, shopping_max=most))

    @property
    def admission(self) -> str:
        return str(self.database.rows["room"][ONE].admission)

    def _change(self, process: Process, change: Callable[[Any], Any]) -> None:
        try:
            with DoubtfulConnection(self.database.connect(process)) as connection:
                change(connection)
                self.world.counters["room_operated"] += 1
        except (psycopg.OperationalError, OnsaleError) as error:
            self.world.note(process.name, f"could not change the room: {error}")

    def heal(self, process: Process) -> None:
        """The sale begins, admission goes on, and as many may be inside as there are."""
        if self.state == "lobby":
            self.people.set_state(process, EventState.OPEN)
        if self.admission != "running":
            self._change(process, partial(_admit, to=Admission.RUNNING))
        if self.database.rows["room"][ONE].terms.shopping_max not in (None, len(self.people.buyers)):
            most = len(self.people.buyers)
            self._change(process, partial(_change, shopping_max=most))

    def unfinished(self) -> str:
        """What has not come to rest."""
        rows = self.database.rows
        room: RoomRow = rows["room"][ONE]
        if room.drawn_at is None:
            return "nobody was drawn"
        if room.terms.ballot and room.ballot_ended_at is None:
            return "the ballot is not over"
        waiting = [row.buyer for row in rows["place"].values() if row.state == "waiting"]
        if waiting and self.state != "closed":
            return f"{len(waiting)} wait in line: {waiting[:3]}"
        return ""


def _admit(conn: Any, *, to: Admission) -> None:
    operating.admit(conn, EVENT, to, OLGA)


def _revoke(conn: Any) -> None:
    operating.revoke_codes(conn, EVENT, OLGA, label=LABEL)


def _change(conn: Any, **terms: Any) -> None:
    operating.change(conn, EVENT, OLGA, **terms)


class _Sees:
    """A page."""

    def __init__(self, visitors: Visitors, buyer: str) -> None:
        self._visitors = visitors
        self._buyer = buyer
        self._positions: dict[str, int] = {}

    def write(self, frame: bytes) -> bool:
        told = msgspec.json.decode(frame)
        if told["type"] != "place":
            return True
        visitors, before = self._visitors, self._positions.get(told["place"])
        if before not in (None, told["position"]):
            story = f"position: {self._buyer} was shown {before} and then {told['position']}"
            visitors.world.broken.append(story)
        if told["position"] is not None:
            self._positions[told["place"]] = told["position"]
        visitors.shown[told["place"]] = told
        return True
