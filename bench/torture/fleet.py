"""`python -m bench.torture.fleet`: the buyers of one round, in a process of their own.

The first line on standard input is `FleetOrders`; the second one ends the load: what is asked is still
answered, then `FleetSaw` is written to a file. Lines on standard output say how far it is.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from msgspec import Struct, field

from bench.evidence import Seen
from bench.torture.buyer import Buyer, Carrier, Habits, Shared
from bench.torture.http_carrier import HttpCarrier
from bench.torture.socket_carrier import SocketCarrier
from bench.torture.wants import House, a_want

SAY_SECONDS = 0.5


class FleetOrders(Struct):
    """Who buys what where. Two tokens of one buyer are two devices."""

    urls: list[str]
    event: str
    house: House
    sockets: list[tuple[str, str]]
    """(buyer, token) of each websocket"""
    http: list[tuple[str, str]]
    habits: Habits
    seed: int
    result_path: str
    answer_seconds_max: float = 45.0
    """After the load, how long to wait for the last answers."""
    impatient_share: float = 0.25
    """Of the websockets: hang up when an answer takes long, and ask elsewhere."""


class FleetSaw(Struct):
    """What came of it."""

    seen: list[Seen] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    unanswered: list[str] = field(default_factory=list)
    """What nobody answered in all that time after everything was healed."""


class FleetSays(Struct):
    """A line on standard output. `phase` is running, done or failed."""

    phase: str
    asked: int = 0
    message: str = ""


encode_saw = msgspec.msgpack.Encoder().encode
decode_saw = msgspec.msgpack.Decoder(FleetSaw).decode
decode_says = msgspec.json.Decoder(FleetSays).decode


def buyers_of(orders: FleetOrders, shared: Shared) -> list[Buyer]:
    """Every device, twins knowing of each other."""
    made: list[Buyer] = []
    by_buyer: dict[str, Buyer] = {}

    def add(number: int, buyer: str, carrier: Callable[[Seen, random.Random], Carrier]) -> None:
        chance = random.Random(f"{orders.seed} {number}")
        seen = Seen(buyer)
        device = Buyer(
            seen,
            f"d{number}",
            carrier(seen, chance),
            orders.habits,
            lambda: a_want(orders.house, chance),
            chance,
            shared,
        )
        twin = by_buyer.setdefault(buyer, device)
        if twin is not device:
            device.twin, twin.twin = twin, device
        made.append(device)

    for number, (buyer, token) in enumerate(orders.sockets):

        def by_socket(seen: Seen, chance: random.Random, token: str = token) -> Carrier:
            patience = chance.uniform(1.5, 4.0) if chance.random() < orders.impatient_share else None
            return SocketCarrier(seen, token, orders.event, orders.urls, chance, shared, patience)

        add(number, buyer, by_socket)
    for number, (buyer, token) in enumerate(orders.http, start=len(orders.sockets)):

        def by_http(seen: Seen, chance: random.Random, token: str = token) -> Carrier:
            return HttpCarrier(seen, token, orders.event, orders.urls, chance, shared)

        add(number, buyer, by_http)
    return made


async def work(orders: FleetOrders) -> None:
    """Load until a line comes in, then wait for the answers."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(len(orders.http) + 4))
    shared = Shared()
    buyers = buyers_of(orders, shared)
    living = [loop.create_task(buyer.live()) for buyer in buyers]
    telling = loop.create_task(_tell(buyers))
    await asyncio.to_thread(sys.stdin.buffer.readline)
    shared.stopping.set()
    _, hanging = await asyncio.wait(living, timeout=orders.answer_seconds_max)
    saw = FleetSaw([buyer.seen for buyer in buyers], dict(shared.errors), list(shared.open.values()))
    for task in (*hanging, telling):
        task.cancel()
    ended = await asyncio.gather(*living, return_exceptions=True)
    wrong = [repr(each) for each in ended if isinstance(each, Exception)]
    await asyncio.to_thread(Path(orders.result_path).write_bytes, encode_saw(saw))
    _say(FleetSays("failed", message="; ".join(wrong)) if wrong else FleetSays("done", _asked(buyers)))


async def _tell(buyers: list[Buyer]) -> None:
    while True:
        _say(FleetSays("running", _asked(buyers)))
        await asyncio.sleep(SAY_SECONDS)


def _asked(buyers: list[Buyer]) -> int:
    return sum(len(buyer.seen.asks) for buyer in buyers)


def _say(says: FleetSays) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(says) + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    """See the top of this module."""
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=FleetOrders)
    try:
        asyncio.run(work(orders))
    except Exception as error:  # becomes a line for whoever started this process
        _say(FleetSays("failed", message=f"{type(error).__name__}: {error}"))
        sys.exit(1)


if __name__ == "__main__":
    main()
