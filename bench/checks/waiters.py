"""Is what buyers were told of the waiting list what the ledger says, and was each told of its offers?"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bench.checks.walk import told
from bench.evidence import Finding, Leaving, LedgerRow, Seen, Truth, read_frame, read_json

OFFERS_TOLD = 8
"""Of older offers a buyer who asks is not told: a frame has 12 entries, 4 of them may wait."""


class _Entry:
    """A request on the waiting list, by the ledger."""

    def __init__(self, row: LedgerRow, position: int) -> None:
        self.row, self.first, self.last = row, position, position
        """The best place it had, `last`, is only known at the end."""
        self.offer: LedgerRow | None = None
        self.left = False


class _List(NamedTuple):
    entries: dict[int, _Entry]
    """By wait id."""
    of_buyer: dict[str, list[int]]


def check_waiting(seen: Sequence[Seen], truth: Truth) -> Iterator[Finding]:
    """Offers and places that the ledger has not; offers whose buyer asked and was never told; who left and
    did not, or who was told not to wait at all.
    """
    waits = _walked(truth)
    by_key = {(e.row.buyer, e.row.request_id): wait for wait, e in waits.entries.items()}
    known: dict[str, set[int]] = defaultdict(set)
    for client in seen:
        for frame in client.offers:
            offer = read_json(frame)
            yield from _offer(client.buyer, offer, offer["result"], waits, known)
        for frame in client.waiting:
            for entry in read_json(frame)["waiting"]:
                yield from _told_of(client.buyer, entry, waits, known)
        for leaving in client.leaves:
            wait = by_key.get((client.buyer, leaving.request_id))
            yield from _leaving(client.buyer, leaving, waits.entries[wait] if wait is not None else None)
    yield from _never_told(seen, waits, known)


def _walked(truth: Truth) -> _List:
    """The list from the first row to the last: at which places each entry was."""
    waits = _List({}, defaultdict(list))
    line: list[int] = []
    leavers = {_wait_of(row) for row in truth.ledger if row.kind == "fact" and row.outcome == "left"}

    def gone(wait: int) -> _Entry | None:
        entry = waits.entries.get(wait)
        if entry is not None and wait in line:
            entry.last = _place(line, wait, leavers)
            line.remove(wait)
        return entry

    for row in truth.ledger:
        if row.kind == "request" and row.outcome == "waitlisted":
            insort(line, row.hold_id)
            waits.entries[row.hold_id] = _Entry(row, bisect_left(line, row.hold_id) + 1)
            waits.of_buyer[row.buyer].append(row.hold_id)
        elif row.kind == "offer":
            if (entry := gone(_wait_of(row))) is not None:
                entry.offer = row
        elif row.kind == "fact" and row.outcome == "left" and (entry := gone(_wait_of(row))) is not None:
            entry.left = True
    ahead = 0
    for wait in line:
        waits.entries[wait].last = 1 + ahead
        ahead += wait not in leavers
    return waits


def _place(line: list[int], wait: int, leavers: set[int]) -> int:
    """The best place it may have been told: who leaves is off the list before the ledger says so."""
    return 1 + sum(other not in leavers for other in line[: bisect_left(line, wait)])


def _wait_of(row: LedgerRow) -> int:
    named = read_json(row.input)
    return int((named.get("body") or named)["wait"])


def _offer(
    buyer: str, told_offer: dict[str, Any], result: object, waits: _List, known: dict[str, set[int]]
) -> Iterator[Finding]:
    wait = int(told_offer["wait"])
    entry = waits.entries.get(wait)
    if entry is not None and entry.row.buyer != buyer:
        story = f"{buyer} was told of an offer to {told(entry.row)}: {result}."
        yield Finding("foreign_hold", story)
    elif entry is None or entry.offer is None or told_offer["id"] != entry.row.request_id:
        story = f"{buyer} was told that {told_offer['id']} (wait {wait}) was offered {result}"
        yield Finding("unexplained", f"{story}; the ledger has no such offer.")
    elif read_json(entry.offer.result) != result:
        story = f"{buyer} was told that {told_offer['id']} was offered {result}"
        yield Finding("unexplained", f"{story}; the ledger says {entry.offer.result}.")
    known[buyer].add(wait)


def _told_of(
    buyer: str, entry: dict[str, Any], waits: _List, known: dict[str, set[int]]
) -> Iterator[Finding]:
    if entry["state"] == "offered":
        yield from _offer(buyer, entry, entry.get("offer"), waits, known)
        return
    wait, place = int(entry["wait"]), entry.get("position", 0)
    by_ledger = waits.entries.get(wait)
    who = f"{buyer} was told that {entry['id']} (wait {wait}) is number {place} on the waiting list"
    if by_ledger is None or (by_ledger.row.buyer, by_ledger.row.request_id) != (buyer, entry["id"]):
        yield Finding("unexplained", f"{who}; by the ledger it never was on it.")
    elif not by_ledger.last <= place <= by_ledger.first:
        places = f"from {by_ledger.first} to {by_ledger.last}"
        yield Finding("unexplained", f"{who}; by the ledger it went {places}.")


def _leaving(buyer: str, leaving: Leaving, entry: _Entry | None) -> Iterator[Finding]:
    who = f"{buyer} left the waiting list with {leaving.request_id}"
    if not leaving.answered_ns:
        return
    if entry is None:
        if not leaving.error:
            yield Finding("unexplained", f"{who}, it was answered; by the ledger it never was on it.")
    elif not leaving.error and not entry.left:
        yield Finding("unexplained", f"{who}, it was answered; by the ledger it did not leave.")
    elif leaving.error == "not_waiting" or (leaving.error == "offered" and entry.offer is None):
        is_what = "was offered something" if entry.offer else "left" if entry.left else "waits"
        yield Finding("unexplained", f"{who} and was answered {leaving.error}; by the ledger it {is_what}.")


def _never_told(seen: Sequence[Seen], waits: _List, known: dict[str, set[int]]) -> Iterator[Finding]:
    """Offers to requests that their buyer knew to wait when it looked for the last time."""
    of_buyer: dict[str, list[Seen]] = defaultdict(list)
    for client in seen:
        of_buyer[client.buyer].append(client)
    for buyer, clients in of_buyer.items():
        last = max(clients, key=lambda client: client.looked_ns)
        if not (last.looked_ns and last.stayed and last.waiting):
            continue
        still = {int(e["wait"]) for e in read_json(last.waiting[-1])["waiting"] if e["state"] == "waiting"}
        knew = {
            ask.request_id
            for client in clients
            for ask in client.asks
            for when, frame in ask.decisions
            if when < last.looked_ns and read_frame(frame).outcome == "waitlisted"
        }
        offered = [wait for wait in waits.of_buyer.get(buyer, ()) if waits.entries[wait].offer is not None]
        for wait in offered[-OFFERS_TOLD:]:
            entry = waits.entries[wait]
            if entry.row.request_id in knew and wait not in known[buyer] | still:
                assert entry.offer is not None, "only those are looked at"
                at = f"batch {entry.offer.batch_no} position {entry.offer.position}"
                story = f"{told(entry.row)} was offered {entry.offer.result} ({at})"
                yield Finding("lost", f"{story}; {buyer} asked for the waiting list and was not told.")
