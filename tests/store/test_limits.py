"""Limits as organisers write them: of categories the plan has, settled when the sale begins; and tours."""

from __future__ import annotations

import threading

import msgspec
import psycopg
import pytest
from msgspec.structs import asdict

from store import audit, events, tours
from store.errors import BadRequest, Conflicted, NotFound
from store.terms import PolicyChange, Terms, terms_in
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState, Policy, TourLimit
from tests.store.test_events import facts

PLAN = make("theatre", 200)
BEST, OTHER = (category.name for category in PLAN.categories[:2])
SAID = audit.said("Olga", "it goes on tour")


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def make_event(conn, slug="gig", **terms):
    return events.create_event(conn, slug, "The gig", save_venue(conn, "hall", PLAN), PLAN, **terms)


# terms


def test_a_change_says_only_what_it_changes():
    change = msgspec.json.decode(b'{"limits":{"A":1},"fast_gate":false}', type=PolicyChange)
    assert terms_in(change) == {"limits": {"A": 1}, "fast_gate": False}
    assert terms_in(Terms()) == asdict(Terms())
    with pytest.raises(msgspec.ValidationError, match="unknown field `limit`"):
        msgspec.json.decode(b'{"limit":1}', type=PolicyChange)


def test_a_term_that_there_is_not_is_a_mistake_of_ours(conn):
    make_event(conn)
    for change in (lambda: make_event(conn, "x", seats_max=1), lambda: events.set_policy(conn, "gig", x=1)):
        with pytest.raises(TypeError, match="no term"):
            change()


# limits by category


def test_limits_are_kept_told_and_part_of_the_policy(conn):
    number = make_event(conn, limits={BEST: 2, OTHER: 0})
    assert events.get_event(conn, "gig").limits == {BEST: 2, OTHER: 0}
    assert facts(conn) == [Policy(EventState.DRAFT, limits={BEST: 2, OTHER: 0})]
    events.set_policy(conn, "gig", limits={BEST: 3})
    assert facts(conn) == [events.load_policy(conn, number)]
    assert events.load_policy(conn, number).limits == {BEST: 3}
    events.set_policy(conn, "gig", hold_ttl_seconds=90)
    assert facts(conn)[0].limits == {BEST: 3}


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ({"limits": {"Platinum": 1}}, "'Platinum'"),
        ({"limits": {BEST: -1}}, "0 to 1000"),
        ({"limits": {BEST: 10**12}}, "0 to 1000"),
        ({"limits": {BEST: 9}}, "at most seats_per_buyer_max, 8"),
        ({"limits": {BEST: 4}, "seats_per_buyer_max": 3}, "at most seats_per_buyer_max, 3"),
        ({"limits": {category.name: 0 for category in PLAN.categories}}, "nobody can buy"),
    ],
)
def test_limits_that_cannot_be_meant_are_refused_in_words(conn, terms, told):
    make_event(conn)
    facts(conn)
    for change in (lambda: make_event(conn, "x", **terms), lambda: events.set_policy(conn, "gig", **terms)):
        with pytest.raises(BadRequest, match=told) as refused:
            change()
        assert refused.value.code == "invalid_event"
    assert events.get_event(conn, "gig").limits == {}
    assert facts(conn) == []


def test_a_limit_of_all_below_that_of_a_category_is_refused_until_both_are_changed(conn):
    make_event(conn, limits={BEST: 4})
    with pytest.raises(BadRequest, match="at most seats_per_buyer_max, 2"):
        events.set_policy(conn, "gig", seats_per_buyer_max=2)
    changed = events.set_policy(conn, "gig", seats_per_buyer_max=2, limits={BEST: 2})
    assert (changed.seats_per_buyer_max, changed.limits) == (2, {BEST: 2})


def test_which_categories_have_limits_is_settled_when_the_sale_begins(conn):
    make_event(conn)
    events.set_state(conn, "gig", EventState.LOBBY)
    events.set_policy(conn, "gig", limits={BEST: 2})
    events.set_state(conn, "gig", EventState.OPEN)
    for limits in ({}, {OTHER: 1}, {BEST: 1, OTHER: 1}):
        with pytest.raises(Conflicted, match=BEST) as refused:
            events.set_policy(conn, "gig", limits=limits)
        assert refused.value.code == "limits_fixed"
    assert events.set_policy(conn, "gig", limits={BEST: 5}).limits == {BEST: 5}


