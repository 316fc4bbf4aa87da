"""What a seat costs adds up to the cent."""

from __future__ import annotations

from fractions import Fraction

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from store import audit, event_prices, events
from store.errors import BadRequest, Conflicted, NotFound
from store.prices import Price, PriceTerms, of_categories, price_of
from store.venues.rows import save_venue
from store.words import PRICE_MINOR_MAX, EventState
from tests.allocator.house import plan_of

PLAN = plan_of()
SAID = audit.said("Olga", "as agreed")

minors = st.integers(0, PRICE_MINOR_MAX) | st.integers(0, 20_000)
points = st.integers(0, 10_000)
terms = st.builds(PriceTerms, minors, points, points, st.booleans())


@given(minors, terms)
def test_the_parts_of_a_seat_add_up_and_each_is_what_it_says_to_half_a_unit(minor, terms):
    one = price_of(minor, terms)
    assert one.price_minor == minor
    assert one.total_minor == minor + one.fee_minor + (0 if terms.tax_included else one.tax_minor)
    fee = terms.fee_minor + Fraction(minor * terms.fee_basis_points, 10_000)
    assert -Fraction(1, 2) <= fee - one.fee_minor < Fraction(1, 2)  # half of a unit upwards
    net = one.total_minor - one.tax_minor
    assert 0 <= one.tax_minor <= one.total_minor
    rate = Fraction(terms.tax_basis_points, 10_000)
    exact = Fraction(one.total_minor) * rate / (1 + rate) if terms.tax_included else net * rate
    assert abs(exact - one.tax_minor) <= Fraction(1, 2)


@given(terms)
def test_each_category_is_told_with_what_a_seat_of_it_costs(terms):
    told = of_categories(PLAN.categories, terms)
    for one, category in zip(told, PLAN.categories, strict=True):
        alone = price_of(category.price_minor, terms)
        assert asdict(one) == asdict(alone) | {"category": category.name}


@pytest.mark.parametrize(
    ("minor", "terms", "price"),
    [
        (4_990, PriceTerms(), Price(4_990, 0, 0, 4_990)),
        (4_990, PriceTerms(150, 250), Price(4_990, 275, 0, 5_265)),
        (1_000, PriceTerms(tax_basis_points=1_900), Price(1_000, 0, 160, 1_000)),
        (1_000, PriceTerms(tax_basis_points=1_900, tax_included=False), Price(1_000, 0, 190, 1_190)),
        (1_000, PriceTerms(50, 0, 700, tax_included=False), Price(1_000, 50, 74, 1_124)),
        (10, PriceTerms(fee_basis_points=500), Price(10, 1, 0, 11)),  # half a unit is one
        (9, PriceTerms(fee_basis_points=500), Price(9, 0, 0, 9)),
        (1, PriceTerms(tax_basis_points=10_000), Price(1, 0, 1, 1)),
        (0, PriceTerms(), Price(0, 0, 0, 0)),
    ],
)
def test_examples(minor, terms, price):
    assert price_of(minor, terms) == price


# --- of an event ---


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        for slug in ("gig", "gig-2"):
            events.create_event(connection, slug, slug, save_venue(connection, "house", PLAN), PLAN)
        yield connection


def read(conn, slug="gig"):
    return event_prices.read(conn, events.get_event(conn, slug).id)


def test_without_terms_a_seat_costs_its_categorys_price(conn):
    prices = read(conn)
    assert (prices.currency, prices.terms) == ("EUR", PriceTerms())
    costs = [(one.category, one.total_minor) for one in prices.categories]
    assert costs == [("Gold", 9000), ("Silver", 5000)]


def test_terms_are_set_and_changed_until_the_sale_begins_with_who_and_why(conn):
    first, second = PriceTerms(150, 250, 1_900, tax_included=False), PriceTerms(fee_minor=200)
    assert event_prices.set_terms(conn, "gig", first, SAID).terms == first
    events.set_state(conn, "gig", EventState.LOBBY)
    made = event_prices.set_terms(conn, "gig", second, SAID)
    assert made == read(conn)
    assert [one.total_minor for one in made.categories] == [9_200, 5_200]
    assert read(conn, "gig-2").terms == PriceTerms()
    rows = audit.read(conn, events.get_event(conn, "gig").id)
    assert [(row.who, row.what["fee_minor"]) for row in rows] == [("Olga", 200), ("Olga", 150)]
    events.set_state(conn, "gig", EventState.OPEN)
    with pytest.raises(Conflicted) as refused:
        event_prices.set_terms(conn, "gig", first, SAID)
    assert refused.value.code == "prices_fixed"
    assert read(conn).terms == second


def test_of_two_who_saw_the_same_fees_the_second_is_told(conn):
    seen = read(conn).terms
    first = event_prices.set_terms(conn, "gig", PriceTerms(150), SAID, seen=seen).terms
    assert event_prices.set_terms(conn, "gig", first, SAID, seen=seen).terms == first
    with pytest.raises(Conflicted) as refused:
        event_prices.set_terms(conn, "gig", PriceTerms(200), SAID, seen=seen)
    assert (refused.value.code, read(conn).terms) == ("prices_changed", first)
    assert event_prices.set_terms(conn, "gig", PriceTerms(200), SAID, seen=first).terms.fee_minor == 200


def test_the_same_again_changes_nothing_at_any_time(conn):
    given = PriceTerms(150)
    event_prices.set_terms(conn, "gig", given, SAID)
    events.set_state(conn, "gig", EventState.OPEN)
    assert event_prices.set_terms(conn, "gig", given, SAID).terms == given
    assert len(audit.read(conn, events.get_event(conn, "gig").id)) == 1


@pytest.mark.parametrize(
    "terms",
    [
        PriceTerms(-1),
        PriceTerms(PRICE_MINOR_MAX + 1),
        PriceTerms(0, 10_001),
        PriceTerms(0, -1),
        PriceTerms(0, 0, 10_001),
        PriceTerms(0, 0, -5),
    ],
)
def test_terms_out_of_bounds_are_refused_here_and_by_the_table(conn, terms):
    with pytest.raises(BadRequest) as refused:
        event_prices.set_terms(conn, "gig", terms, SAID)
    assert refused.value.code == "invalid_prices"
    values = (terms.fee_minor, terms.fee_basis_points, terms.tax_basis_points)
    with pytest.raises(psycopg.errors.CheckViolation):
        conn.execute("INSERT INTO event_price VALUES (99, %s, %s, %s, true)", values)
    assert read(conn).terms == PriceTerms()


def test_an_event_that_is_not_there_is_told(conn):
    with pytest.raises(NotFound):
        event_prices.set_terms(conn, "none", PriceTerms(), SAID)
