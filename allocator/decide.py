"""The decision: a memory and a batch in, answers out. No clock, no I/O, no chance.

The batch loop and the replay (`./run verify`) call this one function, so a ledger that says what
went in also says what must have come out. `CODE_VERSION` goes up with every change
that could answer anything differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from allocator.memory import Hold, Memory, Overlay, expiry_now
from allocator.wishes import Wish
from store.words import Arrival, EventState, FactKind, HoldId, LedgerKind, Outcome, Policy

CODE_VERSION = 1
EXPIRIES_PER_BATCH_MAX = 2_000
"""A mass expiry is spread over batches, so none of them makes buyers wait."""

KEY_REUSED = '{"reason":"key_reused"}'
"""The result of every conflict."""

decode_policy = msgspec.json.Decoder(Policy).decode


class Fact(NamedTuple):
    """A row of the fact table. `body` is JSON text: a `Policy` for policy facts, else `null`."""

    fact_id: int
    kind: str
    hold_id: HoldId | None
    body: str


class Ask(NamedTuple):
    """One request of a batch, in order of arrival; repeats of known keys are dropped before."""

    arrival: Arrival
    """The arrival that counts: the first that was acknowledged."""
    buyer: str
    request_id: str
    want: str
    wish: Wish
    conflict: bool = False
    """The key is known with other content."""


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


@dataclass(slots=True)
class Decided:
    """What a batch decided: `rows` for the ledger in position order, and what must become true."""

    rows: list[Row] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    expired: list[tuple[HoldId, Hold]] = field(default_factory=list)
    freed_by_fact: list[Hold] = field(default_factory=list)
    sold_by_fact: list[Hold] = field(default_factory=list)
    state: str = ""
    """The event's state when a policy fact set it."""
    first_ask: int = 0
    """Position of the first request."""


def decide(
    memory: Memory,
    overlay: Overlay,
    batch_no: int,
    batch_time: int,
    facts: Sequence[Fact],
    asks: Sequence[Ask],
) -> Decided:
    """Decide a batch in order: facts, then holds that ran out, then requests.

    Changes memory through `overlay` only. The same inputs on equal memories give equal results.
    """
    *_, decided = decide_in_pieces(memory, overlay, batch_no, batch_time, facts, asks)
    return decided


def decide_in_pieces(
    memory: Memory,
    overlay: Overlay,
    batch_no: int,
    batch_time: int,
    facts: Sequence[Fact],
    asks: Sequence[Ask],
    piece: int = 1 << 16,
) -> Iterator[Decided]:
    """`decide`, yielding the same growing result after the facts and expiries and after each `piece` of
    requests, so that its rows can be on their way while the next are decided.
    """
    decided = Decided()
    for fact in facts:
        _take_fact(memory, overlay, fact, decided)
    _expire(memory, overlay, expiry_now(memory, batch_time), decided)
    position = decided.first_ask = len(decided.rows)
    assert position + len(asks) < 1 << 16, "a hold id has 16 bits for the position"
    assert not asks or memory.policy.state is not EventState.PAUSED, "while paused nothing is decided"
    yield decided
    expires_at = batch_time + memory.policy.hold_ttl_seconds * 1_000_000
    for start in range(0, len(asks), piece):
        _answer_all(memory, overlay, batch_no, expires_at, asks[start : start + piece], decided)
        yield decided


def _answer_all(
    memory: Memory, overlay: Overlay, batch_no: int, expires_at: int, asks: Sequence[Ask], decided: Decided
) -> None:
    selling = memory.policy.state is EventState.OPEN
    hold_of, seat_json = memory.hold_of, memory.layout.seat_json
    rows = decided.rows
    append, new_row = rows.append, tuple.__new__
    for arrival, buyer, request_id, want, wish, conflict in asks:
        if conflict:
            outcome, result = Outcome.CONFLICT, KEY_REUSED
        elif wish.reason:
            outcome, result = Outcome.INVALID, f'{{"reason":"{wish.reason}"}}'
        elif not selling:
            outcome, result = Outcome.CLOSED, f'{{"reason":"event_{memory.policy.state}"}}'
        elif len(wish.seats) == 1 and hold_of[wish.seats[0]]:  # by far the most frequent answer of all
            outcome, result = Outcome.TAKEN, f'{{"taken":[{seat_json[wish.seats[0]]}]}}'
        else:
            hold_id = HoldId(batch_no << 16 | len(rows))
            outcome, result = _answer(memory, overlay, buyer, request_id, wish, hold_id, expires_at, decided)
        # a Row, made without its constructor: that alone would be a fifth of a refusal's time
        append(new_row(Row, (LedgerKind.REQUEST, arrival, buyer, request_id, want, outcome, result)))