def test_an_event_without_limits_gets_none_while_it_sells(conn):
    make_event(conn)
    events.set_state(conn, "gig", EventState.OPEN)
    with pytest.raises(Conflicted, match="none"):
        events.set_policy(conn, "gig", limits={BEST: 2})


# tours


@pytest.fixture
def tour(conn):
    return tours.create_tour(conn, "summer", "Summer", 4)


def test_a_draft_becomes_a_date_once_with_its_reason_and_its_allocator_is_told(conn, tour):
    number = make_event(conn)
    facts(conn)
    assert tours.add_event(conn, "summer", "gig", SAID).tour == "summer"
    assert facts(conn) == [Policy(EventState.DRAFT, tour=TourLimit(tour.id, 4))]
    assert tours.add_event(conn, "summer", "gig", SAID).tour == "summer"
    assert facts(conn) == []
    [row] = audit.read(conn, number)
    assert (row.who, row.why, row.what) == (
        "Olga",
        "it goes on tour",
        {"change": "join tour", "tour": "summer"},
    )
    assert tours.dates_of(conn, tour) == [tours.Date("gig", "The gig", EventState.DRAFT)]
    assert tours.list_tours(conn) == [tour]


@pytest.mark.parametrize("steps", [["lobby"], ["open"], ["open", "paused"], ["open", "closed"]])
def test_an_event_that_has_begun_stays_alone(conn, tour, steps):
    make_event(conn)
    for step in steps:
        events.set_state(conn, "gig", EventState(step))
    with pytest.raises(Conflicted, match="only a draft") as refused:
        tours.add_event(conn, "summer", "gig", SAID)
    assert refused.value.code == "event_not_draft"
    assert events.get_event(conn, "gig").tour is None


def test_a_date_stays_a_date_of_its_tour(conn, tour):
    number = make_event(conn)
    tours.create_tour(conn, "winter", "Winter", 2)
    tours.add_event(conn, "summer", "gig", SAID)
    with pytest.raises(Conflicted, match="'summer'") as refused:
        tours.add_event(conn, "winter", "gig", SAID)
    assert refused.value.code == "event_of_tour"
    assert len(audit.read(conn, number)) == 1
    events.set_state(conn, "gig", EventState.OPEN)
    assert tours.add_event(conn, "summer", "gig", SAID).state is EventState.OPEN


def test_of_two_who_add_a_draft_to_different_tours_at_once_one_is_told(conn, tour, database_url):
    make_event(conn)
    tours.create_tour(conn, "winter", "Winter", 2)
    outcomes = []

    def add(to):
        with psycopg.connect(database_url, autocommit=True) as own:
            try:
                outcomes.append(tours.add_event(own, to, "gig", SAID).tour)
            except Conflicted as refused:
                outcomes.append(refused.code)

    both = [threading.Thread(target=add, args=(to,)) for to in ("summer", "winter")]
    for one in both:
        one.start()
    for one in both:
        one.join(timeout=30)
    assert set(outcomes) == {"event_of_tour", events.get_event(conn, "gig").tour}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (("", "Summer", 4), "slug"), (("A b", "Summer", 4), "slug"), (("x", " ", 4), "name"),
        (("x", "n\0", 4), "name"), (("x", "X", 0), "seats_per_buyer_max"), (("x", "X", -1), "1 to 1000"),
        (("x", "X", 1001), "1 to 1000"), (("x", "X", 10**12), "1 to 1000"),
    ],
)  # fmt: skip
def test_a_tour_that_cannot_be_is_refused_by_the_name_of_what_is_wrong(conn, values, told):
    with pytest.raises(BadRequest, match=told):
        tours.create_tour(conn, *values)
    assert tours.list_tours(conn) == []


def test_what_there_is_not_is_told(conn, tour):
    with pytest.raises(Conflicted, match="'summer'"):
        tours.create_tour(conn, "summer", "Again", 2)
    for slug in ("winter", "x\0", ""):
        with pytest.raises(NotFound, match="no tour"):
            tours.get_tour(conn, slug)
    with pytest.raises(NotFound, match="no event"):
        tours.add_event(conn, "summer", "gig", SAID)
