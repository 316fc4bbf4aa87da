"""What a buyer must be answered, by a model as plain as it can be: an event is a few dictionaries, each
question looks through them from the start. Written from docs/protocol.md; shares no code with onsale.
What can be had of what is asked for, the plain decision of `tests.allocator.reference` says.

A want is the JSON a client sends. An answer is a tuple that begins with what kind it is:
`("decision", outcome, result)`, `("not_queued", seats)`, `("undecided",)`, `("error", code)`.
A model's `held` has no hold id and no end yet: those are the real one's to choose, and kept as it told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from store.plan import Plan
from store.words import EventState, Policy
from tests.allocator.reference import Reference, ReferenceAsk, ReferenceHold

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
WAITING_MAX = 4
ENTRIES_TOLD = 12
"""Most entries of the waiting list that a buyer is told."""
EXTENSIONS_MAX = 2
EXTENSION_MS = 1_000
"""So short that no hold becomes one that the fast gate refuses for."""
OFFER_SECONDS = 480
NEVER_MS = 1_000
"""What an operator sold never runs out; who would extend it names some end."""
GATE_SECONDS = 30
"""A hold that may end sooner than this is none the fast gate refuses for."""


def content(want: Want) -> Want:
    """What makes two wants the same: the order of seats does not, nor what is left empty."""
    best = want.get("best")
    fallbacks = [content(one) for one in want.get("fallbacks", [])]
    more = {name: want[name] for name in ("move", "waitlist") if want.get(name)}
    return (
        {
            "seats": sorted(want.get("seats", [])),
            "best": [_stated(one) for one in best] if isinstance(best, list) else _stated(best or {}) or None,
            "areas": dict(want.get("areas", {})),
            "up_to": want.get("up_to", False),
        }
        | more
        | ({"fallbacks": fallbacks} if fallbacks else {})
    )


def _stated(best: Want) -> Want:
    return {name: value for name, value in best.items() if value is not None and value is not False}


@dataclass
class Hold:
    buyer: str
    seats: list[str]
    areas: dict[str, int]
    ttl_seconds: int
    ends_ms: int
    """As its holder was told last; a pause may have moved it since."""
    state: str = "active"
    extensions: int = 0
    paused: bool = False
    """There was a pause since it was told when it ends."""
    counts: bool = True
    """Towards its buyer's limits: what an operator sold does not."""

    @property
    def quantity(self) -> int:
        return len(self.seats) + sum(self.areas.values())


