"""The load generator: up to 10,000 real websocket clients in one process, cheap enough to measure with.

Each client speaks docs/protocol.md: hello, requests, asking again after a broken connection. Frames to
send are put together before the clock starts; a received frame is one timestamp, one partial decode
and a dict lookup, so a round trip costs this process a few tens of microseconds, most of it the
kernel's. Garbage collection is off while a round runs. `bench/client_process.py` is the process.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import time
from collections import Counter
from collections.abc import Callable

from picows import ws_connect

from bench.client import TEXT, Client, Head, decode_head
from bench.evidence import Ask, HoldOp, Seen, read_frame
from bench.orders import Mode, Orders, Round

CONNECT_TRIES_MAX = 8
HANDSHAKE_SECONDS_MAX = 30.0
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
        self.clients = [Client(self, number) for number in range(len(orders.buyers))]
        self.round = Round()
        self.closed: Counter[str] = Counter()
        self._welcomed = 0
        self._undecided = 0
        self._changed = asyncio.Event()
        self._running = False
        self._stop_at_ns = 0
        self._serial = 0
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

    async def _connect_one(self, client: Client, seconds_max: float) -> None:
        give_up_at = time.monotonic() + seconds_max
        for attempt in range(CONNECT_TRIES_MAX):
            try:
                await ws_connect(
                    lambda: client,
                    self.orders.url,
                    websocket_handshake_timeout=HANDSHAKE_SECONDS_MAX,
                    max_frame_size=1 << 20,
                    read_buffer_init_size=2048,
                )
                return
            except Exception:  # whatever broke, a client tries again, with growing pauses
                if attempt + 1 == CONNECT_TRIES_MAX or time.monotonic() > give_up_at:
                    raise
                await asyncio.sleep(min(0.05 * 2**attempt, 2.0))

    async def run_round(self) -> Round:
        """One stampede, or one closed loop of `seconds`."""
        orders = self.orders
        self._serial += 1
        self.round = Round()
        for client in self.clients:
            client.asks, client.pending = {}, ""
            client.seen = Seen(client.seen.buyer)
            client.stays = client.transport is not None
        closed_loop = orders.mode is Mode.CLOSED_LOOP
        frames = [client.request_frame(self._request_id(0)) for client in self.clients]
        gc.collect()
        gc.disable()
        self._running = True
        cpu_before = cpu_seconds()
        self.round.first_sent_ns = time.monotonic_ns()
        self._stop_at_ns = self.round.first_sent_ns + int(orders.seconds * 1e9) if closed_loop else 0
        for number, client in enumerate(self.clients):
            self._send(client, self._request_id(0), frames[number])
            if number % SENDS_PER_TURN == SENDS_PER_TURN - 1:
                await asyncio.sleep(0)
        limit = orders.answer_seconds_max + (orders.seconds if closed_loop else 0)
        await self._until(lambda: self._undecided == 0, limit)
        self.round.cpu_seconds = cpu_seconds() - cpu_before
        self._running = False
        gc.enable()
        return self._finish()

    def _request_id(self, number: int) -> str:
        return f"r{self._serial}-{number}"

    def _send(self, client: Client, request_id: str, frame: bytes) -> None:
        client.pending = request_id
        self._undecided += 1
        self.round.sent += 1
        now = client.sent_ns = time.monotonic_ns()
        if self.orders.keep:
            client.asks[request_id] = Ask(request_id, client.want, [now])
        self.round.last_sent_ns = now
        if client.transport is not None:
            client.transport.send(TEXT, frame)

    def hear(self, client: Client, payload: bytes, now: int) -> None:
        """A frame came. Whatever answers the pending request ends it; the rest is noted."""
        head = decode_head(payload)
        kind = head.type
        ask = client.asks.get(head.id)
        if kind == "decision":
            if ask is not None:
                ask.decisions.append((now, payload))
            elif self.orders.keep:
                client.seen.strange.append(payload)
            if head.id == client.pending:
                self.round.decided += 1
                self.round.outcomes[head.outcome] = self.round.outcomes.get(head.outcome, 0) + 1
                if self.orders.churn and head.outcome == "held":
                    self._part_with(client, payload, now)
                self._answered(client, now)
        elif kind == "accepted":
            if ask is not None:
                ask.accepted.append((now, head.arrival))
        elif kind == "not_queued":
            if ask is not None:
                ask.not_queued.append((now, payload))
            if head.id == client.pending:
                self.round.not_queued += 1
                self._answered(client, now)
        elif kind == "welcome":
            self._welcomed += 1
            self._changed.set()
            if self._running and client.pending:
                self._again(client)
        elif kind == "hold" or head.hold:
            for op in client.seen.hold_ops:
                if op.hold == head.hold and not op.answered_ns:
                    op.answered_ns, op.state, op.error = now, head.state, head.code
        elif kind in ("error", "unknown"):
            self._trouble(client, head, ask, now)

    def _part_with(self, client: Client, payload: bytes, now: int) -> None:
        """Buy every fourth hold and give the others back, so that seats come free and are asked for again."""
        hold = str(read_frame(payload).result["hold"])
        op = "confirm" if int(hold) % 4 == 0 else "release"
        client.seen.hold_ops.append(HoldOp(op, hold, now))
        if client.transport is not None:
            client.transport.send(TEXT, f'{{"type":"{op}","hold":"{hold}"}}'.encode())

    def _answered(self, client: Client, now: int) -> None:
        client.pending = ""
        self._undecided -= 1
        self.round.latencies_ns.append(now - client.sent_ns)
        self.round.last_answer_ns = now
        if now < self._stop_at_ns and self.round.sent < self.orders.requests_per_socket_max * len(
            self.clients
        ):
            request_id = self._request_id(self.round.sent)
            self._send(client, request_id, client.request_frame(request_id))
        elif not self._undecided:
            self._changed.set()

    def _trouble(self, client: Client, head: Head, ask: Ask | None, now: int) -> None:
        code = head.code or head.type
        self.round.errors[code] = self.round.errors.get(code, 0) + 1
        if ask is not None:
            ask.errors.append((now, code))
        if not self._running:
            self.closed[f"{code} {head.message}".strip()] += 1
        elif head.id and head.id == client.pending:
            if head.type == "unknown" or code in ASK_AGAIN_CODES:
                asyncio.get_running_loop().call_later(ASK_AGAIN_SECONDS, self._again, client)
            else:
                client.pending = ""
                self._undecided -= 1
                self._changed.set()

    def _again(self, client: Client) -> None:
        if client.pending and client.transport is not None:
            if client.pending in client.asks:
                client.asks[client.pending].sent_ns.append(time.monotonic_ns())
            client.transport.send(TEXT, client.request_frame(client.pending, again=True))

    def lost(self, client: Client) -> None:
        """The socket broke. During a round the client comes back; the request it waits for is asked again."""
        self._welcomed -= 1
        self._changed.set()
        client.stays = False
        if self._running and self.orders.reconnect and client.pending:
            self.round.reconnects += 1
            task = asyncio.get_running_loop().create_task(self._return(client))
            self._returning.add(task)
            task.add_done_callback(self._returning.discard)

    async def _return(self, client: Client) -> None:
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
            if client.transport is not None:
                client.transport.disconnect()
            if number % 200 == 199:
                await asyncio.sleep(0)


def cpu_seconds() -> float:
    """User and system time of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
