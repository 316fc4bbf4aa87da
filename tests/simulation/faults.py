"""Guards taken out on purpose: with any of these, the simulation must find a broken law.

`FAULTS` names each: what is broken, and how to break it. `caught_by(name)` tries seeds until one notices.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, NamedTuple
from unittest.mock import patch

from msgspec import json

from allocator import lease, loop, memory
from allocator.announce import reload_seats
from allocator.decide import Ask, Fact
from allocator.intake import Sorted
from allocator.keys import Keys
from allocator.memory import Overlay
from allocator.ordered import Ordered
from gateway.buyers.intake import Intake
from gateway.buyers.pending import Pending
from gateway.buyers.reask import Reask
from store import blocks, outbox
from store.errors import ShortWrite
from store.payments import late, refunds, settle
from store.payments.states import PaymentState
from store.wire import arrival_order
from store.words import Arrival
from tests.simulation import holder_statements, statements
from tests.simulation.allocators import CountedLoop
from tests.simulation.postgres import ONE, Session
from tests.simulation.run import Focus, Result, simulate
from tests.simulation.stream import Stream
from tests.simulation.truth import VirtualTruth

Break = Callable[[], AbstractContextManager[Any]]


class Fault(NamedTuple):
    """A guard that can be taken out."""

    story: str
    broken: Break
    focus: Focus | None = None
    """What to let go wrong, where any trouble would take long to meet the guard."""


def _no_fence(truth: VirtualTruth, after_batch: int, arrival: Arrival) -> int:
    session = truth._session
    session.lock("cursor", ONE)
    row = session.get("cursor", ONE)
    now = max(row.batch_time, session.database.clock())
    session.put("cursor", ONE, row._replace(batch_no=after_batch + 1, arrival=str(arrival), batch_time=now))
    return int(now)


def _no_epoch_in_fence(truth: VirtualTruth, after_batch: int, arrival: Arrival) -> int | None:
    row = truth._session.database.rows["cursor"][ONE]
    return None if row.batch_no != after_batch else _no_fence(truth, after_batch, arrival)


def _clock_as_it_is(truth: VirtualTruth, after_batch: int, arrival: Arrival) -> int | None:
    if _FENCE(truth, after_batch, arrival) is None:
        return None
    session = truth._session
    now = session.database.clock()
    session.put("cursor", ONE, session.get("cursor", ONE)._replace(batch_time=now))
    return now


def _facts_stay(truth: VirtualTruth) -> list[Any]:
    facts = _TAKE_FACTS(truth)
    truth._session.pending.pop("fact", None)
    return facts


def _gives_up_short(self: loop.BatchLoop, asks: Sequence[Any], arrival: Any) -> list[Any]:
    try:
        return self._attempt(asks, arrival)
    except ShortWrite:
        return []


def _always_committed(truth: VirtualTruth, batch_no: int) -> bool:
    _COMMITTED(truth, batch_no)
    return True


def _anybodys(session: Session, values: Any, state: str, deadline: int | None) -> Any:
    row = session.get("hold", values["hold"])
    mine = dict(values) if row is None else {**values, "buyer": row.buyer}
    return _LEAVE_ACTIVE(session, mine, state, deadline)


def _entry_without_first_arrival(pending: Pending, gateway: str) -> bytes:
    kept, pending.first_arrival = pending.first_arrival, ""
    try:
        return _ENTRY(pending, gateway)
    finally:
        pending.first_arrival = kept


async def _turn_nothing(reask: Reask) -> None:
    reask._intake.refuse_stale()


def _trim_whatever_is_there(
    stream: Stream, through: Arrival, after: Arrival, seen: Sequence[Arrival]
) -> bool:
    count = bisect_right(stream.ids, arrival_order(through))
    stream.on_trim(stream.entries[:count], stream.entries[count:])
    del stream.ids[:count], stream.entries[:count]
    return True


def _trims_unread() -> AbstractContextManager[Any]:
    never = property(lambda loop: False, lambda loop, value: None)
    broken = ExitStack()
    broken.enter_context(patch.object(CountedLoop, "_look_below", never, create=True))
    broken.enter_context(patch.object(Stream, "trim_through", _trim_whatever_is_there))
    return broken


def _elsewhere_untold(self: loop.BatchLoop, facts: Sequence[Fact], asks: Sequence[Ask]) -> Sequence[Fact]:
    found = _WITH_ELSEWHERE(self, facts, asks)
    for fact in found[len(facts) :]:
        self.memory.elsewhere = json.decode(fact.body)
    return facts


def _renews_whatever_was(session: Session, values: Any) -> list[Any]:
    session.lock("lease", ONE)
    row = session.get("lease", ONE)
    if row.owner in values[1]:
        session.put("lease", ONE, row._replace(renewed_at=session.database.clock()))
    return [(ONE,)]


async def _buys_nothing(connection: Any, bought: Any) -> None:
    pass


def _tells_of_parts(conn: Any, event_id: int, kind: outbox.Told, body: Any) -> None:
    if kind is not outbox.Told.ORDER_REFUNDED:
        _WRITE(conn, event_id, kind, body)


def _replace(owner: Any, name: str, by: Any) -> Break:
    return lambda: patch.object(owner, name, by)


STALE_OWNERS = Focus(("stop_allocator", "kill_allocator"), {"backend does not end": 1.0})
LOST_STREAMS = Focus(("wipe_stream",), pause_seconds=6.0)
DELETED_STREAMS = Focus(("delete_stream",), pause_seconds=6.0)
OLDER_STREAMS = Focus(("older_file",), {"append unknown": 0.0}, pause_seconds=0.4)
JUMPING_CLOCKS = Focus(("postgres_clock_jumps",))
SLEEPS = Focus(("machine_sleeps",), pause_seconds=6.0)
OUTAGES = Focus(("postgres_away",), pause_seconds=6.0)


_FENCE, _TAKE_FACTS, _COMMITTED = VirtualTruth.fence, VirtualTruth._take_facts, VirtualTruth.committed
_LEAVE_ACTIVE, _ENTRY = holder_statements.leave_active, Pending.entry
_CLAIM, _WITH_ELSEWHERE = VirtualTruth._claim, loop.BatchLoop._with_elsewhere

_WRITE = outbox.write

FAULTS: dict[str, Fault] = {
    "fence": Fault(
        "the fence lets every owner write", _replace(VirtualTruth, "fence", _no_fence), STALE_OWNERS
    ),
    "fence epoch": Fault(
        "the fence compares the batch number alone",
        _replace(VirtualTruth, "fence", _no_epoch_in_fence),
        STALE_OWNERS,
    ),
    "batch time": Fault(
        "a batch's time follows Postgres' clock backwards",
        _replace(VirtualTruth, "fence", _clock_as_it_is),
        JUMPING_CLOCKS,
    ),
    "facts consumed": Fault(
        "facts stay when they are consumed", _replace(VirtualTruth, "_take_facts", _facts_stay)
    ),
    "counts": Fault(
        "nobody counts what a write won", _replace(VirtualTruth, "check_counts", lambda truth, expected: None)
    ),
    "short write": Fault(
        "a batch that came up short is dropped", _replace(CountedLoop, "_make_true", _gives_up_short)
    ),
    "lost commit was none": Fault(
        "a COMMIT without reply is taken for true",
        _replace(VirtualTruth, "committed", _always_committed),
    ),
    "dedupe": Fault("no key is ever suspected", _replace(Keys, "suspect", lambda keys, key: False)),
    "repeats": Fault(
        "nothing is looked up, everything is new",
        _replace(loop, "tell_repeats", lambda arrived, *_, **__: Sorted(arrived.asks, arrived.gateways)),
    ),
    "overlay": Fault(
        "an attempt that failed stays in memory", _replace(Overlay, "discard", lambda overlay: None)
    ),
    "appended again": Fault(
        "what is behind the cursor is trimmed unread",
        _replace(loop, "undecided", lambda entries, look_up: []),
        OLDER_STREAMS,
    ),
    "trimmed unread": Fault(
        "what came below what was read is trimmed with it",
        _trims_unread,
        OLDER_STREAMS,
    ),
    "gathering": Fault(
        "after a loss nobody waits for those who ask again",
        _replace(CountedLoop, "_gather", lambda this, entries: entries),
        LOST_STREAMS,
    ),
    "gathering told": Fault(
        "nobody is told that the allocator gathers",
        _replace(loop, "stream_lost", reload_seats),
        DELETED_STREAMS,
    ),
    "first arrival": Fault(
        "who asks again loses the arrival that was acknowledged",
        _replace(Pending, "entry", _entry_without_first_arrival),
        LOST_STREAMS,
    ),
    "asking the ledger": Fault(
        "no gateway asks for what it still waits for", _replace(Reask, "turn", _turn_nothing)
    ),
    "asking again": Fault(
        "no gateway appends again what was lost",
        _replace(Intake, "append_again", lambda intake, pendings: None),
        LOST_STREAMS,
    ),
    "block told": Fault(
        "nobody tells the allocator what was blocked",
        lambda: patch.dict(
            statements.STATEMENTS, {blocks.INSERT_FACT: ("tell nobody", lambda session, values: [])}
        ),
    ),
    "list order": Fault(
        "who waits longest for something is offered it last",
        _replace(Ordered, "first", property(lambda ordered: list(ordered)[-1])),
    ),
    "holder": Fault(
        "anybody may pay or release a hold", _replace(holder_statements, "leave_active", _anybodys)
    ),
    "pause": Fault(
        "a batch whose facts pause the event decides its requests all the same",
        _replace(loop, "_paused_after", lambda memory, facts: False),
    ),
    "lost time": Fault(
        "after a pause memory does not give the lost time back",
        lambda: patch.object(Overlay, "_rebuild_expiries", _forget_extended),
    ),
    "category limits": Fault(
        "memory knows of no limits by category", _replace(memory, "limits_by_number", lambda *_: {})
    ),
    "tour asked": Fault(
        "a date asks nobody what its buyers have on the others",
        _replace(CountedLoop, "_with_elsewhere", lambda this, facts, asks: facts),
    ),
    "tour locks": Fault(
        "batches of two dates decide about a buyer at the same moment",
        _replace(VirtualTruth, "lock_tour_buyers", lambda truth, tour_id, buyers: None),
    ),
    "tour's waiting list": Fault(
        "nobody asks what those have elsewhere who only wait",
        _replace(VirtualTruth, "_asking", lambda truth, buyers: sorted(set(buyers))),
    ),
    "tour's holds": Fault(
        "a hold does not say which tour it counts for",
        _replace(VirtualTruth, "_claim", lambda truth, claims, tour_id: _CLAIM(truth, claims, None)),
    ),
    "tour told": Fault(
        "what buyers have on other dates is not in the ledger",
        _replace(CountedLoop, "_with_elsewhere", _elsewhere_untold),
    ),
    "outage fenced": Fault(
        "an owner that slept goes on with its batches",
        _replace(VirtualTruth, "attended", lambda truth: True),
        SLEEPS,
    ),
    "outage hidden": Fault(
        "who slept renews its lease as if nothing had been",
        lambda: patch.dict(statements.STATEMENTS, {lease.RENEW: ("renew", _renews_whatever_was)}),
        SLEEPS,
    ),
    "outage given": Fault(
        "who takes over gives holds nothing back",
        _replace(lease, "lock_outage", lambda conn, event: False),
        OUTAGES,
    ),
    "outage told": Fault(
        "nobody tells the allocator that holds got time back",
        _replace(Overlay, "give_time", lambda overlay, since, lost_us: None),
        OUTAGES,
    ),
    "money comes late": Fault(
        "money buys what it was paid for, however late it comes",
        _replace(settle, "after_money", lambda fate, policy: PaymentState.SUCCEEDED),
    ),
    "late answers": Fault(
        "a late payment that was given its seats again does not buy them",
        _replace(late, "buy", _buys_nothing),
    ),
    "owed for orders": Fault(
        "nothing is owed for an order that is taken back",
        _replace(refunds, "owe_for_order", lambda *_, **__: 0),
    ),
    "told of returns": Fault(
        "the world is told of parts that come back, and not of whole orders",
        _replace(outbox, "write", _tells_of_parts),
    ),
}


def _forget_extended(overlay: Overlay) -> None:
    for hold, extend_us in overlay._extended:
        hold.expires_at -= extend_us
    overlay._extended.clear()


def caught_by(name: str, seeds: Sequence[int], steps: int = 1000) -> Result | None:
    """The first run of these seeds that notices the fault, or None."""
    with FAULTS[name].broken():
        for seed in seeds:
            result = simulate(seed, steps, FAULTS[name].focus)
            if not result.good:
                return result
    return None
