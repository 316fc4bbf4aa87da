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

from allocator.choosing import Chosen, Refused, counted_free, first_choice, left_for
from allocator.memory import Hold, Memory, Overlay, expiry_now
from allocator.wishes import Wish
from store.words import (
    Arrival,
    Blocks,
    EventState,
    Extended,
    FactKind,
    GivenBack,
    HoldId,
    LedgerKind,
    Outcome,
    Policy,
)

CODE_VERSION = 4
EXPIRIES_PER_BATCH_MAX = 2_000
"""A mass expiry is spread over batches, so none of them makes buyers wait."""

KEY_REUSED = '{"reason":"key_reused"}'
"""The result of every conflict."""
NO_SUCH_HOLD = '{"reason":"no_such_hold"}'
"""Whoever would move a hold that is not theirs, is over or is paid learns no more than this."""

decode_policy = msgspec.json.Decoder(Policy).decode
decode_blocks = msgspec.json.Decoder(Blocks).decode
_decode_extended = msgspec.json.Decoder(Extended).decode
_decode_given_back = msgspec.json.Decoder(GivenBack).decode
_decode_elsewhere = msgspec.json.Decoder(dict[str, int]).decode


class Fact(NamedTuple):
    """A row of the fact table. `body` is JSON text: what `FactKind` says that the kind carries, or `null`."""

    fact_id: int
    kind: str
    hold_id: HoldId | None
    body: str


def elsewhere_fact(counts: dict[str, int]) -> Fact:
    """What a batch found on the tour's other dates, for the ledger: no row of the fact table says so."""
    return Fact(0, FactKind.ELSEWHERE, None, msgspec.json.encode(counts).decode())


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


class Moved(NamedTuple):
    """A hold that ends because its holder gets another one instead, until the same end."""

    hold_id: HoldId
    hold: Hold
    to: HoldId


@dataclass(slots=True)
class Decided:
    """What a batch decided: `rows` for the ledger in position order, and what must become true."""

    rows: list[Row] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    expired: list[tuple[HoldId, Hold]] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    freed_by_fact: list[Hold] = field(default_factory=list)
    sold_by_fact: list[Hold] = field(default_factory=list)
    blocks_by_fact: list[Blocks] = field(default_factory=list)
    """What was blocked or unblocked; memory says which."""
    extended: list[HoldId] = field(default_factory=list)
    state: str = ""
    """The event's state when a policy fact set it."""
    tour_id: int | None = None
    """The tour whose limit counts what is claimed."""
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
    decided.tour_id = None if memory.policy.tour is None else memory.policy.tour.id
    position = decided.first_ask = len(decided.rows)
    assert position + len(asks) < 1 << 16, "a hold id has 16 bits for the position"
    assert not asks or memory.policy.state is not EventState.PAUSED, "while paused nothing is decided"
    yield decided
    for start in range(0, len(asks), piece):
        _answer_all(memory, overlay, batch_no, batch_time, asks[start : start + piece], decided)
        yield decided


def _answer_all(
    memory: Memory, overlay: Overlay, batch_no: int, batch_time: int, asks: Sequence[Ask], decided: Decided
) -> None:
    expires_at = batch_time + memory.policy.hold_ttl_seconds * 1_000_000
    selling = memory.policy.state is EventState.OPEN
    hold_of, seat_json, instead = memory.hold_of, memory.layout.seat_json, memory.seating.instead
    rows = decided.rows
    append, new_row = rows.append, tuple.__new__
    for arrival, buyer, request_id, want, wish, conflict in asks:
        if conflict:
            outcome, result = Outcome.CONFLICT, KEY_REUSED
        elif wish.reason:
            outcome, result = Outcome.INVALID, f'{{"reason":"{wish.reason}"}}'
        elif not selling:
            outcome, result = Outcome.CLOSED, f'{{"reason":"event_{memory.policy.state}"}}'
        elif wish.seat >= 0 and hold_of[wish.seat]:  # by far the most frequent answer of all
            outcome = Outcome.TAKEN
            result = f'{{"taken":[{seat_json[wish.seat]}],"instead":{instead(wish.seat, 1)}}}'
        else:
            hold_id = HoldId(batch_no << 16 | len(rows))
            if wish.move is None:
                outcome, result = _answer(
                    memory, overlay, buyer, request_id, wish, hold_id, expires_at, decided
                )
            else:
                outcome, result = _move(
                    memory, overlay, buyer, request_id, wish, hold_id, batch_time, decided
                )
        # a Row, made without its constructor: that alone would be a fifth of a refusal's time
        append(new_row(Row, (LedgerKind.REQUEST, arrival, buyer, request_id, want, outcome, result)))


