"""Random plans and random histories of a sale, for property tests. What a history names (a hold, a seat) are
numbers taken modulo what there is, so every drawn history is a possible one and shrinks well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from store.plan import Area, Category, Plan, Seat, Section, number
from store.wire import canonical_want
from store.words import Best, Choice, TourLimit, Want

CATEGORIES = ("Gold", "Silver")
PRICES = (9_000, 5_000)
SECTIONS = ("Stalls", "Circle")
STATES = ("pause", "resume", "resume", "policy", "close")


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Up to five rows of up to three groups of seats, in up to two sections and categories; some with an
    aisle between them, some seats accessible or a companion's, the stage anywhere before them.
    """
    seats: list[Seat] = []
    groups = st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=1, max_size=3)
    rows = draw(st.lists(st.tuples(st.integers(0, 1), groups), max_size=5))
    kinds = st.sampled_from(((False, False),) * 12 + ((True, False), (False, True)))
    for row, (section, lengths) in enumerate(rows):
        x = 0.0
        for length, aisle in lengths:
            category = draw(st.integers(0, 1))
            for _ in range(length):
                name = str(len(seats))
                seats.append(
                    Seat(f"{row}-{name}", section, str(row), name, category, x, row + 1.0, *draw(kinds))
                )
                x += 1.0
            x += 3.0 if aisle else 0.0
    least = 0 if seats else 1
    capacities = draw(st.lists(st.integers(1, 8), min_size=least, max_size=2))
    areas = [Area(f"area-{n}", f"Area {n}", 0, size, 0, 0, 1, 1) for n, size in enumerate(capacities)]
    categories = [
        Category(name, price, "EUR", "#888888") for name, price in zip(CATEGORIES, PRICES, strict=True)
    ]
    sections = [Section(name) for name in SECTIONS]
    focal = (draw(st.sampled_from((2.0, 0.0, 5.25))), 0.0)
    return number("P", "EUR", categories, sections, seats, areas, focal=focal, size=(20.0, 10.0))


@dataclass(frozen=True)
class Chosen:
    seats: tuple[int, ...]
    best: Best | tuple[Best, ...] | None
    areas: tuple[tuple[int, int], ...]
    up_to: bool

    def choice(self, plan: Plan) -> Choice:
        """Seat numbers just above the plan's are unknown seats."""
        guids = [*(seat.guid for seat in plan.seats), "nowhere"]
        areas = [*(area.guid for area in plan.areas), "no-area"]
        return Choice(
            tuple(guids[seat % len(guids)] for seat in self.seats),
            self.best,
            {areas[area % len(areas)]: places for area, places in self.areas},
            self.up_to,
        )


@dataclass(frozen=True)
class Asked:
    buyer: int
    chosen: Chosen
    fallbacks: tuple[Chosen, ...]
    conflict: bool
    moves: int = -1
    """Which of the holds there were is to be moved; -1: none."""
    waits: bool = False

    def want(self, plan: Plan, move: str | UnsetType = UNSET) -> Want:
        first = self.chosen.choice(plan)
        fallbacks = tuple(chosen.choice(plan) for chosen in self.fallbacks)
        return Want(first.seats, first.best, first.areas, first.up_to, fallbacks, move, self.waits)

    def text(self, plan: Plan, move: str | UnsetType = UNSET) -> str:
        return canonical_want(self.want(plan, move)).decode()


@dataclass(frozen=True)
class Changed:
    kind: str
    """paid, released, some (released), extended, blocked, unblocked, sold, returned, left, recategorised,
    pause, resume, close, policy"""
    which: int
    value: int


@dataclass(frozen=True)
class Step:
    seconds: int
    changed: tuple[Changed, ...]
    asked: tuple[Asked, ...]
    elsewhere: tuple[tuple[int, int], ...] = ()
    """(buyer, what they have on the tour's other dates in this batch)"""


def _rarely(least: int, often: int, most: int) -> st.SearchStrategy[int]:
    return st.integers(least, often) | st.integers(least, most)


