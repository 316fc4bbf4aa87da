"""Buyers, the desk where holds are paid and given back, operators of the event and of its seats."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg
from msgspec import UNSET, json
from msgspec.structs import replace

from bench.evidence import HoldOp
from store import audit, blocks, events, hold_parts, holds, sales
from store.errors import OnsaleError, Refused, Unavailable
from store.plan import Plan
from store.recategorise import recategorise as move_categories
from store.tickets import returns
from store.tickets.items import SEAT, Item
from store.wire import canonical_want
from store.words import Best, Choice, EventState, HoldKind, HoldState, Want
from tests.simulation.clients import Client
from tests.simulation.gateways import EVENT, Gateway
from tests.simulation.payers import Payers
from tests.simulation.postgres import ONE, Database, FactRow
from tests.simulation.statements import AsyncConnection, Connection, run_at_once
from tests.simulation.stream import Stream
from tests.simulation.world import Host, Process, World

if TYPE_CHECKING:
    from tests.simulation.visitors import Visitors

WAITING_MAX = 12
"""A buyer with so many unanswered requests asks for nothing new."""


class People:
    """Everybody outside: who comes when, and what they do."""

    def __init__(self, world: World, database: Database, stream: Stream, plan: Plan) -> None:
        self.world = world
        self.database = database
        self.stream = stream
        self.plan = plan
        self.gateways: list[Gateway] = []
        self.newcomer: Callable[[], None] = lambda: None
        """Starts one more allocator, if there are few."""
        self.clients: list[Client] = []
        self.other_dates: list[People] = []
        """Of a tour: the same buyers, elsewhere."""
        self.payers: Payers | None = None
        """Where holds are bought with money."""
        self.visitors: Visitors | None = None
        """Where buyers wait in line."""
        self.desks = 0
        self.requests = 0
        self.left: set[tuple[str, str]] = set()
        """Keys of those who left when their gateway died; what they were told stays true."""
        self.refused: set[tuple[str, str]] = set()
        """Keys of those who were accepted, asked again, and were told that there is no sale, or that the key
        has other content by now."""
        self.guids = [seat.guid for seat in plan.seats]
        self.buyers = [f"buyer{number}" for number in range(world.random.randint(3, 14))]
        self.pause_between = world.random.choice((0.01, 0.03, 0.1))

    def a_gateway(self) -> Gateway | None:
        alive = [gateway for gateway in self.gateways if not gateway.host.dead]
        return self.world.random.choice(alive) if alive else None

    # --- buyers ---

    def come(self) -> None:
        """Somebody asks for something, now; and somebody else a little later."""
        world, random = self.world, self.world.random
        if world.calm:
            return
        for _ in range(1 if world.chance(0.8) else random.randint(2, 12)):
            self._one_asks()
        world.after(random.expovariate(1.0 / self.pause_between), self.come)

    def _one_asks(self) -> None:
        world, random = self.world, self.world.random
        gateway = self.a_gateway()
        if gateway is None:
            return
        kind = random.random()
        known = [client for client in self.clients[-30:] if client.seen.asks] if kind < 0.18 else []
        if known:
            self._repeat(random.choice(known), gateway, other_content=kind < 0.06)
            return
        if kind > 0.985 and self.stream.exists and not self.stream.away:
            world.note("somebody", "appends what cannot be read")
            self.stream.add(b"r", random.choice((b"not json", b'["b","r",7]', b'["b\\u0001","r",{},"g"]')))
            return
        buyer = random.choice(self.buyers) if self.visitors is None else self.visitors.who_asks()
        if buyer is None:
            return
        self._asks(buyer, gateway)
        if self.other_dates and world.chance(0.4):  # in the same moment
            there = random.choice(self.other_dates)
            if (at := there.a_gateway()) is not None:
                there._asks(buyer, at)

    def _asks(self, buyer: str, gateway: Gateway) -> None:
        """For something new, unless they wait for enough."""
        waits = [len(client.waiting) for client in self.clients[-100:] if client.buyer == buyer]
        if sum(waits) >= WAITING_MAX:
            return
        self.requests += 1
        request_id = f"r{self.requests}"
        client = Client(self, buyer, gateway)
        self.clients.append(client)
        want = self._moved(buyer, self._want())
        if self.world.chance(0.3 if want.move is UNSET else 0.02):
            want = replace(want, waitlist=True)
        text = canonical_want(want)
        self.world.note(buyer, f"asks {request_id} for {text.decode()} at {gateway.name}")
        client.ask(request_id, text)

    def _repeat(self, other: Client, gateway: Gateway, *, other_content: bool) -> None:
        """The same key once more, somewhere: a reload of the page, or a mistake."""
        ask = self.world.random.choice(other.seen.asks)
        want = canonical_want(self._want()) if other_content else ask.want.encode()
        client = Client(self, other.buyer, gateway)
        self.clients.append(client)
        self.world.note(other.buyer, f"repeats {ask.request_id} with {want.decode()} at {gateway.name}")
        client.ask(ask.request_id, want, ask.sent_ns[:1])

    def a_want(self, *, waitlist: float) -> Want:
        """What somebody asks for; who would wait for it so often."""
        want = self._want()
        return replace(want, waitlist=True) if self.world.chance(waitlist) else want

    def _want(self) -> Want:
        random, plan = self.world.random, self.plan
        kind = random.random()
        if kind < 0.45:
            hot = self.guids[: max(3, len(self.guids) // 3)]
            return Want(seats=tuple(random.sample(hot, random.choice((1, 1, 1, 2, 3)))))
        if kind < 0.72:
            category = random.choice((None, None, plan.categories[0].name, "Nowhere"))
            best = Best(random.randint(1, 4), category=category, apart=random.random() < 0.2)
            fallbacks = (Choice(best=Best(random.randint(1, 3))),) if random.random() < 0.2 else ()
            return Want(best=best, up_to=random.random() < 0.1, fallbacks=fallbacks)
        if kind < 0.88 and plan.areas:
            return Want(areas={random.choice(plan.areas).guid: random.randint(1, 3)})
        if kind < 0.95 and plan.areas:
            return Want((random.choice(self.guids),), Best(random.randint(1, 2)), {plan.areas[0].guid: 1})
        return Want(seats=(random.choice(("nowhere", self.guids[0])),))

    def _moved(self, buyer: str, want: Want) -> Want:
        """The want; or to have it instead of a hold, mostly one of the buyer's own."""
        if not self.world.chance(0.15):
            return want
        holds = self.database.rows["hold"]
        mine = [no for no, row in holds.items() if row.buyer == buyer and row.state == "active"]
        among = mine if mine and self.world.chance(0.9) else list(holds)
        return replace(want, move=str(self.world.random.choice(among))) if among else want

    # --- holds ---

    def has_hold(self, client: Client, held: dict[str, Any]) -> None:
        """Pays, gives back, or lets it run out; now and then somebody else tries. Before that some extend
        it or give some of it back, once or twice.
        """
        random, hold_id = self.world.random, int(held["hold"])
        if self.world.calm:
            return
        while self.world.chance(0.3):
            change = random.choice(("extend", "release_some"))
            seconds, ends = random.uniform(0.01, 9.0), held["expires_at"]
            named = self._some_of(held) if change == "release_some" else ((), {})
            self.world.after(seconds, partial(self._at_desk, client, hold_id, change, (ends, *named)))
        drawn = random.random()
        if drawn < 0.6:
            change = "confirm" if drawn < (0.25 if self.payers is None else 0.5) else "release"
            seconds = random.choice((random.uniform(0.01, 1.0), random.uniform(0.0, 14.0)))
            if change == "confirm" and self.payers is not None:
                seconds = random.uniform(0.0, 0.5)
                self.world.after(seconds, partial(self.payers.comes, client.buyer, hold_id))
                return
            self.world.after(seconds, lambda: self._at_desk(client, hold_id, change))
        if drawn > 0.95:
            other = random.choice(self.clients)
            self.world.after(random.uniform(0.0, 2.0), lambda: self._at_desk(other, hold_id, "release"))

    def _some_of(self, held: dict[str, Any]) -> tuple[list[int], dict[int, int]]:
        """A seat or a place of a hold, or one of each; now and then one that it has not."""
        random, plan = self.world.random, self.plan
        seats = [self.guids.index(guid) for guid in held["seats"]] or [0]
        places = {area.guid: number for number, area in enumerate(plan.areas)}
        areas = {places[guid]: random.randint(1, count) for guid, count in held["areas"].items()}
        kind = random.randrange(3)
        return ([random.choice(seats)] if kind != 1 or not areas else []), (areas if kind else {})

    def _at_desk(self, client: Client, hold_id: int, change: str, given: tuple[Any, ...] = ()) -> None:
        if self.world.calm:
            return
        self.desks += 1
        op = HoldOp(change, str(hold_id), self.world.now_us * 1000)
        client.seen.hold_ops.append(op)
        host = Host(self.world, f"desk {self.desks}")
        at = f"{client.buyer} at desk {self.desks}"
        host.start(at, lambda process: self._serve(process, client, op, given))

    def _serve(self, process: Process, client: Client, op: HoldOp, given: tuple[Any, ...]) -> None:
        try:
            connection = Connection(self.database.connect(process))
            op.state = str(run_at_once(self._work(connection, client.buyer, op, given)))
            connection.close()
            self.world.counters[op.op] += 1
        except Refused as error:
            op.error = error.code
            self.world.counters[f"desk_{error.code}"] += 1
        except (psycopg.OperationalError, Unavailable):
            op.error = "unavailable"
        op.answered_ns = self.world.now_us * 1000
        if self.world.chance(0.8):
            self.stream.poke()

    async def _work(self, connection: Any, buyer: str, op: HoldOp, given: tuple[Any, ...]) -> HoldState:
        own: Any = AsyncConnection(connection)
        hold_id = int(op.hold)
        if op.op == "extend":
            times = self.world.random.choice((1, 2))
            return (await holds.extend(own, 1, hold_id, buyer, given[0], times=times)).state
        if op.op == "release_some":
            numbers = {guid: number for number, guid in enumerate(self.guids)}
            return (await hold_parts.release_some(own, 1, hold_id, buyer, numbers, *given[1:])).state
        return await (holds.confirm if op.op == "confirm" else holds.release)(own, 1, hold_id, buyer)

    # --- who waits ---

    def wait_for_offers(self, process: Process) -> None:
        """Does with what is offered what holders do; now and then somebody leaves the list."""
        random = self.world.random
        longest = random.choice((0.02, 0.3, 2.0))
        known: set[int] = set()
        while not self.world.calm:
            process.sleep(random.uniform(0.001, longest))
            for wait_id, row in list(self.database.rows["waiting"].items()):
                if row.state == "offered" and wait_id not in known:
                    known.add(wait_id)
                    offer = self.database.rows["ledger"][row.hold_id >> 16, row.hold_id & 65535]
                    mine = [client for client in self.clients if client.buyer == row.buyer]
                    client = random.choice(mine) if mine else Client(self, row.buyer, self.gateways[-1])
                    self.has_hold(client, json.decode(offer.result.encode()))
            waits = self.who_waits()
            if waits and self.world.chance(0.15):
                self.leave_list(process, random.choice(waits))

    def who_waits(self) -> list[int]:
        rows = self.database.rows["waiting"].items()
        return [wait_id for wait_id, row in rows if row.state == "waiting"]

    def leave_list(self, process: Process, wait_id: int) -> None:
        """As a buyer does: a conditional write, and the fact in the same transaction."""
        try:
            with Connection(self.database.connect(process)) as connection:
                session = connection.session
                session.step("leave the list")
                session.lock("waiting", wait_id)
                row = session.get("waiting", wait_id)
                if row.state != "waiting":
                    self.world.counters["left_too_late"] += 1
                    return
                session.put("waiting", wait_id, row._replace(state="left"))
                session.step("tell the allocator")
                body = f'{{"wait":"{wait_id}"}}'
                session.insert("fact", self.database.next_fact(), FactRow("left", None, body))
                connection.commit()
        except psycopg.OperationalError as error:
            self.world.note(process.name, f"does not know whether {wait_id} left: {error}")
            return
        if self.world.chance(0.8):
            self.stream.poke()

    # --- operators ---

    def operate(self, process: Process) -> None:
        """Changes the event now and then, by the real functions."""
        random = self.world.random
        longest = random.choice((0.5, 2.0, 6.0))
        while True:
            process.sleep(random.uniform(0.2, longest))
            if self.world.calm:
                return
            state = self.database.rows["event"][ONE].state
            kind = random.random()
            if state == "paused":
                self.set_state(process, EventState.OPEN)
            elif kind < 0.6:
                self.set_state(process, EventState.PAUSED)
            elif kind < 0.62:
                self.set_state(process, EventState.CLOSED)
            else:
                ttl, most = random.choice((None, 3, 4, 8)), random.choice((None, 2, 4, 9))
                if self.world.chance(0.5):  # somebody loads memory between the change and its batch
                    self.world.after(random.uniform(0.0, 0.006), self.newcomer)
                limits = dict(self.database.rows["event"][ONE].limits)
                if limits and most is not None:  # else those above it would be refused
                    limits = {category: min(limit + most % 2, most) for category, limit in limits.items()}
                self._change(
                    process, events.set_policy, hold_ttl_seconds=ttl, seats_per_buyer_max=most, limits=limits
                )

    def set_state(self, process: Process, state: EventState) -> bool:
        return self._change(process, events.set_state, state)

    def _change(self, process: Process, work: Any, *args: Any, **policy: Any) -> bool:
        try:
            with Connection(self.database.connect(process)) as connection:
                work(connection, EVENT, *args, **policy)
        except (psycopg.OperationalError, OnsaleError) as error:
            self.world.note(process.name, f"could not change the event: {error}")
            return False
        self.world.note(process.name, f"changed the event: {args or policy}")
        self.world.counters["event_changed"] += 1
        state = self.database.rows["event"][ONE].state
        for gateway in self.gateways:
            gateway.sees(state)
        if self.world.chance(0.8):
            self.stream.poke()
        return True

    def manage_seats(self, process: Process) -> None:
        """Blocks and unblocks seats and places and takes holds away, by the real functions."""
        random = self.world.random
        longest = random.choice((0.1, 0.5, 3.0))
        moves = self.world.seed % 4 == 1
        while not self.world.calm:
            process.sleep(random.uniform(0.01, longest))
            if self.world.chance(0.1):  # somebody loads memory between the change and its batch
                self.world.after(random.uniform(0.0, 0.006), self.newcomer)
            kind = random.random()
            if moves and self.world.chance(0.15):
                self._move_to_another_category(process)
            elif kind < 0.25 and self.world.chance(0.5):
                self._sell_or_take_back(process)
            elif kind < 0.2:
                active = [no for no, row in self.database.rows["hold"].items() if row.state == "active"]
                self._manage(process, blocks.release_hold, random.choice(active or [1]))
            elif kind < 0.65:
                seats = self.database.rows["seat"].items()
                free = [self.guids[no] for no, (state, _) in seats if state == "available"]
                guids = random.sample(free, min(len(free), random.randint(0, 2)))
                if self.world.chance(0.2):
                    guids = [random.choice(self.guids)]
                self._manage(process, blocks.block, guids, self._some_places(random.randint(0, 3)))
            else:
                seats = self.database.rows["seat"].items()
                blocked = [self.guids[no] for no, (state, _) in seats if state == "blocked"]
                guids = random.sample(blocked, min(len(blocked), random.randint(0, 3)))
                self._manage(process, blocks.unblock, guids, self._some_places(random.randint(0, 3)))

    def _sell_or_take_back(self, process: Process) -> None:
        """Sells blocked and free seats and places by hand; takes orders back, whole or a part, now and then
        a part that they have not."""
        random, rows = self.world.random, self.database.rows
        orders = [no for no, row in rows["hold"].items() if row.state in ("paid", "refunded")]
        if orders and self.world.chance(0.5):
            hold_id = random.choice(orders)
            if self.world.chance(0.5):
                self._return(process, hold_id)
                return
            seats = [self.guids[seat] for seat, hold in sorted(rows["hold_seat"].items()) if hold == hold_id]
            part = seats[:1] or [random.choice(self.guids)] if self.world.chance(0.5) else []
            work = partial(sales.take_back, seats=part, block=self.world.chance(0.3))
            self._manage(process, work, hold_id)
            return
        states = [state for state, _ in rows["seat"].values()]
        there = [self.guids[no] for no, state in enumerate(states) if state in ("available", "blocked")]
        guids = random.sample(there, min(len(there), random.randint(0, 2)))
        kind = random.choice((HoldKind.COMPLIMENTARY, HoldKind.BOX_OFFICE))
        work = partial(sales.sell, buyer=random.choice(self.buyers), kind=kind)
        self._manage(process, work, guids, self._some_places(random.randint(0, 2)))

    def _return(self, process: Process, hold_id: int) -> None:
        """An order's buyer returns it, or some of its tickets; now and then somebody else tries."""
        random, rows = self.world.random, self.database.rows
        buyer = rows["hold"][hold_id].buyer if self.world.chance(0.75) else random.choice(self.buyers)
        seats = [Item(SEAT, seat) for seat, hold in sorted(rows["hold_seat"].items()) if hold == hold_id]
        places = {area: count for (hold, area), count in rows["hold_area"].items() if hold == hold_id}
        there = seats + [Item(area, random.randint(1, count + 1)) for area, count in places.items()]
        items = random.sample(there, 1) if there and self.world.chance(0.6) else None

        def buyers_return(connection: Any, event: int, plan: Plan, said: audit.Said) -> None:
            returns.give_back(connection, event, plan, hold_id, buyer, items)

        self._manage(process, buyers_return)

    def _move_to_another_category(self, process: Process) -> None:
        """Whoever has them; now and then by somebody who saw an older plan."""
        random, rows = self.world.random, self.database.rows["event_plan"]
        category = random.choice(self.plan.categories).name
        guids = random.sample(self.guids, random.randint(1, 8))
        areas = [area.guid for area in self.plan.areas if self.world.chance(0.3)]
        version = max(0, max(rows, default=0) - self.world.chance(0.1)) if self.world.chance(0.5) else None

        def recategorise(connection: Any, _event: int, _plan: Plan, said: audit.Said) -> None:
            move_categories(connection, EVENT, category, guids, areas, said, version=version)

        self._manage(process, recategorise)

    def _some_places(self, places: int) -> dict[str, int]:
        return {self.world.random.choice(self.plan.areas).guid: places} if self.plan.areas and places else {}

    def _manage(self, process: Process, work: Any, *args: Any) -> None:
        counters = self.world.counters
        try:
            with Connection(self.database.connect(process)) as connection:
                work(connection, 1, self.plan, *args, said=audit.Said("Olga", "as in life"))
        except Refused as error:
            counters[f"office_{error.code}"] += 1
            return
        except (psycopg.OperationalError, Unavailable) as error:
            self.world.note(process.name, f"does not know whether seats were changed: {error}")
            counters["office_unavailable"] += 1
            return
        name = getattr(work, "func", work).__name__
        self.world.note(process.name, f"{name}: {args}")
        counters[name] += 1
        if self.world.chance(0.8):
            self.stream.poke()
