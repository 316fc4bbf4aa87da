"""What a buyer must be answered, by a model as plain as it can be: an event is a few dictionaries, each
question looks through them from the start. Written from docs/protocol.md; shares no code with onsale.

A want is the JSON a client sends. An answer is a tuple that begins with what kind it is:
`("decision", outcome, result)`, `("not_queued", seats)`, `("undecided",)`, `("error", code)`.
A model's `held` has no hold id and no end yet: those are the real one's to choose, and kept as it told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Want = dict[str, Any]
Answer = tuple[Any, ...]
Key = tuple[str, str]
"""(buyer, request id)"""

MOVES = {
    "open": {"draft": "open", "lobby": "open", "paused": "open"},
    "resume": {"paused": "open"},
    "pause": {"open": "paused"},
    "close": {"open": "closed", "paused": "closed"},
}
"""What an operator's word does to a state; where it is missing it is refused."""
GATE_SECONDS = 30
"""A hold that may end sooner than this is none the fast gate refuses for."""


def content(want: Want) -> Want:
    """What makes two wants the same: the order of seats does not, nor what is left empty."""
    best = {name: value for name, value in (want.get("best") or {}).items() if value is not None}
    return {
        "seats": sorted(want.get("seats", [])),
        "best": best or None,
        "areas": dict(want.get("areas", {})),
    }


@dataclass
class Hold:
    buyer: str
    seats: list[str]
    areas: dict[str, int]
    ttl_seconds: int
    state: str = "active"

    @property
    def quantity(self) -> int:
        return len(self.seats) + sum(self.areas.values())


@dataclass
class Waiting:
    """A request that was accepted while the event is paused."""

    buyer: str
    request_id: str
    want: Want
    sockets: list[int] = field(default_factory=list)
    """Which of the buyer's connections wait for it."""