def _take_fact(memory: Memory, overlay: Overlay, fact: Fact, decided: Decided) -> None:
    hold = consume(memory, overlay, fact)
    if fact.kind == FactKind.POLICY:
        decided.state = memory.policy.state
    elif fact.kind in (FactKind.BLOCKED, FactKind.UNBLOCKED):
        decided.blocks_by_fact.append(decode_blocks(fact.body))
    elif fact.kind == FactKind.EXTENDED:
        decided.extended += [] if hold is None or fact.hold_id is None else [fact.hold_id]
    elif hold is not None:
        (decided.sold_by_fact if fact.kind == FactKind.PAID else decided.freed_by_fact).append(hold)
    hold_json = "null" if fact.hold_id is None else f'"{fact.hold_id}"'
    text = f'{{"fact":{fact.fact_id},"hold":{hold_json},"body":{fact.body}}}'
    decided.rows.append(Row(LedgerKind.FACT, "", "", "", text, fact.kind, "{}"))


def consume(memory: Memory, overlay: Overlay, fact: Fact) -> Hold | None:
    """Let memory know what somebody else changed; the hold it was about, if memory had it as active, or
    what was given back of it.
    """
    if fact.kind == FactKind.POLICY:
        overlay.set_policy(decode_policy(fact.body), extend=fact.fact_id not in memory.reflected)
        return None
    if fact.kind in (FactKind.BLOCKED, FactKind.UNBLOCKED):
        if fact.fact_id not in memory.reflected:
            change = overlay.block if fact.kind == FactKind.BLOCKED else overlay.unblock
            change(decode_blocks(fact.body))
        return None
    if fact.kind == FactKind.ELSEWHERE:
        overlay.set_elsewhere(_decode_elsewhere(fact.body))
        return None
    assert fact.hold_id is not None, "a fact about a hold names it"
    if fact.kind == FactKind.PAID:
        return overlay.settle(fact.hold_id)
    if fact.body == "null":
        return overlay.free(fact.hold_id)
    if fact.fact_id in memory.reflected:  # the hold is in memory as it was loaded: with this done to it
        return None
    if fact.kind == FactKind.EXTENDED:
        return overlay.extend(fact.hold_id, _decode_extended(fact.body).by_us)
    part = _decode_given_back(fact.body)
    return overlay.free_some(fact.hold_id, part.seats, part.areas)


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
    found = first_choice(memory, wish, left_for(memory, buyer))
    if isinstance(found, Refused):
        return found
    hold = Hold(buyer, found[1].seats, found[1].areas, expires_at)
    overlay.claim(hold_id, hold)
    decided.claims.append(Claim(hold_id, hold, request_id))
    return Outcome.HELD, _held(memory, hold_id, hold, *found)


def _move(
    memory: Memory,
    overlay: Overlay,
    buyer: str,
    request_id: str,
    wish: Wish,
    hold_id: HoldId,
    batch_time: int,
    decided: Decided,
) -> tuple[Outcome, str]:
    """Another hold instead of the buyer's old one, with the old one's end; or the old one stays as it is.

    What the old one has is free for this request, and does not count against the limit.
    """
    assert wish.move is not None, "the wish is to move a hold"
    old = memory.holds.get(wish.move)
    # a hold of this very batch nobody can know yet: who names one guesses, and it is in no table to be ended
    too_new = wish.move >> 16 == hold_id >> 16
    if old is None or old.buyer != buyer or old.expires_at <= batch_time or too_new:
        return Outcome.INVALID, NO_SUCH_HOLD
    left = left_for(memory, buyer, old)
    with counted_free(memory, wish.move, old):
        found = first_choice(memory, wish, left)
    if isinstance(found, Refused):
        return found.outcome, f'{found.result[:-1]},"kept":"{wish.move}"}}'
    overlay.free(wish.move)
    hold = Hold(buyer, found[1].seats, found[1].areas, old.expires_at)
    overlay.claim(hold_id, hold)
    decided.moved.append(Moved(wish.move, old, hold_id))
    decided.claims.append(Claim(hold_id, hold, request_id))
    return Outcome.HELD, f'{_held(memory, hold_id, hold, *found)[:-1]},"moved":"{wish.move}"}}'


def _held(memory: Memory, hold_id: HoldId, hold: Hold, choice: int, chosen: Chosen) -> str:
    seats = ",".join([memory.layout.seat_json[seat] for seat in hold.seats])
    areas = ",".join([f"{memory.layout.area_json[area]}:{quantity}" for area, quantity in hold.areas])
    more = f',"step":"{chosen.step}"' if chosen.step is not None else ""
    if choice:
        more += f',"choice":{choice}'
    expires_at_ms = hold.expires_at // 1000
    return f'{{"hold":"{hold_id}","seats":[{seats}],"areas":{{{areas}}},"expires_at":{expires_at_ms}{more}}}'
