"""Was anybody overtaken? Arrival order in the ledger, and against the clock of the clients."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from bench.checks.limits import Limits
from bench.checks.walk import Walk, told
from bench.evidence import Ask, Finding, LedgerRow, Loss, Seen, Truth, read_frame
from store.wire import arrival_order

Order = tuple[int, int]


def check_order(
    seen: Sequence[Seen], truth: Truth, walk: Walk, losses: Sequence[Loss] = ()
) -> Iterator[Finding]:
    """Rows stand in arrival order, nobody was refused what a later arrival got, clients agree."""
    yield from _ledger_order(truth)
    yield from _refused_though_free(truth, walk)
    yield from _overtaken(truth, walk, losses)
    yield from _arrivals_told(seen)
    yield from _acting_first(seen)


def _ledger_order(truth: Truth) -> Iterator[Finding]:
    """Within the ledger arrivals grow.

    The exception is a request asked again after the stream lost it, which keeps its first arrival: it
    lies below the cursor from before its batch. It is judged by what it lost (`_overtaken`).
    """
    cursor_before: dict[int, Order] = {}
    cursor: Order = (0, 0)
    for batch in truth.batches:
        cursor_before[batch.batch_no] = cursor
        cursor = max(cursor, arrival_order(batch.arrival))
    last: LedgerRow | None = None
    for row in truth.ledger:
        if row.kind != "request":
            continue
        order = arrival_order(row.arrival)
        if last is not None and order < arrival_order(last.arrival):
            if order <= cursor_before.get(row.batch_no, (0, 0)):
                continue
            yield Finding("reordered", f"{told(row)} was decided after {told(last)}, which arrived later.")
        last = row


def _refused_though_free(truth: Truth, walk: Walk) -> Iterator[Finding]:
    got: dict[int, list[LedgerRow]] = {}
    for life in walk.lives.values():
        for seat in life.seats:
            got.setdefault(seat, []).append(life.row)
    for refusal in walk.refusals:
        row = refusal.row
        later = [
            (seat, winner)
            for seat in refusal.seats
            for winner in got.get(seat, ())
            if winner.arrival  # what an operator sold has none
            and winner.at > row.at
            and arrival_order(winner.arrival) > arrival_order(row.arrival)
        ]
        names = ", ".join(truth.plan.seats[seat].guid for seat in refusal.seats) or "standing places"
        if later:
            seat, winner = later[0]
            story = (
                f"{told(row)} was refused though {names} were free; then {told(winner)}, who arrived later, "
            )
            yield Finding("reordered", f"{story}got {truth.plan.seats[seat].guid}.")
        else:
            yield Finding("unexplained", f"{told(row)} was refused though {names} were free.")


def _overtaken(truth: Truth, walk: Walk, losses: Sequence[Loss]) -> Iterator[Finding]:
    """Refused because somebody decided earlier, but arrived later, had what was asked for."""
    suspects = {overtaken.row.at: overtaken for overtaken in walk.overtaken}
    if not suspects:
        return
    times = {batch.batch_no: batch.batch_time // 1000 for batch in truth.batches}
    limits = Limits(truth)
    for row in truth.ledger:
        if (suspect := suspects.get(row.at)) is None:
            list(limits.take(row))  # what is over them is told by `check_limits`
            continue
        lost = next(((part, who) for could, part, who in suspect.could if limits.allow(row, could)), None)
        if lost is not None:
            arrived, decided = arrival_order(row.arrival)[0], times.get(row.batch_no, 0)
            excused = any(arrived <= loss.lost_at <= decided <= loss.over_at for loss in losses)
            story = f"{told(row)} was refused {lost[0]}: {told(lost[1])}, who arrived later, had it."
            yield Finding("late" if excused else "reordered", story)


def _arrivals_told(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Nobody's place in the order gets worse than the one that was acknowledged.

    A better one is fine: where an append got no reply, the gateway appends again, and the decision
    carries the first arrival. A buyer who asked again, on whichever device, may be served as if for the
    first time.
    """
    for (buyer, request_id), asks in _by_key(seen).items():
        if sum(len(ask.sent_ns) for ask in asks) > 1 or not asks[0].accepted:
            continue
        accepted = asks[0].accepted[0][1]
        for _, frame in asks[0].decisions:
            decided = read_frame(frame).arrival
            if arrival_order(decided) > arrival_order(accepted):
                story = f"{buyer}'s request {request_id}, sent once, was accepted as "
                yield Finding("reordered", f"{story}{accepted} and decided as {decided}.")


def _acting_first(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Who was told "accepted" before another even sent has the lower arrival.

    A key was sent when the first of its buyer's devices sent it: what another one asks later has the
    arrival of that.
    """
    told_at: list[tuple[int, Order, str]] = []
    sent_at: list[tuple[int, Order, str]] = []
    for (buyer, request_id), asks in _by_key(seen).items():
        arrivals = [(when, arrival_order(arrival)) for ask in asks for when, arrival in ask.accepted]
        arrivals += [
            (when, arrival_order(read_frame(frame).arrival))
            for ask in asks
            for when, frame in ask.decisions[:1]
        ]
        first_sent = [ask.sent_ns[0] for ask in asks if ask.sent_ns]
        if not arrivals or not first_sent:
            continue
        who = f"{buyer}'s request {request_id}"
        when, order = min(arrivals)
        told_at.append((when, order, who))
        sent_at.append((min(first_sent), max(order for _, order in arrivals), who))
    told_at.sort()
    sent_at.sort()
    highest: tuple[Order, str] = ((0, 0), "")
    index = 0
    for sent, order, who in sent_at:
        while index < len(told_at) and told_at[index][0] < sent:
            highest = max(highest, (told_at[index][1], told_at[index][2]))
            index += 1
        if order < highest[0]:
            early, late = _text(highest[0]), _text(order)
            story = f"{highest[1]} was acknowledged as {early} before {who} was sent; that one got {late}."
            yield Finding("reordered", story)


def _by_key(seen: Sequence[Seen]) -> dict[tuple[str, str], list[Ask]]:
    asks: dict[tuple[str, str], list[Ask]] = defaultdict(list)
    for client in seen:
        for ask in client.asks:
            asks[client.buyer, ask.request_id].append(ask)
    return asks


def _text(order: Order) -> str:
    return f"{order[0]}-{order[1]}"