bests: st.SearchStrategy[Best] = st.builds(
    Best,
    quantity=_rarely(1, 4, 8),
    section=st.none() | st.sampled_from((*SECTIONS, *SECTIONS, "Attic")),
    category=st.none() | st.sampled_from((*CATEGORIES, *CATEGORIES, "Paper")),
    price_min=st.none() | st.sampled_from((0, *PRICES, 9_999)),
    price_max=st.none() | st.sampled_from((*PRICES, 9_999)),
    accessible=_rarely(0, 0, 2),
    apart=st.booleans(),
)
chosen: st.SearchStrategy[Chosen] = st.builds(
    Chosen,
    seats=st.just(()) | st.lists(st.integers(0, 60), max_size=3).map(tuple),
    best=st.none() | bests | st.lists(bests, max_size=2).map(tuple),
    areas=st.just(()) | st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4)), max_size=2).map(tuple),
    up_to=st.booleans(),
)
asked: st.SearchStrategy[Asked] = st.builds(
    Asked,
    buyer=st.integers(0, 4),
    chosen=chosen,
    fallbacks=st.just(()) | st.lists(chosen, max_size=2).map(tuple),
    conflict=st.sampled_from((False,) * 9 + (True,)),
    moves=st.just(-1) | st.integers(0, 30),
    waits=st.booleans(),
)
changed: st.SearchStrategy[Changed] = st.builds(
    Changed,
    kind=st.sampled_from(
        (
            "paid",
            "released",
            "released",
            "some",
            "some",
            "extended",
            "blocked",
            "blocked",
            "unblocked",
            "left",
            "sold",
            "returned",
            "recategorised",
            "outage",
            *STATES,
        )
    ),
    which=st.integers(0, 30),
    value=st.integers(1, 12),
)
steps: st.SearchStrategy[Any] = st.builds(
    Step,
    seconds=_rarely(0, 3, 40),
    changed=st.just(()) | st.lists(changed, max_size=3).map(tuple),
    asked=st.lists(asked, max_size=6).map(tuple),
    elsewhere=st.just(()) | st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), max_size=3).map(tuple),
)
limits: st.SearchStrategy[dict[str, int]] = st.just({}) | st.dictionaries(
    st.sampled_from(CATEGORIES), st.integers(0, 4)
)
tours: st.SearchStrategy[TourLimit | None] = st.none() | st.builds(
    TourLimit, id=st.just(7), seats_per_buyer_max=st.integers(1, 9)
)
histories: st.SearchStrategy[list[Step]] = st.lists(steps, max_size=10)


def crowded_plan() -> Plan:
    """Two rows of five, the second with accessible places, and three places to stand: soon all gone."""
    categories = [
        Category(name, price, "EUR", "#888888") for name, price in zip(CATEGORIES, PRICES, strict=True)
    ]
    seats = [
        Seat(f"{row}-{n}", 0, str(row), str(n), row, float(n), row + 1.0, row == 1 and n in (0, 1, 4))
        for row in range(2)
        for n in range(5)
    ]
    areas = [Area("floor", "Floor", 1, 3, 0, 0, 1, 1)]
    return number(
        "C", "EUR", categories, [Section("Stalls")], seats, areas, focal=(2.0, 0.0), size=(6.0, 4.0)
    )


crowd_bests: st.SearchStrategy[Best] = st.builds(
    Best,
    quantity=st.integers(1, 4),
    category=st.none() | st.sampled_from(CATEGORIES),
    accessible=st.sampled_from((0, 0, 0, 1, 2)),
    apart=st.sampled_from((False, False, True)),
).map(lambda best: best if best.accessible <= best.quantity else Best(best.quantity))
crowd_chosen: st.SearchStrategy[Chosen] = st.one_of(
    st.builds(Chosen, st.just(()), crowd_bests, st.just(()), st.booleans()),
    st.builds(Chosen, st.just(()), st.tuples(crowd_bests, crowd_bests), st.just(()), st.booleans()),
    st.builds(Chosen, st.tuples(st.integers(0, 9)), st.none(), st.just(()), st.just(False)),
    st.builds(
        Chosen,
        st.lists(st.integers(0, 9), max_size=2, unique=True).map(tuple),
        st.none() | crowd_bests,
        st.integers(1, 3).map(lambda places: ((0, places),)),
        st.booleans(),
    ),
)
CROWD_CHANGES = (
    "released", "released", "some", "paid", "left", "blocked", "unblocked", "policy", "pause",
    "resume", "resume", "recategorised", "outage",
)  # fmt: skip
crowds: st.SearchStrategy[list[Step]] = st.lists(
    st.builds(
        Step,
        seconds=st.sampled_from((0, 0, 0, 3, 9)),
        changed=st.lists(
            st.builds(
                Changed,
                kind=st.sampled_from(CROWD_CHANGES),
                which=st.integers(0, 30),
                value=st.integers(2, 9),
            ),
            max_size=2,
        ).map(tuple),
        asked=st.lists(
            st.builds(
                Asked,
                buyer=st.integers(0, 7),
                chosen=crowd_chosen,
                fallbacks=st.just(()) | st.tuples(crowd_chosen),
                conflict=st.just(False),
                moves=st.sampled_from((-1, -1, -1, 0, 1, 2)),
                waits=st.booleans(),
            ),
            max_size=6,
        ).map(tuple),
    ),
    min_size=4,
    max_size=12,
)
"""So many ask for so few seats that a waiting list grows, and what comes back is offered."""
