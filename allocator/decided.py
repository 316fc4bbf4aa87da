"""What a batch decided: lines for the ledger, and what must become true with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from allocator.choosing import Chosen
from allocator.memory import Hold, Memory
from store.words import Blocks, HoldId, LedgerKind, Outage, WaitId


class Row(NamedTuple):
    """One line of the ledger, but for its batch and position."""

    kind: str
    arrival: str
    buyer: str
    request_id: str
    input: str
    outcome: str
    result: str


class Claim(NamedTuple):
    """A hold to be made true."""

    hold_id: HoldId
    hold: Hold
    request_id: str


class Moved(NamedTuple):
    """A hold that ends because its holder gets another one instead, until the same end."""

    hold_id: HoldId
    hold: Hold
    to: HoldId


class Waits(NamedTuple):
    """A request that goes on the waiting list."""

    wait_id: WaitId
    buyer: str
    request_id: str


class Offered(NamedTuple):
    """A request that comes off the list, for a hold. `row` is the offer's position."""

    wait_id: WaitId
    hold_id: HoldId
    row: int


@dataclass(slots=True)
class Decided:
    """What a batch decided: `rows` for the ledger in position order, and what must become true."""

    rows: list[Row] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    expired: list[tuple[HoldId, Hold]] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    waits: list[Waits] = field(default_factory=list)
    offered: list[Offered] = field(default_factory=list)
    """Their holds are among `claims`."""
    freed_by_fact: list[Hold] = field(default_factory=list)
    sold_by_fact: list[Hold] = field(default_factory=list)
    blocks_by_fact: list[Blocks] = field(default_factory=list)
    """What was blocked or unblocked; memory says which."""
    extended: list[HoldId] = field(default_factory=list)
    plans: list[tuple[int, int]] = field(default_factory=list)
    """(version, position of its fact) of each plan that came to count."""
    outages: list[Outage] = field(default_factory=list)
    """After which holds got time back."""
    state: str = ""
    """The event's state when a policy fact set it."""
    tour_id: int | None = None
    """The tour whose limit counts what is claimed."""
    first_ask: int = 0
    """Position of the first request."""

    def answers(self) -> list[Row]:
        """The rows of the requests; offers may stand between them."""
        rows = self.rows[self.first_ask :]
        if self.offered and self.offered[-1].row >= self.first_ask:
            return [row for row in rows if row.kind == LedgerKind.REQUEST]
        return rows


def held_result(memory: Memory, hold_id: HoldId, hold: Hold, choice: int, chosen: Chosen) -> str:
    """What is told of a hold; `choice` is which of the choices it is."""
    seats = ",".join([memory.layout.seat_json[seat] for seat in hold.seats])
    areas = ",".join([f"{memory.layout.area_json[area]}:{quantity}" for area, quantity in hold.areas])
    more = f',"step":"{chosen.step}"' if chosen.step is not None else ""
    if choice:
        more += f',"choice":{choice}'
    expires_at_ms = hold.expires_at // 1000
    return f'{{"hold":"{hold_id}","seats":[{seats}],"areas":{{{areas}}},"expires_at":{expires_at_ms}{more}}}'