class Model:
    """One event."""

    def __init__(self, plan: dict[str, Any], *, seats_per_buyer_max: int, ttl: int, gate: bool) -> None:
        self.seats: list[str] = [seat[0] for seat in plan["seats"]]
        self.blocks: list[list[int]] = plan["blocks"]
        self.sections: list[str] = [section["name"] for section in plan["sections"]]
        self.categories: list[str] = [category["name"] for category in plan["categories"]]
        self.areas: dict[str, int] = {area["guid"]: area["capacity"] for area in plan["areas"]}
        self.state = "draft"
        self.limit = seats_per_buyer_max
        self.ttl = ttl
        self.gates = {gate}
        """How the fast gate may be set as far as the gateway knows: a change takes it a moment."""
        self.holds: dict[str, Hold] = {}
        self.decided: dict[Key, tuple[Want, Answer]] = {}
        self.waiting: list[Waiting] = []

    # --- what can be seen ---

    def letters(self) -> str:
        states = {"active": "h", "paid": "s"}
        of = {seat: states[hold.state] for hold in self._running() for seat in hold.seats}
        return "".join(of.get(seat, "a") for seat in self.seats)

    def places_free(self) -> list[int]:
        return [self._free(area) for area in self.areas]

    def count(self, letter: str) -> int:
        return self.letters().count(letter)

    def places(self, area: str, state: str) -> int:
        return sum(hold.areas.get(area, 0) for hold in self.holds.values() if hold.state == state)

    def _running(self) -> list[Hold]:
        return [hold for hold in self.holds.values() if hold.state in ("active", "paid")]

    def _free(self, area: str) -> int:
        return self.areas[area] - sum(hold.areas.get(area, 0) for hold in self._running())

    # --- a request ---

    def ask(
        self, buyer: str, request_id: str, want: Want, *, http: bool, again: bool, undecided_max: int
    ) -> list[Answer]:
        """The answers that are right. More than one only where the fast gate may, and need not, refuse."""
        waits = self.find(buyer, request_id)
        known = self.decided.get((buyer, request_id))
        again = again and not http  # over HTTP a repeat does not say so, and is looked up like one
        if waits is None and known is not None and (http or again):
            if content(known[0]) == content(want):
                return [known[1]]
            if http:
                return [("error", "key_reused")]
        if (http or again) and waits is not None:
            same = content(waits.want) == content(want)
            return [("undecided",)] if same else [("error", "key_reused")]
        if self.state in ("draft", "lobby", "closed"):
            return [("error", "event_closed" if self.state == "closed" else "event_not_open")]
        ungated = self._ungated(buyer, request_id, want, undecided_max)
        gone = self._gone(want)
        mine = [one for one in self.waiting if one.buyer == buyer]
        gated = gone and not again and not mine and not want.get("best") and not want.get("areas")
        return [ungated, ("not_queued", gone)] if gated and True in self.gates else [ungated]

    def _ungated(self, buyer: str, request_id: str, want: Want, undecided_max: int) -> Answer:
        waits = self.find(buyer, request_id)
        if waits is not None:
            same = content(waits.want) == content(want)
            return ("undecided",) if same else ("error", "key_reused")
        if sum(one.buyer == buyer for one in self.waiting) >= undecided_max:
            return ("error", "too_many_undecided")
        return ("undecided",) if self.state == "paused" else self.decide(buyer, request_id, want)

    def find(self, buyer: str, request_id: str) -> Waiting | None:
        return next((one for one in self.waiting if (one.buyer, one.request_id) == (buyer, request_id)), None)

    def _gone(self, want: Want) -> list[str]:
        """Named seats that are sold, or held for long enough."""
        gone = []
        for hold in self._running():
            if hold.state == "paid" or hold.ttl_seconds > GATE_SECONDS:
                gone += [seat for seat in want.get("seats", []) if seat in hold.seats]
        return sorted(gone)

    # --- a decision ---

    def decide(self, buyer: str, request_id: str, want: Want) -> Answer:
        """What the allocator must say. Changes nothing: see `took`."""
        known = self.decided.get((buyer, request_id))
        if known is not None:
            same = content(known[0]) == content(want)
            return known[1] if same else ("decision", "conflict", {"reason": "key_reused"})
        outcome, result = self._outcome(buyer, content(want))
        return ("decision", outcome, result)

    def _outcome(self, buyer: str, want: Want) -> tuple[str, dict[str, Any]]:
        invalid = self._invalid(want)
        if invalid:
            return "invalid", {"reason": invalid}
        if self.state == "closed":
            return "closed", {"reason": "event_closed"}
        gone = {seat for hold in self._running() for seat in hold.seats}
        taken = [seat for seat in want["seats"] if seat in gone]
        if taken:
            return "taken", {"taken": taken}
        best = want["best"]["quantity"] if want["best"] else 0
        quantity = len(want["seats"]) + best + sum(want["areas"].values())
        has = sum(hold.quantity for hold in self._running() if hold.buyer == buyer)
        if has + quantity > self.limit:
            return "limit_reached", {"reason": "limit", "limit": self.limit}
        for area in self.areas:
            if want["areas"].get(area, 0) > self._free(area):
                return "sold_out", {"reason": "area_full", "free": self._free(area)}
        together: list[str] = []
        if best:
            together = self._together(want["best"], gone | set(want["seats"]))
            if not together:
                return "sold_out", {"reason": "none_together"}
        return "held", {"seats": want["seats"] + together, "areas": want["areas"]}

    def _invalid(self, want: Want) -> str:
        if any(seat not in self.seats for seat in want["seats"]):
            return "unknown_seat"
        if want["best"]:
            section, category = want["best"].get("section"), want["best"].get("category")
            if section is not None and section not in self.sections:
                return "unknown_section"
            if category is not None and category not in self.categories:
                return "unknown_category"
            if not self._blocks(want["best"]):
                return "no_such_seats"
        return "unknown_area" if any(area not in self.areas for area in want["areas"]) else ""

    def _blocks(self, best: dict[str, Any]) -> list[list[str]]:
        return [
            self.seats[first : first + length]
            for first, length, section, category in self.blocks
            if best.get("section") in (None, self.sections[section])
            and best.get("category") in (None, self.categories[category])
        ]

    def _together(self, best: dict[str, Any], gone: set[str]) -> list[str]:
        """The first neighbours that are free, best block first."""
        for block in self._blocks(best):
            for first in range(len(block) - best["quantity"] + 1):
                seats = block[first : first + best["quantity"]]
                if not gone & set(seats):
                    return seats
        return []

    # --- what happened ---

    def took(self, buyer: str, request_id: str, want: Want, answer: Answer) -> None:
        """The real one gave this answer; it was one of the right ones."""
        if answer[0] == "undecided" and self.find(buyer, request_id) is None:
            self.waiting.append(Waiting(buyer, request_id, want))
        if answer[0] != "decision" or answer[1] == "conflict" or (buyer, request_id) in self.decided:
            return
        self.decided[buyer, request_id] = (want, answer)
        if answer[1] == "held":
            result = answer[2]
            assert result["hold"] not in self.holds, "a hold's id is its own"
            self.holds[result["hold"]] = Hold(buyer, result["seats"], result["areas"], self.ttl)

    def release(self, buyer: str, hold_id: str) -> Answer:
        hold = self.holds.get(hold_id)
        if hold is None or hold.buyer != buyer:
            return ("error", "hold_not_found")
        if hold.state == "paid":
            return ("error", "hold_paid")
        hold.state = "released" if hold.state == "active" else hold.state
        return ("hold", hold.state)

    def confirm(self, buyer: str, hold_id: str) -> Answer:
        hold = self.holds.get(hold_id)
        if hold is None or hold.buyer != buyer:
            return ("error", "hold_not_found")
        if hold.state in ("released", "expired"):
            return ("error", f"hold_{hold.state}")
        hold.state = "paid"
        return ("hold", "paid")

    def run_out(self) -> None:
        for hold in self.holds.values():
            hold.state = "expired" if hold.state == "active" else hold.state

    def look(self, buyer: str, request_id: str) -> Answer:
        """What is said when asked what became of a request."""
        if self.find(buyer, request_id) is not None:
            return ("undecided",)
        known = self.decided.get((buyer, request_id))
        return known[1] if known is not None else ("error", "unknown_request")

    def move(self, word: str) -> Answer:
        """An operator opens, pauses, resumes or closes; what waits is not decided by this yet."""
        to = MOVES[word].get(self.state)
        if to is None:
            return ("error", "event_state")
        self.state = to
        return ("ok", to)
