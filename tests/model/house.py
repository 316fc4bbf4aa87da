"""The small house of the model test, and what buyers may ask for in it."""

from __future__ import annotations

from hypothesis import strategies as st

from store.plan import Area, Category, Plan, Seat, Section, number
from tests.model.reference import Want

VENUE = "small-house"
BUYERS = ("ann", "bob", "cem")


def house() -> Plan:
    """Ten seats in two categories and two sections, one row with an aisle, and two standing areas."""
    categories = [Category("Gold", 9000, "EUR", "#aa8800"), Category("Silver", 5000, "EUR", "#888888")]
    seats = [Seat(f"A-{n}", 0, "A", str(n), 0, float(n), 1.0) for n in range(4)]
    seats += [Seat(f"B-{n}", 0, "B", str(n), 1, float(n + 4 * (n > 1)), 2.0) for n in range(4)]
    seats += [Seat(f"C-{n}", 1, "C", str(n), 1, float(n), 3.0) for n in range(2)]
    areas = [Area("floor", "Floor", 1, 5, 0, 0, 1, 1), Area("bar", "Bar", 1, 2, 0, 0, 1, 1)]
    sections = [Section("Stalls"), Section("Circle")]
    return number("House", "EUR", categories, sections, seats, areas, focal=(2.0, 0.0), size=(9.0, 5.0))


SEATS = [seat.guid for seat in house().seats]
AREAS = ["floor", "bar"]

seat_names = st.lists(st.sampled_from([*SEATS, "Z-9"]), max_size=3, unique=True)
known_seats = st.lists(st.sampled_from(SEATS), min_size=1, max_size=2, unique=True)
bests = st.fixed_dictionaries(
    {"quantity": st.integers(1, 4)},
    optional={
        "section": st.sampled_from(["Stalls", "Stalls", "Circle", "Attic"]),
        "category": st.sampled_from(["Gold", "Silver", "Silver", "Paper"]),
        "price_max": st.sampled_from([5_000, 9_000]),
        "apart": st.booleans(),
    },
)
places = st.dictionaries(
    st.sampled_from([*AREAS, *AREAS, "cellar"]), st.integers(1, 3), min_size=1, max_size=2
)
named = st.builds(lambda seats: {"seats": seats}, known_seats)
best_ones = st.fixed_dictionaries(
    {"best": bests | st.lists(bests, min_size=1, max_size=2)},
    optional={
        "up_to": st.just(True),
        "fallbacks": st.lists(
            st.fixed_dictionaries({"best": bests})
            | st.builds(lambda area: {"areas": {area: 1}}, st.sampled_from(AREAS)),
            min_size=1,
            max_size=2,
        ),
    },
)
standing = st.builds(lambda areas: {"areas": areas}, places)
together = st.fixed_dictionaries({"seats": seat_names}, optional={"best": bests, "areas": places}).filter(
    lambda want: any(want.values())
)
wants: st.SearchStrategy[Want] = named | best_ones | standing | together
one_party = st.fixed_dictionaries(
    {"best": bests},
    optional={
        "fallbacks": st.lists(
            st.builds(lambda area: {"areas": {area: 1}}, st.sampled_from(AREAS)), min_size=1, max_size=1
        )
    },
)
wanted = st.builds(lambda seat: {"seats": [seat]}, st.sampled_from(["A-0", "A-0", "A-1", "B-0", "B-1"]))
waiting = (wanted | wanted | one_party | standing).map(lambda want: want | {"waitlist": True})
"""What some other buyer's request never makes possible: so it is offered when something comes back, and only
then. (Of several parties of one choice one may sit better once a seat less is free.)"""
buyers = st.sampled_from(BUYERS)
keys = st.sampled_from([f"r{n}" for n in range(12)])
ways = st.sampled_from(["http", "phone", "laptop"])
picks = st.integers(0, 30)
limits = st.sampled_from([4, 4, 2, 50])
by_category = st.sampled_from([{}, {}, {"Gold": 1}, {"Gold": 2, "Silver": 3}, {"Silver": 0}])
"""Limits of categories; where one buyer may have fewer in all, that is the limit."""
ttls = st.sampled_from([480, 480, 3600, 25])


def at_most(limit: int, by_category: dict[str, int]) -> dict[str, int]:
    """No category's limit may be above that of all."""
    return {category: min(most, limit) for category, most in by_category.items()}
