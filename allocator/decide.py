"""The decision: a memory and a batch in, answers out. No clock, no I/O, no chance.

The batch loop and the replay (`./run verify`) call this one function, so a ledger that says what
went in also says what must have come out. `CODE_VERSION` goes up with every change
that could answer anything differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from allocator import waiting
from allocator.choosing import Refused, counted_free, first_choice, left_for
from allocator.decided import Claim, Decided, Moved, Row, Waits, held_result
from allocator.memory import Hold, Memory, Overlay, expiry_now
from allocator.offering import Offering
from allocator.wishes import Wish
from store.words import (
    WAITING_MAX,
    WAITING_PER_BUYER_MAX,
    Arrival,
    Blocks,
    EventState,
    Extended,
    FactKind,
    GivenBack,
    HoldId,
    LedgerKind,
    Left,
    Outage,
    Outcome,
    Policy,
    Recategorise,
    Returned,
    Sold,
    WaitId,
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
_decode_left = msgspec.json.Decoder(Left).decode
_decode_sold = msgspec.json.Decoder(Sold).decode
_decode_returned = msgspec.json.Decoder(Returned).decode
_decode_recategorise = msgspec.json.Decoder(Recategorise).decode
_decode_outage = msgspec.json.Decoder(Outage).decode


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


def decide(
    memory: Memory,
    overlay: Overlay,
    batch_no: int,
    batch_time: int,
    facts: Sequence[Fact],
    asks: Sequence[Ask],
) -> Decided:
    """Decide a batch in order: facts, then holds that ran out, offers of what came free, then requests.

    Changes memory through `overlay` only. The same inputs on equal memories give equal results. Raises
    `OffersFirst` when a batch with requests makes as many offers as a batch may.
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
    """`decide`, yielding the same growing result after facts, expiries and offers and after each `piece` of
    requests, so that its rows can be on their way while the next are decided.
    """
    decided = Decided()
    for fact in facts:
        _take_fact(memory, overlay, fact, decided)
    _expire(memory, overlay, expiry_now(memory, batch_time), decided)
    decided.tour_id = None if memory.policy.tour is None else memory.policy.tour.id
    offering = Offering(memory, overlay, batch_no, batch_time, decided, bool(asks))
    if decided.rows or memory.offers_owed or decided.tour_id is not None:  # back elsewhere is no row here
        offering.to_all()
    position = decided.first_ask = len(decided.rows)
    more_offers = waiting.OFFERS_PER_BATCH_MAX - overlay.offers
    assert position + len(asks) + more_offers < 1 << 16, "a hold id has 16 bits for the position"
    assert not asks or memory.policy.state is not EventState.PAUSED, "while paused nothing is decided"
    assert not asks or not decided.plans, "what was asked is read by the plan that it is decided by"
    yield decided
    for start in range(0, len(asks), piece):
        _answer_all(memory, overlay, batch_no, batch_time, asks[start : start + piece], decided, offering)
        yield decided


def _answer_all(
    memory: Memory,
    overlay: Overlay,
    batch_no: int,
    batch_time: int,
    asks: Sequence[Ask],
    decided: Decided,
    offering: Offering,
) -> None:
    expires_at = batch_time + memory.policy.hold_ttl_seconds * 1_000_000
    selling = memory.policy.state is EventState.OPEN
    restless = memory.waiting.restless
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
            if restless:
                offering.to_who_wants(wish)
            hold_id = HoldId(batch_no << 16 | len(rows))
            if wish.move is None:
                outcome, result = _answer(
                    memory, overlay, buyer, request_id, wish, hold_id, expires_at, decided
                )
            else:
                outcome, result = _move(
                    memory, overlay, buyer, request_id, wish, hold_id, batch_time, decided
                )
                if outcome is Outcome.HELD:
                    append(Row(LedgerKind.REQUEST, arrival, buyer, request_id, want, outcome, result))
                    offering.to_all()  # what the old hold had
                    continue
        # a Row, made without its constructor: that alone would be a fifth of a refusal's time
        append(new_row(Row, (LedgerKind.REQUEST, arrival, buyer, request_id, want, outcome, result)))