@dataclass
class OnList:
    """A request that is, or was, on the waiting list."""

    buyer: str
    request_id: str
    want: Want
    wait: str
    state: str = "waiting"
    offer: dict[str, Any] = field(default_factory=dict)


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

    def __init__(
        self,
        plan: dict[str, Any],
        *,
        seats_per_buyer_max: int,
        ttl: int,
        gate: bool,
        limits: dict[str, int] | None = None,
    ) -> None:
        self.plan = msgspec.convert(plan, Plan)
        self.seats: list[str] = [seat[0] for seat in plan["seats"]]
        self.areas: dict[str, int] = {area["guid"]: area["capacity"] for area in plan["areas"]}
        self.state = "draft"
        self.limit = seats_per_buyer_max
        self.limits = limits or {}
        """By category."""
        self.sales: dict[Any, str] = {}
        """What an operator sold, all that was said → the order."""
        self.ttl = ttl
        self.gates = {gate}
        """How the fast gate may be set as far as the gateway knows: a change takes it a moment."""
        self.holds: dict[str, Hold] = {}
        self.decided: dict[Key, tuple[Want, Answer]] = {}
        self.waiting: list[Waiting] = []
        self.list: list[OnList] = []

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
        more = any(want.get(name) for name in ("best", "areas", "up_to", "fallbacks", "move", "waitlist"))
        first = not again and not mine
        gated = (gone and not more) or self._none_left(want)
        return [ungated, ("not_queued", gone)] if gated and first and True in self.gates else [ungated]

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

    def _none_left(self, want: Want) -> bool:
        """Whether of something that is only described nothing is free, nor held for a short time."""
        if self.state == "paused" or any(
            want.get(name) for name in ("seats", "up_to", "fallbacks", "move", "waitlist")
        ):
            return False
        best = want.get("best") or []
        described = [self._described(party) for party in (best if isinstance(best, list) else [best])]
        if not all(described):
            return False
        lasting = [h for h in self._running() if h.state == "paid" or h.ttl_seconds > GATE_SECONDS]
        gone = {seat for hold in lasting for seat in hold.seats}
        full = {area for area in self.areas if not self._free(area)}
        full -= {area for hold in self._running() if hold not in lasting for area in hold.areas}
        return any(set(seats) <= gone for seats in described) or not full.isdisjoint(want.get("areas") or ())

    def _described(self, party: dict[str, Any]) -> list[str]:
        """The seats of the plan that a party describes."""
        plan = self.plan
        return [
            seat.guid
            for seat in plan.seats
            if party.get("section") in (None, plan.sections[seat.section].name)
            and party.get("category") in (None, plan.categories[seat.category].name)
            and plan.categories[seat.category].price_minor <= party.get("price_max", 1 << 30)
        ]

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
        """As the plain decision says, and the waiting list. Which hold, and until when, and the name on the
        list are the real one's to choose."""
        outcome, result = self._plain(buyer, {**want, "waitlist": False})
        if not want.get("waitlist") or outcome not in ("taken", "sold_out"):
            return outcome, result
        if sum(one.buyer == buyer for one in self.on_list()) == WAITING_MAX:
            return "limit_reached", {"reason": "waiting", "limit": WAITING_MAX}
        return "waitlisted", {"position": len(self.on_list()) + 1, "why": outcome, "detail": result}

    def _plain(self, buyer: str, want: Want) -> tuple[str, dict[str, Any]]:
        state = EventState.CLOSED if self.state == "closed" else EventState.OPEN
        plain = Reference(self.plan, Policy(state, self.ttl, self.limit, limits=self.limits))
        areas = list(self.areas)
        plain.holds = [
            ReferenceHold(
                int(hold_id),
                hold.buyer,
                [self.seats.index(seat) for seat in hold.seats],
                {areas.index(area): count for area, count in hold.areas.items()},
                1,
                hold.state,
                hold.counts,
            )
            for hold_id, hold in self.holds.items()
            if hold.state in ("active", "paid")
        ]
        outcome, result = plain.answer(ReferenceAsk(buyer, json.dumps(want)), hold_id=1 << 60)
        return outcome, {name: value for name, value in result.items() if name not in ("hold", "expires_at")}

    # --- the waiting list ---

    def on_list(self) -> list[OnList]:
        """Those who wait, in the list's order."""
        return [one for one in self.list if one.state == "waiting"]

    def due(self) -> Iterator[tuple[OnList, dict[str, Any]]]:
        """Who must be offered what now, in order; the next one after `offered` was told of the one before."""
        for one in self.on_list():
            outcome, result = self._plain(one.buyer, {**content(one.want), "waitlist": False})
            if self.state == "open" and outcome == "held":
                yield one, {**result, "passed_over": self.on_list().index(one)}

    def offered(self, one: OnList, offer: dict[str, Any]) -> None:
        """The real one made this offer; it was the right one."""
        assert offer["hold"] not in self.holds, "a hold's id is its own"
        one.state, one.offer = "offered", offer
        self.holds[offer["hold"]] = Hold(
            one.buyer, list(offer["seats"]), dict(offer["areas"]), OFFER_SECONDS, offer["expires_at"]
        )

    def leave(self, buyer: str, request_id: str) -> Answer:
        found = [one for one in self.list if (one.buyer, one.request_id) == (buyer, request_id)]
        if not found:
            return ("error", "not_waiting")
        if found[0].state == "offered":
            return ("error", "offered")
        found[0].state = "left"
        return ("left", request_id)

    def entries(self, buyer: str) -> list[tuple[str, str, Any]]:
        """(request id, state, place or offer) of what a buyer is told, oldest first."""
        mine = [one for one in self.list if one.buyer == buyer and one.state != "left"]
        waits = [one for one in mine if one.state == "waiting"]
        rest = [one for one in mine if one.state == "offered"]
        told = sorted(waits + rest[len(waits) - ENTRIES_TOLD :], key=lambda one: int(one.wait))
        line = self.on_list()
        return [
            (one.request_id, one.state, line.index(one) + 1 if one.state == "waiting" else one.offer)
            for one in told
        ]

    # --- what happened ---

    def took(self, buyer: str, request_id: str, want: Want, answer: Answer) -> None:
        """The real one gave this answer; it was one of the right ones."""
        if answer[0] == "undecided" and self.find(buyer, request_id) is None:
            self.waiting.append(Waiting(buyer, request_id, want))
        if answer[0] != "decision" or answer[1] == "conflict" or (buyer, request_id) in self.decided:
            return
        self.decided[buyer, request_id] = (want, answer)
        result = answer[2]
        if answer[1] == "held":
            assert result["hold"] not in self.holds, "a hold's id is its own"
            new = Hold(buyer, list(result["seats"]), dict(result["areas"]), self.ttl, result["expires_at"])
            if "moved" in result:
                old = self.holds[result["moved"]]
                old.state = "released"
                new.ttl_seconds, new.extensions = old.ttl_seconds, old.extensions
            self.holds[result["hold"]] = new
        if answer[1] == "waitlisted":
            self.list.append(OnList(buyer, request_id, want, result["wait"]))

    def release(self, buyer: str, hold_id: str) -> Answer:
        hold = self.holds.get(hold_id)
        if hold is None or hold.buyer != buyer:
            return ("error", "hold_not_found")
        if hold.state == "paid":
            return ("error", "hold_paid")
        if hold.state == "refunded":
            return ("error", "hold_refunded")
        hold.state = "released" if hold.state == "active" else hold.state
        return ("hold", hold.state)

    def release_some(
        self, buyer: str, hold_id: str, seats: list[str], areas: dict[str, int], of: int | None
    ) -> Answer:
        """Of what lives on: ("hold", "active", end, extensions left, seats, areas)."""
        hold = self.holds.get(hold_id)
        if hold is None or hold.buyer != buyer:
            return ("error", "hold_not_found")
        lacks = not set(seats) <= set(hold.seats) or any(
            hold.areas.get(area, 0) < count for area, count in areas.items()
        )
        if not {*seats, *areas} <= {*self.seats, *self.areas}:
            return ("error", "not_in_hold")
        if hold.state == "paid":
            return ("error", "hold_paid")
        if hold.state == "refunded":
            return ("error", "hold_refunded")
        if hold.state == "active" and of in (None, hold.quantity):
            if lacks:
                return ("error", "not_in_hold")
            hold.seats = [seat for seat in hold.seats if seat not in seats]
            left = {area: count - areas.get(area, 0) for area, count in hold.areas.items()}
            hold.areas = {area: count for area, count in left.items() if count}
            hold.state = "active" if hold.quantity else "released"
        if hold.state != "active":
            return ("hold", hold.state)
        return ("hold", "active", *self._ends(hold), sorted(hold.seats), hold.areas)

    def extend(self, buyer: str, hold_id: str, ends_ms: int, accessible: bool) -> Answer:
        """Of what lives on: ("hold", "active", end, extensions left)."""
        hold = self.holds.get(hold_id)
        if hold is None or hold.buyer != buyer:
            return ("error", "hold_not_found")
        if hold.state != "active":
            return ("error", f"hold_{hold.state}")
        if ends_ms == hold.ends_ms and not hold.paused:
            if hold.extensions == EXTENSIONS_MAX:
                return ("error", "no_extensions_left")
            hold.extensions += 1
            hold.ends_ms += EXTENSION_MS * (2 if accessible else 1)
        return ("hold", "active", *self._ends(hold))

    def _ends(self, hold: Hold) -> tuple[int | None, int]:
        """(when it ends: None where a pause moved that by nobody knows how much, extensions left)"""
        return None if hold.paused else hold.ends_ms, EXTENSIONS_MAX - hold.extensions

    def told(self, hold_id: str, ends_ms: int) -> None:
        """When a hold ends now, as the real one says."""
        hold = self.holds[hold_id]
        assert ends_ms >= hold.ends_ms, "a pause gives time, and takes none"
        hold.ends_ms, hold.paused = ends_ms, False

    def confirm(self, buyer: str, hold_id: str) -> Answer:
        hold = self.holds.get(hold_id)
        if hold is None or hold.buyer != buyer:
            return ("error", "hold_not_found")
        if hold.state in ("released", "expired", "refunded"):
            return ("error", f"hold_{hold.state}")
        hold.state = "paid"
        return ("hold", "paid")

    # --- an operator's sales ---

    def sell(self, said: Any, seats: list[str], areas: dict[str, int]) -> Answer:
        """("order", the one that stands, or an empty text for a new one)"""
        standing = self.sales.get(said)
        if standing is not None and self.holds[standing].state == "paid":
            return ("order", standing)
        free = dict(zip(self.seats, self.letters(), strict=True))
        if any(free[seat] != "a" for seat in seats):
            return ("error", "seats_not_free")
        if any(self._free(area) < count for area, count in areas.items()):
            return ("error", "places_not_free")
        return ("order", "")

    def sold(self, said: Any, buyer: str, order: dict[str, Any]) -> None:
        """The real one made this order; it was right to."""
        assert order["hold"] not in self.holds, "an order's id is its own"
        self.holds[order["hold"]] = Hold(
            buyer, list(order["seats"]), dict(order["areas"]), 0, NEVER_MS, "paid", counts=False
        )
        self.sales[said] = order["hold"]

    def take_back(self, hold_id: str, seats: list[str], areas: dict[str, int], of: int | None) -> Answer:
        """("order", its state, the seats and places it still has)"""
        if areas and of is None:
            return ("error", "quantity_required")
        hold = self.holds.get(hold_id)
        if hold is None:
            return ("error", "hold_not_found")
        if hold.state == "refunded" and not (seats or areas):
            return ("order", "refunded", [], {})
        if hold.state != "paid":
            return ("error", "not_an_order")
        if of not in (None, hold.quantity):
            return ("error", "order_changed")
        if not set(seats) <= set(hold.seats) or any(hold.areas.get(area, 0) < n for area, n in areas.items()):
            return ("error", "not_in_order")
        named = bool(seats or areas)
        hold.seats = [seat for seat in hold.seats if named and seat not in seats]
        left = {area: count - areas.get(area, 0) for area, count in hold.areas.items() if named}
        hold.areas = {area: count for area, count in left.items() if count}
        hold.state = "paid" if hold.quantity else "refunded"
        return ("order", hold.state, sorted(hold.seats), hold.areas)

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
        if self.state == "paused":
            for hold in self.holds.values():
                hold.paused = True
        self.state = to
        return ("ok", to)
