"""The waiting list from outside: who may be offered what, by the ledger's own rows.

A list kept with arithmetic of its own: who was put on it, who left, who was offered something and how many
were passed over for that. Nobody is served before somebody who waited for the same longer and could have it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any

import msgspec

from bench.evidence import Finding, LedgerRow, Truth, read_json

NO_ARRIVAL = "0-0"


class ListWalk:
    """The list while somebody walks along the ledger. `owned`: what each buyer has, seats and places."""

    def __init__(self, owned: Counter[str], told: Callable[[LedgerRow], str]) -> None:
        self.findings: list[Finding] = []
        self.waits: dict[int, LedgerRow] = {}
        """By wait id: in the list's order."""
        self.ended: dict[int, str] = {}
        """Wait id → `offered` or `left`, with the hold that was offered."""
        self.state = ""
        self._owned = owned
        self._told = told
        self._by_what: dict[str, list[LedgerRow]] = {}
        self._limit = math.inf
        self._more_limits = False

    def policy(self, row: LedgerRow) -> None:
        """The organiser changed the rules or the event's state."""
        body = read_json(row.input)["body"]
        self.state, self._limit = body["state"], body["seats_per_buyer_max"]
        # who may have how much of a category or on other dates the replay judges
        self._more_limits = bool(body.get("limits") or body.get("tour"))

    def put(self, row: LedgerRow) -> None:
        """A request goes on the list."""
        result = read_json(row.result)
        self.waits[row.hold_id] = row
        self._by_what.setdefault(what(row), []).append(row)
        if (result.get("wait"), result.get("position")) != (str(row.hold_id), len(self.waits)):
            story = f"{self._told(row)} waits as {row.hold_id}, at {len(self.waits)} of the list"
            self._finding("unexplained", f"{story}; it was told {row.result}.")

    def leave(self, row: LedgerRow) -> None:
        """Its buyer left; one that is not on the list has been offered something meanwhile."""
        wait_id = int(read_json(row.input)["body"]["wait"])
        if wait_id in self.waits:
            self._end(wait_id, "left")

    def offer(self, row: LedgerRow) -> LedgerRow:
        """The row as a decision: with the arrival of the request it is for."""
        wait_id = int(read_json(row.input).get("wait", 0))
        waited = self.waits.get(wait_id)
        if waited is None:
            why = self.ended.get(wait_id, "was never on the list")
            self._finding("unexplained", f"{self._told(row)} is an offer to {wait_id}, which {why}.")
            return row._replace(arrival=NO_ARRIVAL)
        if (waited.buyer, waited.request_id) != (row.buyer, row.request_id):
            story = f"{self._told(row)} is an offer for {self._told(waited)}."
            self._finding("foreign_hold", story)
        before = len(list(takewhile(lambda one: one < wait_id, self.waits)))
        said = read_json(row.result).get("passed_over")
        if said != before:
            story = f"{self._told(row)} says it passed {said} over; {before} waited longer."
            self._finding("reordered", story)
        self._end(wait_id, "was offered something before")
        decided = row._replace(arrival=waited.arrival)
        self.given(decided, what(waited))
        return decided

    def given(self, row: LedgerRow, wanted: str) -> None:
        """Somebody got what `wanted` says: nobody waits for it longer who could have it too."""
        result = read_json(row.result)
        quantity = len(result.get("seats", ())) + sum(result.get("areas", {}).values())
        for longer in self._by_what.get(wanted, ()):
            if longer.at > row.at or longer.hold_id not in self.waits or "moved" in result:
                continue
            if self._more_limits:
                return
            waited_id = int(read_json(row.input).get("wait", 0)) or row.hold_id
            if longer.hold_id < waited_id and self._owned[longer.buyer] + quantity <= self._limit:
                story = f"{self._told(row)} was served before {self._told(longer)}, who waited for the same."
                self._finding("reordered", story)
                return

    def could_have(self, free_for: Callable[[dict[str, Any]], object | None]) -> Iterator[Finding]:
        """At the end: who waits though there is what they want, and nothing more will come of it."""
        if self.state != "open" or self._more_limits:
            return
        for rows in self._by_what.values():
            want = read_json(rows[0].input)
            choices = (want, *want.get("fallbacks", ()))
            if any(isinstance(choice.get("best"), list) for choice in choices):
                continue  # found one party after the other: the replay's to judge
            if max(map(_quantity, choices)) > self._limit:
                continue  # nobody may have as much
            able = [row for row in rows if row.hold_id in self.waits and not self._owned[row.buyer]]
            if able and free_for(want) is not None:
                yield Finding("unexplained", f"{self._told(able[0])} waits though it could be served.")

    def _end(self, wait_id: int, how: str) -> None:
        self.ended[wait_id] = how
        row = self.waits.pop(wait_id)
        same = self._by_what[what(row)]
        same.remove(row)
        if not same:
            del self._by_what[what(row)]

    def _finding(self, kind: str, story: str) -> None:
        self.findings.append(Finding(kind, story))


def _quantity(choice: dict[str, Any]) -> int:
    """Seats and places of a choice without several parties."""
    party: int = (choice.get("best") or {}).get("quantity", 0)
    places: int = sum(choice.get("areas", {}).values())
    return len(choice.get("seats", ())) + party + places


def what(row: LedgerRow) -> str:
    """What a request is for, equal for all who want the same, waiting or not."""
    if '"waitlist"' not in row.input:
        return row.input
    want = read_json(row.input)
    want.pop("waitlist", None)
    return msgspec.json.encode(want, order="sorted").decode()


def check_list(truth: Truth, walk: ListWalk) -> Iterator[Finding]:
    """The table says of everybody who ever waited what the ledger says."""
    known = {wait_id: (buyer, request_id, state) for wait_id, buyer, request_id, state in truth.waiting}
    leaving = any(kind == "left" for kind, _ in truth.facts)
    for wait_id, row in walk.waits.items():
        buyer, request_id, state = known.get(wait_id, ("", "", "not on it"))
        allowed = ("waiting", "left") if leaving else ("waiting",)
        if (buyer, request_id) != (row.buyer, row.request_id) or state not in allowed:
            story = f"{wait_id} is {state} ({buyer}'s {request_id}) in the table; by the ledger it waits"
            yield Finding("unexplained", f"{story} ({row.buyer}'s {row.request_id}).")
    for wait_id, (buyer, request_id, state) in known.items():
        how = walk.ended.get(wait_id)
        expected = None if how is None else "left" if how == "left" else "offered"
        if wait_id not in walk.waits and state != expected:
            story = f"{wait_id} ({buyer}'s {request_id}) is {state} in the table of who waits"
            yield Finding("unexplained", f"{story}; by the ledger it {how or 'was never there'}.")
