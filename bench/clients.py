"""The load generator: up to 10,000 real clients in one process, cheap enough to measure with.

Each client speaks docs/protocol.md, over a websocket or over HTTP: requests, asking again after a broken
connection. A received frame is one timestamp, one partial decode and a dict lookup, so a round trip
costs this process a few tens of microseconds, most of it the kernel's. Garbage collection is off while a
round runs. `bench/client_process.py` is the process.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import time
from collections import Counter
from collections.abc import Callable

from bench.client import HANDSHAKE_SECONDS_MAX, Buyer, Head, SocketBuyer
from bench.evidence import Ask, HoldOp, Seen, read_frame
from bench.http_buyer import HttpBuyer
from bench.orders import GAP_NOTED_NS, Go, Mode, Orders, Round
from bench.schedule import Schedule, is_behind

SENDS_PER_TURN = 32
"""After this many sends the event loop may read what has come meanwhile."""
ASK_AGAIN_CODES = {
    "outcome_unknown",
    "unavailable",
    "queue_full",
    "too_many_waiting",
    "too_many_undecided",
    "too_many_lookups",
    "stream_unavailable",
    "database_unavailable",
}
ASK_AGAIN_SECONDS = 0.5


class Fleet:
    """All clients of this process and the round that runs."""

    def __init__(self, orders: Orders, on_connected: Callable[[int], None] = lambda _: None) -> None:
        self.orders = orders
        self._on_connected = on_connected
        kind: type[Buyer] = SocketBuyer if orders.url.startswith("ws") else HttpBuyer
        self.clients = [kind(self, number) for number in range(len(orders.buyers))]
        self.round = Round()
        self.closed: Counter[str] = Counter()
        self._welcomed = 0
        self._undecided = 0
        self._changed = asyncio.Event()
        self._running = False
        self._stop_at_ns = 0
        self._serial = 0
        self._take(orders)
        self._returning: set[asyncio.Task[None]] = set()

    async def connect(self) -> None:
        """Connect and say hello, `connect_burst` at a time; returns when all are welcome."""
        waiting = iter(self.clients)

        async def worker() -> None:
            for client in waiting:
                await self._connect_one(client, HANDSHAKE_SECONDS_MAX)
                self._on_connected(client.number + 1)

        await asyncio.gather(*(worker() for _ in range(min(self.orders.connect_burst, len(self.clients)))))
        await self._until(lambda: self._welcomed >= len(self.clients), HANDSHAKE_SECONDS_MAX)
        if self._welcomed < len(self.clients):
            refused = ", ".join(f"{code}: {count}" for code, count in self.closed.items()) or "no answer"
            raise ConnectionError(f"{self._welcomed} of {len(self.clients)} clients are welcome ({refused}).")

    async def _connect_one(self, client: Buyer, seconds_max: float) -> None:
        give_up_at = time.monotonic() + seconds_max
        for attempt in range(self.orders.connect_tries_max):
            try:
                await client.connect()
                return
            except Exception:  # whatever broke, a client tries again, with growing pauses
                if attempt + 1 == self.orders.connect_tries_max or time.monotonic() > give_up_at:
                    raise
                await asyncio.sleep(min(0.05 * 2**attempt, 2.0))

    async def run_round(self, go: Go | None = None) -> Round:
        """One stampede, or one loop of `seconds`."""
        orders = self.orders = (go or Go()).applied_to(self.orders)
        self._serial += 1
        self.round = Round()
        for client in self.clients:
            client.asks, client.pending, client.turns = {}, {}, 0
            client.seen = Seen(client.seen.buyer)
            client.stays = client.connected
        gc.collect()
        gc.disable()
        self._running = True
        cpu_before = cpu_seconds()
        begun_ns = self.round.first_sent_ns = time.monotonic_ns()
        seconds = orders.seconds if orders.mode in (Mode.CLOSED_LOOP, Mode.OPEN_LOOP) else 0.0
        self._stop_at_ns = begun_ns + int(seconds * 1e9)
        self._take(orders)
        if orders.mode is Mode.OPEN_LOOP:
            await self._send_on_schedule(Schedule.lasting(begun_ns, orders.rate_per_second, seconds))
        else:
            await self._send_at_once(begun_ns)
        limit = orders.answer_seconds_max + (seconds if orders.mode is Mode.CLOSED_LOOP else 0.0)
        await self._until(lambda: self._undecided == 0, limit)
        self.round.cpu_seconds = cpu_seconds() - cpu_before
        self._running = False
        gc.enable()
        return self._finish()

    def _take(self, orders: Orders) -> None:
        """What each request needs of the orders, at hand."""
        self._wants, self._keep, self._sockets = orders.wants, orders.keep, len(self.clients)
        self._closed_loop = orders.mode is Mode.CLOSED_LOOP
        self._sent_max = orders.requests_per_socket_max * self._sockets
        self._requests_each = orders.requests_each if orders.mode is Mode.STAMPEDE else 0

    async def _send_at_once(self, now_ns: int) -> None:
        for number, client in enumerate(self.clients):
            now_ns = time.monotonic_ns()
            self._send(client, now_ns, now_ns)
            if number % SENDS_PER_TURN == SENDS_PER_TURN - 1:
                await asyncio.sleep(0)

    async def _send_on_schedule(self, schedule: Schedule) -> None:
        """Each request when it is due; those already due before anything else, a few at a time."""
        sent, clients = 0, self.clients
        while sent < schedule.count:
            now_ns = time.monotonic_ns()
            for number in range(sent, min(schedule.due_count(now_ns), sent + SENDS_PER_TURN)):
                due_ns = schedule.due_ns(number)
                self.round.behind += is_behind(due_ns, now_ns)
                self._send(clients[number % len(clients)], due_ns, now_ns)
                sent = number + 1
            wait_ns = schedule.due_ns(sent) - time.monotonic_ns()
            await asyncio.sleep(max(0, wait_ns) / 1e9)

    def _send(self, client: Buyer, counts_from_ns: int, now_ns: int) -> None:
        """The client's next request. Its latency counts from `counts_from_ns`."""
        wants, done = self._wants, self.round
        want = wants[(client.number + client.turns * self._sockets) % len(wants)]
        client.turns += 1
        request_id = f"r{self._serial}-{client.turns}"
        client.pending[request_id] = (counts_from_ns, want)
        self._undecided += 1
        done.sent += 1
        done.last_sent_ns = now_ns
        if self._keep:
            client.asks[request_id] = Ask(request_id, want, [now_ns])
        client.ask(request_id, want)

    def hear(self, client: Buyer, head: Head, payload: bytes, now: int) -> None:
        """A frame came. Whatever answers a pending request ends it; the rest is noted."""
        kind = head.type
        ask = client.asks.get(head.id)
        if kind == "decision":
            if ask is not None:
                ask.decisions.append((now, payload))
            elif self._keep:
                client.seen.strange.append(payload)
            if head.id in client.pending:
                done, outcome = self.round, head.outcome
                done.decided += 1
                done.outcomes[outcome] = done.outcomes.get(outcome, 0) + 1
                if outcome == "held" and self.orders.churn:
                    self._part_with(client, payload, now)
                self._answered(client, head.id, now)
        elif kind == "accepted":
            if ask is not None:
                ask.accepted.append((now, head.arrival))
        elif kind == "not_queued":
            if ask is not None:
                ask.not_queued.append((now, payload))
            if head.id in client.pending:
                self.round.not_queued += 1
                self._answered(client, head.id, now)
        elif kind == "welcome":
            self.welcome(client)
        elif kind == "hold" or head.hold:
            for op in client.seen.hold_ops:
                # a hold that is active is one that ends soon: no answer to what is done here
                if op.hold == head.hold and not op.answered_ns and head.state != "active":
                    op.answered_ns, op.state, op.error = now, head.state, head.code
        elif kind in ("error", "unknown"):
            self._trouble(client, head, ask, now)

    def welcome(self, client: Buyer) -> None:
        """The client may ask now; what it still waits for is asked again."""
        self._welcomed += 1
        self._changed.set()
        if self._running:
            for request_id in list(client.pending):
                self._again(client, request_id)

    def _part_with(self, client: Buyer, payload: bytes, now: int) -> None:
        """Buy every fourth hold and give the others back, so that seats come free and are asked for again."""
        hold = str(read_frame(payload).result["hold"])
        op = "confirm" if int(hold) % 4 == 0 else "release"
        client.seen.hold_ops.append(HoldOp(op, hold, now))
        client.part_with(op, hold)

    def _answered(self, client: Buyer, request_id: str, now: int) -> None:
        done = self.round
        done.latencies_ns.append(now - client.pending.pop(request_id)[0])
        self._undecided -= 1
        gap = now - done.last_answer_ns if done.last_answer_ns else 0
        if gap >= GAP_NOTED_NS:
            done.answer_gaps.append((now, gap))
        done.answer_gap_ns_max = max(gap, done.answer_gap_ns_max)
        done.last_answer_ns = now
        if self._asks_on(client, now):
            self._send(client, now, now)
        elif not self._undecided:
            self._changed.set()

    def _asks_on(self, client: Buyer, now: int) -> bool:
        if now < self._stop_at_ns:
            return self._closed_loop and self.round.sent < self._sent_max
        return client.turns < self._requests_each

    def _trouble(self, client: Buyer, head: Head, ask: Ask | None, now: int) -> None:
        code = head.code or head.type
        self.round.errors[code] = self.round.errors.get(code, 0) + 1
        if ask is not None:
            ask.errors.append((now, code))
        if not self._running:
            self.closed[f"{code} {head.message}".strip()] += 1
        elif head.id in client.pending:
            if head.type == "unknown" or code in ASK_AGAIN_CODES:
                asyncio.get_running_loop().call_later(ASK_AGAIN_SECONDS, self._again, client, head.id)
            else:
                del client.pending[head.id]
                self._undecided -= 1
                self._changed.set()

    def _again(self, client: Buyer, request_id: str) -> None:
        if request_id in client.pending and client.connected:
            if request_id in client.asks:
                client.asks[request_id].sent_ns.append(time.monotonic_ns())
            client.ask(request_id, client.pending[request_id][1], again=True)

    def lost(self, client: Buyer) -> None:
        """The socket broke. During a round the client comes back if it waits for something or is to ask more;
        what it waits for is asked again."""
        self._welcomed -= 1
        self._changed.set()
        client.stays = False
        asks_on = self.orders.mode is Mode.OPEN_LOOP and time.monotonic_ns() < self._stop_at_ns
        if self._running and self.orders.reconnect and (client.pending or asks_on):
            self.round.reconnects += 1
            task = asyncio.get_running_loop().create_task(self._return(client))
            self._returning.add(task)
            task.add_done_callback(self._returning.discard)

    async def _return(self, client: Buyer) -> None:
        try:
            await self._connect_one(client, self.orders.answer_seconds_max)
            client.stays = True
        except Exception:  # it stays away; what it still waits for counts as unanswered
            self.round.errors["gone"] = self.round.errors.get("gone", 0) + 1

    def _finish(self) -> Round:
        done = self.round
        done.unanswered = self._undecided
        self._undecided = 0
        if self.orders.keep:
            for client in self.clients:
                client.seen.asks = list(client.asks.values())
                client.seen.stayed = client.stays
            done.seen = [client.seen for client in self.clients]
        for reason, count in self.closed.items():
            done.errors[f"closed: {reason}"] = count
        self.closed.clear()
        return done

    async def _until(self, true_when: object, seconds_max: float) -> None:
        assert callable(true_when)
        give_up_at = time.monotonic() + seconds_max
        while not true_when():
            left = give_up_at - time.monotonic()
            if left <= 0:
                return
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), left)
            except TimeoutError:
                return

    async def close(self) -> None:
        """Hang up, a few at a time, and let the last close frames leave."""
        for number, client in enumerate(self.clients):
            client.hang_up()
            if number % 200 == 199:
                await asyncio.sleep(0)


def cpu_seconds() -> float:
    """User and system time of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
