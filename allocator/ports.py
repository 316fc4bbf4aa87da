"""What the batch loop needs of the truth. Postgres in production, a virtual store in the simulator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from allocator.decide import Fact
from allocator.decided import Decided
from allocator.memory import Memory
from store.words import Arrival

Key = tuple[str, str]
"""(buyer, request id)"""


class Known(NamedTuple):
    """A decided key as the ledger has it."""

    want: str
    arrival: str
    outcome: str
    result: str


class Begun(NamedTuple):
    """An open transaction that holds the fence: its clock (microseconds) and the facts it consumed."""

    batch_time: int
    facts: Sequence[Fact]


class Cursor(NamedTuple):
    """Where an event stands: everything up to `arrival` is decided in batches up to `batch_no`."""

    epoch: int
    batch_no: int
    arrival: Arrival


class Truth(Protocol):
    """One owner's connection to one event. Every method may raise `Fenced` or `Unavailable`."""

    def begin(self, after_batch: int, arrival: Arrival) -> Begun:
        """Open a transaction as batch `after_batch + 1`. Raises `Fenced` when this owner lost the event."""
        ...

    def elsewhere(self, tour_id: int, buyers: Sequence[str]) -> dict[str, int]:
        """Inside the transaction: what these buyers, and those on the event's waiting list, have on the
        tour's other dates, where they have anything; it cannot become more until the transaction ends.
        Raises `ShortWrite` if this was not to be had now.
        """
        ...

    def write(self, batch_no: int, begun: Begun, arrival: Arrival, pieces: Iterator[Decided]) -> Decided:
        """Make it true, inside the transaction, while it is being decided: `pieces` gives one growing
        result again and again, which is returned. Raises `ShortWrite` if less could be written than decided.
        """
        ...

    def commit(self) -> None:
        """Raises `OutcomeUnknown` if no reply came; ask `committed`."""
        ...

    def rollback(self) -> None:
        """End the transaction without effect; never raises."""
        ...

    def committed(self, batch_no: int) -> bool:
        """After a lost reply: is this batch true? Ends the old connection first, so the answer is final."""
        ...

    def known(self, keys: Sequence[Key]) -> dict[Key, Known]:
        """Those of `keys` that are decided."""
        ...

    def conflicts(self, arrivals: Sequence[Arrival]) -> set[Arrival]:
        """Those of `arrivals` that were decided as a conflict: such a key's own decision does not tell."""
        ...

    def has_facts(self) -> bool:
        """Whether somebody changed something that is not consumed yet."""
        ...

    def open_when_due(self) -> int | None:
        """`store.opening.open_when_due`: what is due by its schedule is begun, which is a fact."""
        ...

    def load(self) -> tuple[Memory, Cursor]:
        """Memory from the tables, in one snapshot."""
        ...