def _take_fact(memory: Memory, overlay: Overlay, fact: Fact, decided: Decided) -> None:
    hold = consume(memory, overlay, fact)
    if fact.kind == FactKind.POLICY:
        decided.state = memory.policy.state
    elif hold is not None:
        (decided.sold_by_fact if fact.kind == FactKind.PAID else decided.freed_by_fact).append(hold)
    hold_json = "null" if fact.hold_id is None else f'"{fact.hold_id}"'
    text = f'{{"fact":{fact.fact_id},"hold":{hold_json},"body":{fact.body}}}'
    decided.rows.append(Row(LedgerKind.FACT, "", "", "", text, fact.kind, "{}"))


def consume(memory: Memory, overlay: Overlay, fact: Fact) -> Hold | None:
    """Let memory know what somebody else changed; the hold it was about, if memory had it as active."""
    if fact.kind == FactKind.POLICY:
        overlay.set_policy(decode_policy(fact.body), extend=fact.fact_id not in memory.reflected)
        return None
    assert fact.hold_id is not None, "a fact about a hold names it"
    return overlay.settle(fact.hold_id) if fact.kind == FactKind.PAID else overlay.free(fact.hold_id)


def _expire(memory: Memory, overlay: Overlay, now: int, decided: Decided) -> None:
    while len(decided.expired) < EXPIRIES_PER_BATCH_MAX:
        hold_id = memory.due(now)
        if hold_id is None:
            return
        hold = overlay.free(hold_id)
        assert hold is not None, "a due hold is active"
        decided.expired.append((hold_id, hold))
        decided.rows.append(Row(LedgerKind.EXPIRED, "", "", "", f'{{"hold":"{hold_id}"}}', "expired", "{}"))


def _answer(
    memory: Memory,
    overlay: Overlay,
    buyer: str,
    request_id: str,
    wish: Wish,
    hold_id: HoldId,
    expires_at: int,
    decided: Decided,
) -> tuple[Outcome, str]:
    seats = wish.seats
    hold_of = memory.hold_of
    for seat in seats:
        if hold_of[seat]:
            return Outcome.TAKEN, _taken(memory, seats)
    if memory.count_by_buyer.get(buyer, 0) + wish.quantity > memory.policy.seats_per_buyer_max:
        return Outcome.LIMIT_REACHED, f'{{"reason":"limit","limit":{memory.policy.seats_per_buyer_max}}}'
    for area, quantity in wish.areas:
        if memory.areas_free[area] < quantity:
            return Outcome.SOLD_OUT, f'{{"reason":"area_full","free":{memory.areas_free[area]}}}'
    if wish.best_quantity:
        found = best_available(memory, wish, seats)
        if found is None:
            return Outcome.SOLD_OUT, '{"reason":"none_together"}'
        seats = (*seats, *range(found, found + wish.best_quantity))
    hold = Hold(buyer, seats, wish.areas, expires_at)
    overlay.claim(hold_id, hold)
    decided.claims.append(Claim(hold_id, hold, request_id))
    return Outcome.HELD, _held(memory, hold_id, hold)


def best_available(memory: Memory, wish: Wish, but: tuple[int, ...]) -> int | None:
    """The first seat of the best ranked run of `wish.best_quantity` neighbouring free seats, or None.

    "Best" is the plan's own order, within a block from its first seat on; so a replay finds the same.
    Seats in `but` are asked for by name in the same request and do not count as free.
    """
    run = b"\x01" * wish.best_quantity
    free, slot_of = memory.free, memory.layout.slot_of
    key = (*wish.best_filter, wish.best_quantity)
    at_range, at_slot = (0, 0) if but else memory.search_from.get(key, (0, 0))
    for seat in but:
        free[slot_of[seat]] = 0
    found = -1
    ranges = wish.best_ranges
    while at_range < len(ranges):
        first, end = ranges[at_range]
        found = free.find(run, max(first, at_slot), end)
        if found >= 0:
            break
        at_range += 1
    for seat in but:
        free[slot_of[seat]] = 1
    if not but:
        if len(memory.search_from) >= 10_000:
            memory.search_from.clear()
        memory.search_from[key] = (at_range, max(found, 0))
    return memory.layout.seat_at[found] if found >= 0 else None


def _taken(memory: Memory, seats: tuple[int, ...]) -> str:
    seat_json = memory.layout.seat_json
    return f'{{"taken":[{",".join(seat_json[seat] for seat in seats if memory.hold_of[seat])}]}}'


def _held(memory: Memory, hold_id: HoldId, hold: Hold) -> str:
    seats = ",".join(memory.layout.seat_json[seat] for seat in hold.seats)
    areas = ",".join(f"{memory.layout.area_json[area]}:{quantity}" for area, quantity in hold.areas)
    expires_at_ms = hold.expires_at // 1000
    return f'{{"hold":"{hold_id}","seats":[{seats}],"areas":{{{areas}}},"expires_at":{expires_at_ms}}}'
