"""The loads: how many ask, for what, on which plan, over how many connections. Pure."""

from __future__ import annotations

from msgspec import Struct

from bench.strategies.catalogue import FLOORS, ONSALE, STRATEGIES
from store.plan import Plan

CONNECTIONS_MAX = 1_000
NEVER = 1_000_000
"""More requests than any of the curve's rounds can send."""


class Load(Struct, frozen=True):
    """`requests` over `connections`, one in flight on each, until all are answered or `seconds` are over.

    Request `i` names seat `i mod spread`, or asks for the best `together`.
    """

    name: str
    requests: int
    seats: int
    connections: int
    spread: int = 0
    together: int = 0
    seconds: float = 15.0
    sockets: bool = True
    """Strategies are asked over websockets too; onsale always is."""


def loads(quick: bool) -> list[Load]:
    """All loads, or the few of a quick run, whose rounds are shorter."""
    storm_seconds = 0.4 if quick else 0.6
    chosen = [
        Load("20x1", 20, 10, 20, spread=1),
        Load("1000x1", 1_000, 10, 1_000, spread=1, sockets=False),
        Load("10000x1", 10_000, 10, CONNECTIONS_MAX, spread=1, seconds=storm_seconds),
        Load("10000x5000", 10_000, 5_000, CONNECTIONS_MAX, spread=5_000, seconds=storm_seconds),
        Load("pairs", 2_400, 5_400, 200, together=2, seconds=1.0 if quick else 1.3, sockets=False),
    ]
    curve = [
        Load(f"curve-{connections}", NEVER, 5_000, connections, spread=5_000, seconds=0.2, sockets=False)
        for connections in (1, 8, 64, 512)
    ]
    if not quick:
        return chosen + curve
    return [load for load in chosen if load.name in ("20x1", "10000x1", "pairs")]


def wants_of(load: Load, plan: Plan, *, names: bool) -> list[str]:
    """Fragments of JSON that ask for this: seats by number, or by name as onsale takes them."""
    if load.together:
        return [f'"best":{{"quantity":{load.together}}}' if names else f'"quantity":{load.together}']
    if names:
        return [f'"seats":["{seat.guid}"]' for seat in plan.seats[: load.spread]]
    return [f'"seats":[{seat}]' for seat in range(load.spread)]


def takes_part(name: str, load: Load, transport: str) -> bool:
    """Whether this strategy is asked in this way: floors are about the server, not about seats."""
    if transport == "ws" and name not in ONSALE and not load.sockets:
        return False
    if name in FLOORS:
        return load.name == "10000x1" or load.name.startswith("curve")
    if name == "onsale_gate":
        return load.spread > 0 and load.requests != NEVER
    if name in ONSALE:
        return True
    strategy = STRATEGIES[name]
    return (strategy.over_websocket or transport == "http") and (strategy.finds_seats or not load.together)