def _take_fact(memory: Memory, overlay: Overlay, fact: Fact, decided: Decided) -> None:
    hold = consume(memory, overlay, fact)
    if fact.kind == FactKind.POLICY:
        decided.state = memory.policy.state
    elif fact.kind in (FactKind.BLOCKED, FactKind.UNBLOCKED):
        decided.blocks_by_fact.append(decode_blocks(fact.body))
    elif fact.kind == FactKind.RETURNED and (back := _decode_returned(fact.body)).blocked:
        decided.blocks_by_fact.append(Blocks(back.seats, back.areas))
    elif fact.kind == FactKind.RECATEGORISED:
        decided.plans.append((memory.layout.version, len(decided.rows)))
    elif fact.kind == FactKind.OUTAGE:
        decided.outages.append(_decode_outage(fact.body))
    elif fact.kind == FactKind.EXTENDED:
        decided.extended += [] if hold is None or fact.hold_id is None else [fact.hold_id]
    elif hold is not None:
        sold = fact.kind in (FactKind.PAID, FactKind.SOLD)
        (decided.sold_by_fact if sold else decided.freed_by_fact).append(hold)
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
    if fact.kind == FactKind.LEFT:
        overlay.leave(WaitId(int(_decode_left(fact.body).wait)))
        return None
    if fact.kind == FactKind.RECATEGORISED:
        overlay.recategorise(_decode_recategorise(fact.body))
        return None
    if fact.kind == FactKind.ELSEWHERE:
        overlay.set_elsewhere(_decode_elsewhere(fact.body))
        return None
    if fact.kind == FactKind.OUTAGE:
        if fact.fact_id not in memory.reflected:
            outage = _decode_outage(fact.body)
            overlay.give_time(outage.since, outage.lost_us)
        return None
    assert fact.hold_id is not None, "a fact about a hold names it"
    if fact.kind == FactKind.PAID:
        return overlay.settle(fact.hold_id)
    if fact.kind in (FactKind.SOLD, FactKind.RETURNED):
        return _sold_or_returned(memory, overlay, fact.hold_id, fact)
    if fact.body == "null":
        return overlay.free(fact.hold_id)
    if fact.fact_id in memory.reflected:  # the hold is in memory as it was loaded: with this done to it
        return None
    if fact.kind == FactKind.EXTENDED:
        return overlay.extend(fact.hold_id, _decode_extended(fact.body).by_us)
    part = _decode_given_back(fact.body)
    return overlay.free_some(fact.hold_id, part.seats, part.areas)


def _sold_or_returned(memory: Memory, overlay: Overlay, hold_id: HoldId, fact: Fact) -> Hold:
    """What an operator sold or took back; memory that was loaded after it shows it already."""
    if fact.kind == FactKind.SOLD:
        sold = _decode_sold(fact.body)
        if fact.fact_id not in memory.reflected:
            overlay.sell(hold_id, sold)
        return Hold(sold.buyer, sold.seats, sold.areas, 0)
    back = _decode_returned(fact.body)
    if fact.fact_id not in memory.reflected:
        overlay.take_back(hold_id, back)
    return Hold(back.buyer, back.seats, back.areas, 0)


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
        return (
            _wait(memory, overlay, buyer, request_id, wish, hold_id, found, decided) if wish.waits else found
        )
    hold = Hold(buyer, found[1].seats, found[1].areas, expires_at)
    overlay.claim(hold_id, hold)
    decided.claims.append(Claim(hold_id, hold, request_id))
    return Outcome.HELD, held_result(memory, hold_id, hold, *found)


def _wait(
    memory: Memory,
    overlay: Overlay,
    buyer: str,
    request_id: str,
    wish: Wish,
    position: int,
    refused: Refused,
    decided: Decided,
) -> tuple[Outcome, str]:
    """On the list, behind all who wait; `position` is where the decision stands, as in a hold's id."""
    if refused.outcome is Outcome.LIMIT_REACHED:
        return refused
    if memory.waiting.count_by_buyer.get(buyer, 0) >= WAITING_PER_BUYER_MAX:
        return Outcome.LIMIT_REACHED, f'{{"reason":"waiting","limit":{WAITING_PER_BUYER_MAX}}}'
    if len(memory.waiting) >= WAITING_MAX:
        return refused.outcome, f'{refused.result[:-1]},"waiting_list":"full"}}'
    wait_id = WaitId(position)
    overlay.wait(wait_id, buyer, request_id, wish)
    decided.waits.append(Waits(wait_id, buyer, request_id))
    ahead = f'"wait":"{wait_id}","position":{len(memory.waiting)}'
    return Outcome.WAITLISTED, f'{{{ahead},"why":"{refused.outcome}","detail":{refused.result}}}'


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
    return Outcome.HELD, f'{held_result(memory, hold_id, hold, *found)[:-1]},"moved":"{wish.move}"}}'
