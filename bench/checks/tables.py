"""Do the tables agree with each other, and with the ledger?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from bench.checks.lives import Life
from bench.checks.walk import Walk, told
from bench.evidence import Finding, HoldRow, Truth
from store.words import OPERATORS_HOLDS

LIVE = ("active", "paid")


def check_tables(truth: Truth, walk: Walk) -> Iterator[Finding]:
    """Seats, holds, areas, history and batches."""
    yield from _seats(truth)
    yield from _holds(truth, walk)
    yield from _areas(truth)
    yield from _blocked(truth, walk)
    yield from _history(truth, walk)
    yield from _batches(truth)
    yield from _ledger_keys(truth)


def _name(truth: Truth, seat_no: int) -> str:
    seats = truth.plan.seats
    return f"seat {seats[seat_no].guid}" if 0 <= seat_no < len(seats) else f"seat number {seat_no}"


def _seats(truth: Truth) -> Iterator[Finding]:
    states = {hold.hold_id: hold for hold in truth.holds}
    owners: dict[int, list[int]] = defaultdict(list)
    for seat_no, hold_id in truth.hold_seats:
        hold = states.get(hold_id)
        if hold is None or hold.state not in LIVE:
            is_what = hold.state if hold else "not in the hold table"
            yield Finding(
                "inconsistent", f"{_name(truth, seat_no)} is kept by hold {hold_id}, which is {is_what}."
            )
        else:
            owners[seat_no].append(hold_id)
    for seat_no, holds in owners.items():
        if len(holds) > 1:
            who = ", ".join(f"{h} of {states[h].buyer} ({states[h].state})" for h in holds)
            yield Finding("oversold", f"{_name(truth, seat_no)} is in {len(holds)} live holds: {who}.")
    wanted = {"active": "held", "paid": "sold"}
    for seat_no, state, seat_hold in truth.seats:
        kept_by = owners.get(seat_no, [])
        if seat_hold is None and kept_by:
            yield Finding(
                "inconsistent", f"{_name(truth, seat_no)} is {state}, but hold {kept_by[0]} keeps it."
            )
        elif seat_hold is not None and seat_hold not in kept_by:
            what = f"is {state} by hold {seat_hold}, but that hold does not keep it"
            yield Finding("inconsistent", f"{_name(truth, seat_no)} {what} (kept by: {kept_by or 'none'}).")
        elif seat_hold is not None and wanted[states[seat_hold].state] != state:
            what = f"is {state}, but hold {seat_hold} is {states[seat_hold].state}"
            yield Finding("inconsistent", f"{_name(truth, seat_no)} {what}.")
    numbers = [seat_no for seat_no, _, _ in truth.seats]
    if numbers != list(range(len(truth.plan.seats))):
        counts = Counter(state for _, state, _ in truth.seats)
        told_counts = " + ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "none"
        yield Finding("inconsistent", f"The plan has {len(truth.plan.seats)} seats, the table {told_counts}.")


def _holds(truth: Truth, walk: Walk) -> Iterator[Finding]:
    seat_counts = Counter(hold_id for _, hold_id in truth.hold_seats)
    place_counts: Counter[int] = Counter()
    for hold_id, _, quantity in truth.hold_areas:
        place_counts[hold_id] += quantity
    pending: dict[int, set[str]] = defaultdict(set)
    for kind, about in truth.facts:
        if about is not None:
            pending[about].add(kind)
    by_request: dict[tuple[str, str], int] = {}
    for hold in truth.holds:
        key = (hold.buyer, hold.request_id)
        if key in by_request and hold.hold_id < OPERATORS_HOLDS:  # who sells by hand may sell the same again
            both = f"{by_request[key]} and {hold.hold_id}"
            story = f"{hold.buyer}'s request {hold.request_id} has two holds, {both}."
            yield Finding("doubled", story)
        by_request[key] = hold.hold_id
        found = seat_counts[hold.hold_id] + place_counts[hold.hold_id]
        if hold.state in LIVE and found != hold.quantity:
            story = f"Hold {hold.hold_id} of {hold.buyer} counts {hold.quantity} and keeps {found}."
            yield Finding("inconsistent", story)
        life = walk.lives.get(hold.hold_id)
        waits = pending.get(hold.hold_id, set())
        if life is None and waits & {"sold", "returned"}:
            continue  # the ledger has it when the fact is consumed
        if life is None:
            story = (
                f"Hold {hold.hold_id} of {hold.buyer} ({hold.state}) is in the table; no ledger row gave it."
            )
            yield Finding("unexplained", story)
            continue
        if (hold.buyer, hold.request_id) != (life.row.buyer, life.row.request_id):
            whose = f"{hold.buyer}'s ({hold.request_id})"
            story = f"Hold {hold.hold_id} is {whose} in the table; {told(life.row)} got it."
            yield Finding("foreign_hold", story)
        yield from _ledger_says(hold, life, waits)
    known = {hold.hold_id for hold in truth.holds}
    for hold_id, life in walk.lives.items():
        if hold_id not in known:
            yield Finding("unexplained", f"{told(life.row)} gave hold {hold_id}; the table has no such hold.")


def _ledger_says(hold: HoldRow, life: Life, waits: set[str]) -> Iterator[Finding]:
    """The table's state of a hold against the ledger's; `waits` are kinds of its facts that are not consumed.

    A fact that waits explains what the table is ahead of; without one both say the same.
    """
    if "returned" in waits:
        return  # whole or in part: the ledger has it when the fact is consumed
    ended = life.end is not None or "released" in waits
    says = ""
    if ended == (hold.state in LIVE):
        says = f"ended ({life.ending or 'fact not consumed yet'})" if ended else "lives"
    elif not waits and hold.state != (state := _state_of(life)):
        says = f"is {state}"
    if says:
        story = f"Hold {hold.hold_id} of {hold.buyer} is {hold.state} in the table; by the ledger it {says}."
        yield Finding("unexplained", story)


def _state_of(life: Life) -> str:
    """What the table calls a hold of which the ledger has this."""
    if life.end is None:
        return "paid" if life.paid else "active"
    return {"moved": "released", "returned": "refunded"}.get(life.ending, life.ending)


def _areas(truth: Truth) -> Iterator[Finding]:
    states = {hold.hold_id: hold.state for hold in truth.holds}
    kept: Counter[tuple[int, str]] = Counter()
    for hold_id, area_no, quantity in truth.hold_areas:
        kept[area_no, states.get(hold_id, "missing")] += quantity
    for area in truth.areas:
        name = (
            truth.plan.areas[area.area_no].guid if area.area_no < len(truth.plan.areas) else str(area.area_no)
        )
        given = kept[area.area_no, "active"] + kept[area.area_no, "paid"]
        most = max(area.held + area.sold, given) + area.blocked
        if most > area.capacity:
            yield Finding(
                "oversold", f"Area {name} takes {area.capacity}; {most} places are given or blocked."
            )
        for counted, state in ((area.held, "active"), (area.sold, "paid")):
            if counted != kept[area.area_no, state]:
                keep = kept[area.area_no, state]
                story = f"Area {name} counts {counted} places {state}; its holds keep {keep}."
                yield Finding("inconsistent", story)
    if [area.area_no for area in truth.areas] != list(range(len(truth.plan.areas))):
        yield Finding(
            "inconsistent", f"The plan has {len(truth.plan.areas)} areas, the table {len(truth.areas)}."
        )


def _blocked(truth: Truth, walk: Walk) -> Iterator[Finding]:
    """What is off sale is what operators blocked, by the ledger."""
    if any(kind in ("blocked", "unblocked", "sold", "returned") for kind, _ in truth.facts):
        return  # the tables are ahead of the ledger until these are consumed
    for seat_no, state, _ in truth.seats:
        if (state == "blocked") != (seat_no in walk.blocked):
            ends = "blocked" if seat_no in walk.blocked else "on sale"
            story = f"{_name(truth, seat_no)} is {state}; by the ledger it is {ends}."
            yield Finding("unexplained", story)
    for area in truth.areas:
        if area.blocked != walk.places_blocked[area.area_no]:
            story = (
                f"counts {area.blocked} places blocked; by the ledger {walk.places_blocked[area.area_no]} are"
            )
            yield Finding("unexplained", f"Area number {area.area_no} {story}.")


def _history(truth: Truth, walk: Walk) -> Iterator[Finding]:
    now: dict[int, int] = {}
    given: set[tuple[int, int]] = set()
    for change in truth.history:
        before = now.get(change.seat_no)
        if change.state in ("held", "sold"):
            assert change.hold_id is not None, "a held or sold seat names its hold"
            given.add((change.seat_no, change.hold_id))
            if before not in (None, change.hold_id):
                went = f"went to hold {change.hold_id} ({change.state}, by {change.by})"
                story = f"{went} while hold {before} had it"
                yield Finding("oversold", f"By its history {_name(truth, change.seat_no)} {story}.")
            now[change.seat_no] = change.hold_id
        else:
            now.pop(change.seat_no, None)
    for seat_no, state, hold_id in truth.seats:
        if now.get(seat_no) != hold_id:
            story = f"ends with hold {now.get(seat_no)}, but it is {state} (hold {hold_id})"
            yield Finding("unexplained", f"The history of {_name(truth, seat_no)} {story}.")
    for life in walk.lives.values():
        for seat in life.seats:
            if (seat, life.hold_id) not in given:
                story = f"gave {_name(truth, seat)}; the seat's history does not have it"
                yield Finding("unexplained", f"{told(life.row)} {story}.")


def _batches(truth: Truth) -> Iterator[Finding]:
    rows = Counter(row.batch_no for row in truth.ledger)
    known = {batch.batch_no for batch in truth.batches}
    before = None
    for batch in truth.batches:
        last = before.batch_no if before else 0
        expected = truth.restored.get(last, last + 1)
        if batch.batch_no != expected:
            yield Finding("inconsistent", f"Batch {batch.batch_no} follows {last}: batches are missing.")
        if before and (batch.batch_time < before.batch_time or batch.epoch < before.epoch):
            yield Finding("inconsistent", f"Batch {batch.batch_no} is older than the batch before it.")
        if rows[batch.batch_no] != batch.rows:
            story = f"Batch {batch.batch_no} wrote {batch.rows} rows; the ledger has {rows[batch.batch_no]}."
            yield Finding("inconsistent", story)
        before = batch
    last = truth.batches[-1].batch_no if truth.batches else 0
    if last != truth.cursor_batch_no:
        yield Finding(
            "inconsistent", f"The cursor is at batch {truth.cursor_batch_no}, the ledger at {last}."
        )
    for batch_no in sorted(rows.keys() - known):
        yield Finding("inconsistent", f"The ledger has rows of batch {batch_no}, which was never written.")
    expected_position: Counter[int] = Counter()
    for row in truth.ledger:
        if row.position != expected_position[row.batch_no]:
            yield Finding(
                "inconsistent", f"Batch {row.batch_no} has no row at {expected_position[row.batch_no]}."
            )
            expected_position[row.batch_no] = row.position
        expected_position[row.batch_no] += 1


def _ledger_keys(truth: Truth) -> Iterator[Finding]:
    keys: dict[tuple[str, str], tuple[int, int]] = {}
    arrivals: dict[str, tuple[str, str]] = {}
    for row in truth.ledger:
        if row.kind != "request":
            continue
        key = (row.buyer, row.request_id)
        if row.outcome != "conflict":
            if key in keys:
                story = f"{told(row)} was decided before, in batch {keys[key][0]} at position {keys[key][1]}."
                yield Finding("doubled", story)
            keys[key] = row.at
        if row.arrival in arrivals:
            story = f"{told(row)} has the arrival of {arrivals[row.arrival][0]}'s {arrivals[row.arrival][1]}."
            yield Finding("doubled", story)
        arrivals[row.arrival] = key
