"""Memory from the virtual tables, as `allocator.load` reads it from the real ones."""

from __future__ import annotations

from allocator import waiting
from allocator.keys import Keys
from allocator.layout import Layout
from allocator.memory import BLOCKED, Hold, Memory
from allocator.ports import Cursor
from allocator.wishes import Wishes
from store import plan as plans
from store.words import Arrival, EventState, HoldId, LedgerKind, Micros, Policy, WaitId
from tests.simulation.postgres import ONE, CursorRow, Database, EventRow, HoldRow


def policy_of(event: EventRow) -> Policy:
    paused_at = None if event.paused_at is None else Micros(event.paused_at)
    return Policy(
        EventState(event.state),
        event.hold_ttl_seconds,
        event.seats_per_buyer_max,
        paused_at,
        offer_ttl_seconds=event.offer_ttl_seconds,
        limits=dict(event.limits),
        tour=event.tour,
    )


def load_memory(database: Database, layout: Layout) -> tuple[Memory, Cursor]:
    """The committed state and where it stands, in one snapshot."""
    rows = database.rows
    counting = [version for version, row in rows["event_plan"].items() if row.ledger_at is not None]
    if counting and max(counting) != layout.version:
        text = rows["event_plan"][max(counting)].plan
        layout = Layout(plans.decode(text.encode()), max(counting))
    memory = Memory(layout, policy_of(rows["event"][ONE]))
    cursor: CursorRow = rows["cursor"][ONE]
    memory.batch_no, memory.batch_time = cursor.batch_no, cursor.batch_time
    for seat, (state, hold_id) in rows["seat"].items():
        if state != "available":
            memory.take(seat, BLOCKED if hold_id is None else hold_id)
    _holds(database, memory)
    for area, row in rows["area"].items():
        memory.areas_free[area] = row.capacity - row.held - row.sold - row.blocked
    _waiting(database, memory)
    memory.reflected = frozenset(rows["fact"])
    return memory, Cursor(cursor.epoch, cursor.batch_no, Arrival(cursor.arrival))


def _holds(database: Database, memory: Memory) -> None:
    rows = database.rows
    seats: dict[int, list[int]] = {}
    for seat, hold_id in sorted(rows["hold_seat"].items()):
        seats.setdefault(hold_id, []).append(seat)
    areas: dict[int, list[tuple[int, int]]] = {}
    for (hold_id, area), quantity in sorted(rows["hold_area"].items()):
        areas.setdefault(hold_id, []).append((area, quantity))
    counts = memory.count_by_buyer
    for hold_id, row in rows["hold"].items():
        if row.state in ("active", "paid") and row.kind == "buyer":
            counts[row.buyer] = counts.get(row.buyer, 0) + row.quantity
            if row.state == "active":
                hold = Hold(
                    row.buyer, tuple(seats.get(hold_id, ())), tuple(areas.get(hold_id, ())), row.expires_at
                )
                memory.put(HoldId(hold_id), hold)
    plan = memory.layout.plan
    for seat, hold_id in rows["hold_seat"].items():
        _count(memory, rows["hold"][hold_id], plan.seats[seat].category, 1)
    for (hold_id, area), quantity in rows["hold_area"].items():
        _count(memory, rows["hold"][hold_id], plan.areas[area].category, quantity)


def _count(memory: Memory, hold: HoldRow, category: int, quantity: int) -> None:
    counts = hold.state in ("active", "paid") and hold.kind == "buyer"
    if counts and category in memory.category_limits:
        key = (hold.buyer, category)
        memory.count_by_category[key] = memory.count_by_category.get(key, 0) + quantity


def _waiting(database: Database, memory: Memory) -> None:
    wishes, ledger = Wishes(memory.layout), database.rows["ledger"]
    for wait_id, row in sorted(database.rows["waiting"].items()):
        if row.state == "waiting":
            want = ledger[wait_id >> 16, wait_id & 65535].input
            memory.waiting.add(WaitId(wait_id), row.buyer, row.request_id, wishes.read_again(want.encode()))
    offers = position = 0
    while (row := ledger.get((memory.batch_no, position))) is not None:
        offers += row.kind == LedgerKind.OFFER
        position += 1
    memory.offers_owed = offers >= waiting.OFFERS_PER_BATCH_MAX


def load_keys(database: Database) -> Keys:
    """Every decided key."""
    rows = database.rows["ledger"].values()
    return Keys((row.buyer, row.request_id) for row in rows if row.kind == "request")
