"""Records what a version of the decision decides, by really running it: one sale, fixed by its seed.

Run by the code that is to be recorded, which may be that of an old commit, and so with nothing but what every
version has:

    git worktree add /elsewhere COMMIT
    PYTHONPATH=/elsewhere python tests/allocator/recorded/record.py tests/allocator/recorded

`test_versions.py` decides what is recorded again. A recording of an old version is never made anew.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from allocator.decide import CODE_VERSION, Ask, Fact, decide
from allocator.layout import Layout
from allocator.memory import Memory, Overlay
from allocator.wishes import Wishes
from store import plan as plans
from store.plan import Area, Category, Plan, Seat, Section
from store.words import Arrival, EventState, Policy

BATCHES = 150
START = 1_000_000_000_000_000
BUYERS = 40


def house() -> Plan:
    """Three rows with an aisle in each, of two categories, and a floor."""
    categories = [Category("Gold", 9000, "EUR", "#aa8800"), Category("Silver", 5000, "EUR", "#888888")]
    seats = [
        Seat(
            f"{row}-{n + 1}",
            int(row > "B"),
            row,
            str(n + 1),
            int(row > "A"),
            n + 3.0 * (n > 5),
            ord(row) - 64.0,
        )
        for row in "ABCD"
        for n in range(12)
    ]
    areas = [Area("floor", "Floor", 1, 30, 0.0, 0.0, 5.0, 5.0)]
    sections = [Section("Stalls"), Section("Circle")]
    return plans.number(
        "House", "EUR", categories, sections, seats, areas, focal=(7.0, 0.0), size=(15.0, 6.0)
    )


class Recording:
    """One sale as it is decided."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.plan = house()
        self.layout = Layout(self.plan)
        self.memory = Memory(self.layout, Policy(EventState.DRAFT))
        self.wishes = Wishes(self.layout)
        self.time, self.facts, self.asked = START, 0, 0
        self.policy: dict[str, Any] = {"hold_ttl_seconds": 60, "seats_per_buyer_max": 6}
        self.state, self.paused_at = "draft", 0
        self.batches: list[dict[str, Any]] = []

    def fact(self, kind: str, hold: Any, body: Any) -> Fact:
        self.facts += 1
        return Fact(self.facts, kind, hold, json.dumps(body, separators=(",", ":")))

    def policy_fact(self, state: str, **more: Any) -> Fact:
        self.state = state
        return self.fact("policy", None, {"state": state, **self.policy, **more})

    def some_facts(self) -> list[Fact]:
        """What others did since the last batch."""
        chance, found = self.random.random(), []
        if not self.batches:
            return [self.policy_fact("open")]
        if self.state == "paused":
            lost = self.time - self.paused_at
            return [self.policy_fact("open", holds_extended_us=lost)]
        if chance < 0.03:
            self.paused_at = self.time
            return [self.policy_fact("paused", paused_at=self.time)]
        for hold_id, hold in sorted(self.memory.holds.items()):
            chance = self.random.random()
            if chance < 0.05:
                found.append(self.fact("paid", hold_id, None))
            elif chance < 0.15:
                found.append(self.fact("released", hold_id, None))
            elif CODE_VERSION >= 3 and chance < 0.18:
                found.append(self.fact("extended", hold_id, {"by_us": 20_000_000}))
            elif CODE_VERSION >= 3 and chance < 0.22 and len(hold.seats) > 1:
                found.append(self.fact("released", hold_id, {"seats": hold.seats[:1]}))
        if CODE_VERSION >= 2 and self.random.random() < 0.1:
            free = [seat for seat, hold in enumerate(self.memory.hold_of) if not hold]
            if len(free) > 4:
                seats = self.random.sample(free, 2)
                found.insert(0, self.fact("blocked", None, {"seats": seats, "areas": []}))
                found.insert(1, self.fact("unblocked", None, {"seats": seats[:1], "areas": []}))
        return found

    def want(self, buyer: str) -> dict[str, Any]:
        pick = self.random
        # what a version does not know yet it could not read
        kinds = ["seat", "seats", "best", "best in", "places", "both", "odd", "unreadable"]
        kinds += ["parties", "up to", "fallbacks", "prices", "apart", "move"]
        seat = f"{pick.choice('ABCD')}-{pick.randint(1, 12)}"
        best: dict[str, Any] = {"quantity": pick.choice([1, 2, 2, 3, 4])}
        want: dict[str, Any]
        match pick.choice(kinds):
            case "seat":
                want = {"seats": [seat]}
            case "seats":
                want = {"seats": sorted({seat, f"{seat[:2]}{pick.randint(1, 12)}"})}
            case "best":
                want = {"best": best}
            case "best in":
                of = pick.choice([{"section": "Circle"}, {"category": "Gold"}, {"section": "Nowhere"}])
                want = {"best": best | of}
            case "places":
                want = {"areas": {"floor": pick.randint(1, 4)}}
            case "both":
                want = {"best": best, "seats": [seat]}
            case "odd":
                want = pick.choice([{"seats": ["Z-99"]}, {"areas": {"roof": 1}}, {}, {"seats": [seat, seat]}])
            case "parties":
                want = {"best": [best, {"quantity": 2, "category": "Silver"}]}
            case "up to":
                want = {"best": {"quantity": 6}, "up_to": True}
            case "fallbacks":
                want = {"seats": [seat], "fallbacks": [{"best": best}, {"areas": {"floor": 2}}]}
            case "prices":
                want = {"best": best | {"price_max": 6000}}
            case "apart":
                want = {"best": {"quantity": 5, "apart": True}}
            case "move":
                mine = [hold_id for hold_id, hold in sorted(self.memory.holds.items()) if hold.buyer == buyer]
                want = {"best": best, "move": str(mine[0] if mine else 1 << 16)}
            case _:
                want = {"best": "now"}
        if pick.random() < 0.2:
            want["waitlist"] = True
        return want

    def ask(self) -> Ask:
        self.asked += 1
        buyer = f"b{self.random.randrange(BUYERS)}"
        text = json.dumps(self.want(buyer), separators=(",", ":"), sort_keys=True)
        conflict = self.random.random() < 0.02
        wish = self.wishes.read(text.encode())
        return Ask(Arrival(f"{self.asked}-0"), buyer, f"r{self.asked}", text, wish, conflict)

    def batch(self) -> None:
        self.time += self.random.choice([50_000, 1_000_000, 8_000_000])
        facts = self.some_facts()
        asks = [] if self.state == "paused" else [self.ask() for _ in range(self.random.choice([0, 1, 3, 8]))]
        overlay = Overlay(self.memory)
        number = self.memory.batch_no + 1
        decided = decide(self.memory, overlay, number, self.time, facts, asks)
        overlay.keep(number, self.time)
        self.batches.append({"time": self.time, "rows": [list(map(str, row)) for row in decided.rows]})


def main(folder: Path) -> None:
    recording = Recording(7)
    while len(recording.batches) < BATCHES:
        recording.batch()
    head = {"version": CODE_VERSION, "plan": json.loads(plans.encode(recording.plan))}
    lines = [json.dumps(one, separators=(",", ":")) for one in (head, *recording.batches)]
    (folder / f"version-{CODE_VERSION}.jsonl").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
