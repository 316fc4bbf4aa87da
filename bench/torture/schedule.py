"""What is broken when: an endless list of faults drawn from one seed. Pure.

Faults are dealt like cards: each kind comes as often as its weight before any comes again, so a run of a few
minutes has seen them all. Some come in pairs, at the same time; never two on the same process or engine.
Every fault says after how many seconds it is healed; nothing is left broken.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

PAIR_SHARE = 0.2
"""How many of the slots break two things at once."""
QUIET_SECONDS = (0.4, 1.2)
"""Between the healing of one slot and the next one."""
LEASE_SECONDS = 2.5
"""As `allocator.lease` has it: who is stopped for longer finds another owner."""


class Group(StrEnum):
    """The classes of faults."""

    KILL = "kill"
    STOP = "stop"
    RESTART = "restart"
    WIPE = "wipe"
    FREEZE = "freeze"
    CUT = "cut"
    OPERATOR = "operator"


class Kind(StrEnum):
    """Each way in which something breaks."""

    KILL_OWNER = "kill owner"
    KILL_STANDBY = "kill standby"
    KILL_GATEWAY = "kill gateway"
    KILL_POSTGRES = "kill postgres"
    KILL_VALKEY = "kill valkey"
    STOP_OWNER = "stop owner"
    STOP_GATEWAY = "stop gateway"
    RESTART_POSTGRES = "restart postgres"
    RESTART_VALKEY = "restart valkey"
    WIPE_VALKEY = "wipe valkey"
    FLUSH_VALKEY = "flush valkey"
    FREEZE_OWNER = "freeze owner"
    FREEZE_OWNER_LONG = "freeze owner beyond its lease"
    FREEZE_GATEWAY = "freeze gateway"
    FREEZE_POSTGRES = "freeze postgres"
    FREEZE_VALKEY = "freeze valkey"
    CUT_POSTGRES = "cut postgres"
    CUT_VALKEY = "cut valkey"
    CUT_REPLY_POSTGRES = "cut replies of postgres"
    CUT_REPLY_VALKEY = "cut replies of valkey"
    HALF_OPEN_POSTGRES = "half-open to postgres"
    HALF_OPEN_VALKEY = "half-open to valkey"
    PART_POSTGRES = "part from postgres"
    PART_VALKEY = "part from valkey"
    PAUSE_EVENT = "pause event"
    BLOCK_SEATS = "block seats"


class Card(NamedTuple):
    """How often a kind comes, how long it lasts, and what it may hit."""

    group: Group
    weight: int
    seconds: tuple[float, float]
    targets: tuple[str, ...]


GATEWAYS = ("gateway-1", "gateway-2")
CLIENTS = ("owner", *GATEWAYS, "everyone")
"""Whose connections are cut."""

DECK: dict[Kind, Card] = {
    Kind.KILL_OWNER: Card(Group.KILL, 3, (0.1, 1.5), ("owner",)),
    Kind.KILL_STANDBY: Card(Group.KILL, 1, (0.1, 1.0), ("standby",)),
    Kind.KILL_GATEWAY: Card(Group.KILL, 3, (0.1, 1.5), GATEWAYS),
    Kind.KILL_POSTGRES: Card(Group.KILL, 2, (0.0, 1.5), ("postgres",)),
    Kind.KILL_VALKEY: Card(Group.KILL, 2, (0.0, 1.5), ("valkey",)),
    Kind.STOP_OWNER: Card(Group.STOP, 2, (0.0, 1.0), ("owner",)),
    Kind.STOP_GATEWAY: Card(Group.STOP, 1, (0.0, 1.0), GATEWAYS),
    Kind.RESTART_POSTGRES: Card(Group.RESTART, 1, (0.0, 1.0), ("postgres",)),
    Kind.RESTART_VALKEY: Card(Group.RESTART, 1, (0.0, 1.0), ("valkey",)),
    Kind.WIPE_VALKEY: Card(Group.WIPE, 1, (0.0, 1.0), ("valkey",)),
    Kind.FLUSH_VALKEY: Card(Group.WIPE, 1, (0.0, 0.1), ("valkey",)),
    Kind.FREEZE_OWNER: Card(Group.FREEZE, 2, (0.2, LEASE_SECONDS - 0.5), ("owner",)),
    Kind.FREEZE_OWNER_LONG: Card(Group.FREEZE, 2, (LEASE_SECONDS + 0.7, LEASE_SECONDS + 2.0), ("owner",)),
    Kind.FREEZE_GATEWAY: Card(Group.FREEZE, 2, (0.3, 3.0), GATEWAYS),
    Kind.FREEZE_POSTGRES: Card(Group.FREEZE, 1, (0.3, 3.0), ("postgres",)),
    Kind.FREEZE_VALKEY: Card(Group.FREEZE, 1, (0.3, 3.0), ("valkey",)),
    Kind.CUT_POSTGRES: Card(Group.CUT, 1, (0.0, 0.1), CLIENTS),
    Kind.CUT_VALKEY: Card(Group.CUT, 1, (0.0, 0.1), CLIENTS),
    Kind.CUT_REPLY_POSTGRES: Card(Group.CUT, 2, (0.3, 1.0), CLIENTS),
    Kind.CUT_REPLY_VALKEY: Card(Group.CUT, 2, (0.3, 1.0), CLIENTS),
    Kind.HALF_OPEN_POSTGRES: Card(Group.CUT, 1, (0.5, 3.0), CLIENTS),
    Kind.HALF_OPEN_VALKEY: Card(Group.CUT, 1, (0.5, 3.0), CLIENTS),
    Kind.PART_POSTGRES: Card(Group.CUT, 1, (0.5, 3.5), CLIENTS),
    Kind.PART_VALKEY: Card(Group.CUT, 1, (0.5, 3.5), CLIENTS),
    Kind.PAUSE_EVENT: Card(Group.OPERATOR, 2, (0.2, 2.0), ("event",)),
    Kind.BLOCK_SEATS: Card(Group.OPERATOR, 2, (0.1, 1.5), ("seats",)),
}

LOSES_THE_STREAM = frozenset({Kind.WIPE_VALKEY, Kind.FLUSH_VALKEY})

ONE_OF_EACH = (
    Kind.KILL_OWNER,
    Kind.CUT_REPLY_VALKEY,
    Kind.WIPE_VALKEY,
    Kind.KILL_GATEWAY,
    Kind.CUT_REPLY_POSTGRES,
    Kind.FREEZE_OWNER_LONG,
    Kind.RESTART_POSTGRES,
    Kind.PAUSE_EVENT,
    Kind.BLOCK_SEATS,
    Kind.STOP_OWNER,
)
"""A kind of every group, those first that break most."""


class Fault(Struct, frozen=True):
    """One thing that breaks. `target` is a process, an engine, `owner`, `standby`, `everyone`, `event`
    or `seats`."""

    kind: Kind
    target: str
    seconds: float
    """Healed after so long."""

    @property
    def group(self) -> Group:
        return DECK[self.kind].group

    @property
    def victim(self) -> str:
        """What may not be broken in another way at the same time; all cuts count as one."""
        return "connections" if self.group is Group.CUT else self.target


class Slot(Struct, frozen=True):
    """After `quiet_seconds` of peace, these at the same time."""

    quiet_seconds: float
    faults: tuple[Fault, ...]

    @property
    def seconds(self) -> float:
        """From the slot before to the last healing."""
        return self.quiet_seconds + max(fault.seconds for fault in self.faults)


def slots(seed: int) -> Iterator[Slot]:
    """Slots without end; the same seed gives the same ones."""
    chance = random.Random(seed)
    waiting: list[Kind] = []

    def draw(but: str = "") -> Fault:
        for at, kind in enumerate(waiting):
            fault = _fault(kind, chance)
            if fault.victim != but:
                del waiting[at]
                return fault
        waiting.extend(_shuffled(chance))
        return draw(but)

    while True:
        faults = [draw()]
        if chance.random() < PAIR_SHARE:
            faults.append(draw(but=faults[0].victim))
        yield Slot(round(chance.uniform(*QUIET_SECONDS), 2), tuple(faults))


def slots_for(seconds: float, endless: Iterator[Slot]) -> Iterator[Slot]:
    """As many of the next slots as begin within `seconds`."""
    while seconds > 0:
        slot = next(endless)
        seconds -= slot.seconds
        yield slot


def short(seed: int = 0) -> list[Slot]:
    """A fault of every group, one after the other, each as brief as its kind allows."""
    chance = random.Random(seed)
    faults = [_fault(kind, chance) for kind in ONE_OF_EACH]
    return [
        Slot(QUIET_SECONDS[0], (Fault(fault.kind, fault.target, DECK[fault.kind].seconds[0]),))
        for fault in faults
    ]


def _shuffled(chance: random.Random) -> list[Kind]:
    deck = [kind for kind, card in DECK.items() for _ in range(card.weight)]
    chance.shuffle(deck)
    return deck


def _fault(kind: Kind, chance: random.Random) -> Fault:
    card = DECK[kind]
    return Fault(kind, chance.choice(card.targets), round(chance.uniform(*card.seconds), 2))
