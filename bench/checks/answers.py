"""Is what clients were told what the ledger and the tables say, and only theirs?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import msgspec

from bench.checks.walk import Walk, told
from bench.evidence import Ask, Finding, Frame, LedgerRow, Loss, Seen, Truth, read_frame, read_json
from store.plan import PRICE_MINOR_MAX, Plan
from store.wire import arrival_order, canonical_want, decision_frame, decode_want


def check_answers(
    seen: Sequence[Seen], truth: Truth, walk: Walk, losses: Sequence[Loss] = ()
) -> Iterator[Finding]:
    """Lost, doubled, foreign and unexplained answers, and seats two clients believe they have."""
    owners = {hold.hold_id: hold.buyer for hold in truth.holds}
    states = {hold.hold_id: hold.state for hold in truth.holds}
    ever_gone = _ever_gone(truth, walk)
    uncertain = ever_gone | {truth.plan.seats[seat].guid for seat in walk.moved}  # of what category, and when
    never_gone = lru_cache(lambda want: _never_gone(want, truth.plan, uncertain))
    for (buyer, request_id), asks in _by_key(seen).items():
        rows = walk.by_key.get((buyer, request_id), [])
        frames = {frame for ask, _ in asks for _, frame in ask.decisions}
        yield from _lost(buyer, request_id, asks, rows, truth, losses)
        yield from _doubled(buyer, request_id, asks, frames)
        yield from _content(buyer, asks, rows)
        for frame in sorted(frames):
            yield from _frame(buyer, frame, rows, owners)
        yield from _not_queued(buyer, asks, rows, ever_gone, never_gone)
    for client in seen:
        for frame in client.strange:
            owner = owners.get(_hold_of(read_frame(frame)), "nobody")
            kind = "unexplained" if owner in ("nobody", client.buyer) else "foreign_hold"
            story = (
                f"{client.buyer} was told {frame.decode()}, which it never asked for; its hold is {owner}'s."
            )
            yield Finding(kind, story)
        yield from _hold_ops(client, owners, states)
    yield from _two_believe(seen, truth, walk)


def _by_key(seen: Sequence[Seen]) -> dict[tuple[str, str], list[tuple[Ask, bool]]]:
    asks: dict[tuple[str, str], list[tuple[Ask, bool]]] = defaultdict(list)
    for client in seen:
        for ask in client.asks:
            asks[client.buyer, ask.request_id].append((ask, client.stayed))
    return asks


def _lost(
    buyer: str,
    request_id: str,
    asks: list[tuple[Ask, bool]],
    rows: list[LedgerRow],
    truth: Truth,
    losses: Sequence[Loss],
) -> Iterator[Finding]:
    accepted = [arrival for ask, _ in asks for _, arrival in ask.accepted]
    who = f"{buyer}'s request {request_id}"
    if accepted and not rows and _served_anew(asks, accepted, losses):
        story = f"{who} was accepted as {accepted[0]}, lost with the stream and the gateway that knew it"
        yield Finding("late", f"{story}, asked again, and refused at the gate as if for the first time.")
    elif accepted and not rows:
        passed = arrival_order(accepted[0]) <= arrival_order(truth.cursor_arrival)
        cursor = f"the cursor {'has passed it' if passed else 'is below it'} ({truth.cursor_arrival})"
        yield Finding("lost", f"{who} was accepted as {accepted[0]}; the ledger has no row for it, {cursor}.")
    elif rows and not any(ask.decisions for ask, _ in asks):
        waited = any(stayed and ask.sent_ns and not ask.not_queued for ask, stayed in asks)
        if waited:
            yield Finding("lost", f"{told(rows[0])} was decided; its client stayed and was never told.")


def _served_anew(asks: list[tuple[Ask, bool]], accepted: list[str], losses: Sequence[Loss]) -> bool:
    """Whether more was lost than "accepted" promises to survive, and who asked again was refused."""
    again = sum(len(ask.sent_ns) for ask, _ in asks) > 1
    refused = any(ask.not_queued for ask, _ in asks)
    last = max(arrival_order(arrival)[0] for arrival in accepted)
    return again and refused and any(last <= loss.lost_at for loss in losses)


def _doubled(
    buyer: str, request_id: str, asks: list[tuple[Ask, bool]], frames: set[bytes]
) -> Iterator[Finding]:
    decided = [frame for frame in sorted(frames) if read_frame(frame).outcome != "conflict"]
    if len(decided) > 1:
        both = " and ".join(frame.decode() for frame in decided[:2])
        yield Finding("doubled", f"{buyer}'s request {request_id} was told two decisions: {both}.")
    contents = {_canonical(ask.want) for ask, _ in asks}
    if len(decided) < len(frames) and len(contents) == 1:
        story = f"{buyer}'s request {request_id} had one content and was told it conflicts with itself."
        yield Finding("doubled", story)


def _content(buyer: str, asks: list[tuple[Ask, bool]], rows: list[LedgerRow]) -> Iterator[Finding]:
    wants = {_canonical(ask.want) for ask, _ in asks}
    for row in rows:
        if row.outcome != "conflict" and _canonical(row.input) not in wants:
            yield Finding(
                "unexplained", f"{told(row)} has the content {row.input}; {buyer} sent {sorted(wants)}."
            )


def _frame(buyer: str, frame: bytes, rows: list[LedgerRow], owners: dict[int, str]) -> Iterator[Finding]:
    for row in rows:
        if frame == decision_frame(row.request_id, row.arrival, row.outcome, row.result):
            return
    told_frame = read_frame(frame)
    for row in rows:
        told_row = Frame(row.request_id, row.arrival, row.outcome, read_json(row.result))
        if told_frame == told_row:
            return
    owner = owners.get(_hold_of(told_frame), buyer)
    if owner != buyer:
        yield Finding("foreign_hold", f"{buyer} was told {frame.decode()}; that hold is {owner}'s.")
    else:
        ledger = "; ".join(told(row) for row in rows) or "no row for this key"
        yield Finding("unexplained", f"{buyer} was told {frame.decode()}; the ledger has {ledger}.")


def _ever_gone(truth: Truth, walk: Walk) -> set[str]:
    """Seats that somebody had, or that were not for sale, at any time."""
    gone = {seat for life in walk.lives.values() for seat in life.seats}
    gone |= {seat for seat, state, _ in truth.seats if state == "blocked"}
    gone |= {change.seat_no for change in truth.history if change.state == "blocked"}
    return {truth.plan.seats[seat].guid for seat in gone}


def _not_queued(
    buyer: str,
    asks: list[tuple[Ask, bool]],
    rows: list[LedgerRow],
    ever_gone: set[str],
    never_gone: Callable[[str], str],
) -> Iterator[Finding]:
    sent = sum(len(ask.sent_ns) for ask, _ in asks)
    for ask, _ in asks:
        for _, frame in ask.not_queued:
            if rows and sent == 1:
                yield Finding("unexplained", f'{told(rows[0])} was told "not queued", and was decided too.')
            refusal = msgspec.json.decode(frame)
            if refusal.get("reason") == "none_left" and (free := never_gone(ask.want)):
                story = f"{buyer}'s request {ask.request_id} was refused at the gate for want of any seat"
                yield Finding("unexplained", f"{story}; nobody ever had {free}.")
            taken = refusal.get("taken", [])
            if taken and ever_gone.isdisjoint(taken):
                story = f"{buyer}'s request {ask.request_id} was refused at the gate for {taken}"
                yield Finding("unexplained", f"{story}; nobody ever had them.")


def _never_gone(text: str, plan: Plan, ever_gone: set[str]) -> str:
    """A seat of each party that nobody ever had: then something was left. Empty where one party has none,
    and for standing places, which have no history.
    """
    want = decode_want(text)
    found = [
        next(
            (
                seat.guid
                for seat in plan.seats
                if party.section in (None, plan.sections[seat.section].name)
                and party.category in (None, plan.categories[seat.category].name)
                and (party.price_min or 0) <= plan.categories[seat.category].price_minor
                and plan.categories[seat.category].price_minor
                <= (PRICE_MINOR_MAX if party.price_max is None else party.price_max)
                and (party.accessible or not (seat.accessible or seat.companion))
                and seat.guid not in ever_gone
            ),
            "",
        )
        for party in want.parties
    ]
    return "" if want.areas or not all(found) else ", ".join(found)


def _hold_ops(client: Seen, owners: dict[int, str], states: dict[int, str]) -> Iterator[Finding]:
    changed = {"release": "released", "confirm": "paid"}  # an extension leaves it as it is
    for op in client.hold_ops:
        if not op.state:
            continue
        hold_id = int(op.hold) if op.hold.isdecimal() else -1
        owner = owners.get(hold_id, "nobody")
        if owner != client.buyer:
            story = (
                f"{client.buyer} sent {op.op} for hold {op.hold} of {owner} and was answered {op.state!r}."
            )
            yield Finding("foreign_hold", story)
        elif op.state == changed.get(op.op) and states[hold_id] not in (op.state, "refunded"):
            story = f"{client.buyer} was told hold {op.hold} is {op.state}; the table says {states[hold_id]}."
            yield Finding("unexplained", story)


def _two_believe(seen: Sequence[Seen], truth: Truth, walk: Walk) -> Iterator[Finding]:
    """Held answers for one seat whose holds, by the ledger, did not follow one another."""
    numbers = {seat.guid: number for number, seat in enumerate(truth.plan.seats)}
    given: dict[str, dict[int, str]] = defaultdict(dict)
    for client in seen:
        for ask in client.asks:
            for _, raw in ask.decisions:
                frame = read_frame(raw)
                if frame.outcome == "held":
                    for guid in frame.result.get("seats", ()):
                        given[guid][_hold_of(frame)] = client.buyer
    for guid, holds in given.items():
        ordered = sorted(holds.items())
        for (first, one), (second, other) in pairwise(ordered):
            life, after = walk.lives.get(first), walk.lives.get(second)
            over = life.end_of(numbers.get(guid, -1)) if life else None
            if over is None or after is None or over > after.row.at:
                ended = f"the first ended at {over}" if over else "the first never ended"
                story = (
                    f"{one} (hold {first}) and {other} (hold {second}) were both told they hold seat {guid}"
                )
                yield Finding("oversold", f"{story}; by the ledger {ended}.")


def _hold_of(frame: Frame) -> int:
    hold = str(frame.result.get("hold", ""))
    return int(hold) if hold.isdecimal() else -1


@lru_cache(maxsize=4096)
def _canonical(want: str) -> bytes:
    try:
        return canonical_want(decode_want(want.encode()))
    except msgspec.DecodeError:
        return want.encode()
