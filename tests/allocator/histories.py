"""Random plans and random histories of a sale, for property tests. What a history names (a hold, a seat) are
numbers taken modulo what there is, so every drawn history is a possible one and shrinks well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from store.plan import Area, Category, Plan, Seat, Section, number
from store.wire import canonical_want
from store.words import Best, Want

CATEGORIES = ("Gold", "Silver")
SECTIONS = ("Stalls", "Circle")


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Up to five rows of up to three blocks between aisles, in one or two sections and categories."""
    seats: list[Seat] = []
    blocks = st.lists(st.integers(1, 5), min_size=1, max_size=3)
    rows = draw(st.lists(st.tuples(st.integers(0, 1), blocks), max_size=5))
    for row, (section, lengths) in enumerate(rows):
        x = 0.0
        for length in lengths:
            category = draw(st.integers(0, 1))
            for _ in range(length):
                seats.append(
                    Seat(f"{row}-{len(seats)}", section, str(row), str(len(seats)), category, x, row + 1.0)
                )
                x += 1.0
            x += 3.0
    least = 0 if seats else 1
    capacities = draw(st.lists(st.integers(1, 8), min_size=least, max_size=2))
    areas = [Area(f"area-{n}", f"Area {n}", 0, size, 0, 0, 1, 1) for n, size in enumerate(capacities)]
    categories = [Category(name, 1000, "EUR", "#888888") for name in CATEGORIES]
    sections = [Section(name) for name in SECTIONS]
    return number("P", "EUR", categories, sections, seats, areas, focal=(2.0, 0.0), size=(20.0, 10.0))


@dataclass(frozen=True)
class Asked:
    buyer: int
    seats: tuple[int, ...]
    best: int
    section: str | None
    category: str | None
    areas: tuple[tuple[int, int], ...]
    conflict: bool

    def want(self, plan: Plan) -> Want:
        """Seat numbers just above the plan's are unknown seats."""
        guids = [*(seat.guid for seat in plan.seats), "nowhere"]
        areas = [*(area.guid for area in plan.areas), "no-area"]
        best = Best(self.best, self.section, self.category) if self.best else None
        return Want(
            tuple(guids[seat % len(guids)] for seat in self.seats),
            best,
            {areas[area % len(areas)]: places for area, places in self.areas},
        )

    def text(self, plan: Plan) -> str:
        return canonical_want(self.want(plan)).decode()


@dataclass(frozen=True)
class Changed:
    kind: str
    """paid, released, pause, resume, close, policy"""
    which: int
    value: int


@dataclass(frozen=True)
class Step:
    seconds: int
    changed: tuple[Changed, ...]
    asked: tuple[Asked, ...]


def _rarely(least: int, often: int, most: int) -> st.SearchStrategy[int]:
    return st.integers(least, often) | st.integers(least, most)


asked: st.SearchStrategy[Asked] = st.builds(
    Asked,
    buyer=st.integers(0, 4),
    seats=st.just(()) | st.lists(st.integers(0, 60), max_size=3).map(tuple),
    best=_rarely(0, 3, 6),
    section=st.none() | st.sampled_from((*SECTIONS, "Attic")),
    category=st.none() | st.sampled_from((*CATEGORIES, "Paper")),
    areas=st.just(()) | st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4)), max_size=2).map(tuple),
    conflict=st.sampled_from((False,) * 9 + (True,)),
)
changed: st.SearchStrategy[Changed] = st.builds(
    Changed,
    kind=st.sampled_from(("paid", "released", "released", "pause", "resume", "resume", "policy", "close")),
    which=st.integers(0, 30),
    value=st.integers(1, 12),
)
steps: st.SearchStrategy[Any] = st.builds(
    Step,
    seconds=_rarely(0, 3, 40),
    changed=st.just(()) | st.lists(changed, max_size=3).map(tuple),
    asked=st.lists(asked, max_size=6).map(tuple),
)
histories: st.SearchStrategy[list[Step]] = st.lists(steps, max_size=10)
