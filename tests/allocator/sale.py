"""A random sale on the real engines: requests of every kind, a waiting list, payments, releases, blocks,
pauses, new rules, expiries.

The same seed gives the same wishes; what they are answered depends on the clock, which is Postgres'.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from msgspec.structs import replace

from store.database import connect
from store.errors import Refused
from store.events import set_policy
from store.words import Best, EventState, Want
from tests.allocator.house import Owner, change_event, entry

BUYERS = 6
CHANGES = (
    "pay", "release", "release", "some", "extend", "block", "block", "unblock", "take", "sell", "return",
    "pause", "resume", "policy", "leave",
    "category",
)  # fmt: skip


class Sale:
    """Changes an owner's event at random, one batch a step."""

    def __init__(self, owner: Owner, seed: int) -> None:
        self.owner = owner
        self.random = Random(seed)
        self.asked: list[bytes] = []
        self.paused = False

    def steps(self, count: int) -> Iterator[None]:
        """Yields before each batch, with facts and requests waiting, and once after the last."""
        for _ in range(count):
            for _ in range(self.random.randint(0, 2)):
                self._change()
            if not self.paused or self.random.random() < 0.3:
                requests = [self._request() for _ in range(self.random.randint(0, 5))]
                if requests:
                    self.owner.append(requests)
            self.owner.poke()
            yield
            self.owner.loop.turn()
        if self.paused:
            change_event(self.owner.database_url, EventState.OPEN)
            self.owner.poke()
            self.owner.loop.turn()
        self.owner.poke()
        self.owner.loop.turn()
        yield

    def run_out(self) -> None:
        """Turn until every hold is paid, released or has run out; waits as the loop waits."""
        if not self.owner.memory.holds:
            self.owner.ask(entry("last", "last", Want(best=Best(4), areas={"floor": 9}, up_to=True)))
        while self.owner.memory.holds:
            self.owner.loop.turn()

    def _request(self) -> bytes:
        random, plan = self.random, self.owner.memory.layout.plan
        if self.asked and random.random() < 0.15:
            return random.choice(self.asked)
        buyer, request_id = f"b{random.randrange(BUYERS)}", f"r{random.randrange(200)}"
        kind = random.randrange(6)
        guids = [seat.guid for seat in plan.seats]
        mine = [hold_id for hold_id, hold in self.owner.memory.holds.items() if hold.buyer == buyer]
        if kind == 0:
            want = Want(seats=tuple(random.sample(guids, random.randint(1, 3))))
        elif kind == 1:
            want = Want(areas={plan.areas[0].guid: random.randint(1, 4)})
        elif kind == 2:
            want = Want(seats=(random.choice(guids),), best=Best(2), areas={plan.areas[0].guid: 1})
        elif kind == 3:
            want = Want(seats=("nowhere",))
        else:
            want = Want(best=Best(random.randint(1, 4), category=random.choice([None, "Gold", "Silver"])))
        if mine and random.random() < 0.3:
            want = replace(want, move=str(random.choice(mine)))
        elif random.random() < 0.5:
            want = replace(want, waitlist=True)
        if random.random() < 0.03:
            self.asked.append(b"not json")
        else:
            self.asked.append(entry(buyer, request_id, want))
        return self.asked[-1]

    def _change(self) -> None:
        random, owner = self.random, self.owner
        kind = random.choice(CHANGES)
        try:
            if kind in ("pay", "release"):
                active = owner.query(
                    "SELECT buyer, hold_id FROM hold WHERE state = 'active' ORDER BY hold_id"
                )
                if active:
                    (owner.confirm if kind == "pay" else owner.release)(*random.choice(active))
            elif kind == "block":
                guids = [seat.guid for seat in owner.memory.layout.plan.seats]
                owner.block(random.choice(guids), places=random.randint(0, 2))
            elif kind == "unblock":
                blocked = [no for (no,) in owner.query("SELECT seat_no FROM seat WHERE state = 'blocked'")]
                some = random.sample(blocked, min(len(blocked), 2))
                places = random.randint(0, owner.query("SELECT blocked FROM area")[0][0])
                owner.unblock(*[owner.memory.layout.plan.seats[no].guid for no in some], places=places)
            elif kind == "sell":
                guids = [seat.guid for seat in owner.memory.layout.plan.seats]
                seats = random.sample(guids, random.randint(0, 2))
                owner.sell(f"b{random.randrange(BUYERS)}", *seats, places=random.randint(0, 3))
            elif kind == "return":
                self._take_back()
            elif kind == "category":
                guids = [seat.guid for seat in owner.memory.layout.plan.seats]
                some = random.sample(guids, random.randint(1, 4))
                areas = random.sample([owner.memory.layout.plan.areas[0].guid], random.randint(0, 1))
                owner.recategorise(random.choice(["Gold", "Silver"]), *some, areas=areas)
            elif kind == "take":
                active = owner.query("SELECT hold_id FROM hold WHERE state = 'active' ORDER BY hold_id")
                if active:
                    owner.release_by_hand(random.choice(active)[0])
            elif kind == "leave":
                waits = owner.query("SELECT buyer, request_id FROM waiting WHERE state = 'waiting'")
                if waits:
                    owner.leave(*random.choice(waits))
            elif kind in ("some", "extend"):
                self._change_a_hold(kind)
            elif kind == "policy":
                with connect(owner.database_url, "operator") as conn:
                    set_policy(conn, owner.slug, seats_per_buyer_max=random.randint(2, 9))
            else:
                change_event(owner.database_url, EventState.PAUSED if kind == "pause" else EventState.OPEN)
                self.paused = kind == "pause"
        except Refused:
            pass  # it ran out, is over already, or the event is in that state: as in life

    def _take_back(self) -> None:
        """All of an order, or a seat or a place of it, to be sold again or not."""
        random, owner = self.random, self.owner
        orders = owner.query("SELECT hold_id, quantity FROM hold WHERE state = 'paid' ORDER BY hold_id")
        if not orders:
            return
        hold_id, _ = random.choice(orders)
        block = random.random() < 0.3
        if random.random() < 0.5:
            owner.take_back(hold_id, block=block)
            return
        seats = owner.query("SELECT seat_no FROM hold_seat WHERE hold_id = %s ORDER BY 1", hold_id)[:1]
        guids = [owner.memory.layout.plan.seats[no].guid for (no,) in seats]
        owner.take_back(hold_id, *guids, places=random.randint(0, 1), block=block)

    def _change_a_hold(self, kind: str) -> None:
        holds = list(self.owner.memory.holds.items())
        if not holds:
            return
        hold_id, hold = self.random.choice(holds)
        if kind == "extend":
            self.owner.extend(hold.buyer, hold_id)
        else:
            places = self.random.randint(0, 2)
            seats = hold.seats[: 1 if places else self.random.randint(1, 2)]
            if seats or places:
                self.owner.release_some(hold.buyer, seats, places, hold_id)
