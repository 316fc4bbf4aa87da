"""What a plain form says becomes one request, and a request becomes a form again."""

from __future__ import annotations

import pytest

from gateway.buyers.decode import check
from gateway.pages import plain_wish, wishes
from gateway.pages.plain_html import Words
from gateway.pages.wishes import Fallback, Wished
from store.errors import BadRequest
from store.venues.make import make
from store.words import FALLBACKS_MAX, Best, Choice, Want

HALL = make("arena", 100, standing=50)
SECTION, PRICE = HALL.sections[0].name, HALL.categories[HALL.seats[0].category].name
AREA = HALL.areas[0]
ALL = dict.fromkeys(Fallback, "on")


def want_of(form, most=8):
    return check(wishes.want_of(wishes.read({"quantity": "2", **form}, HALL, most), HALL))


def test_nothing_but_a_number_is_the_best_there_is():
    assert want_of({"quantity": "3"}) == Want(best=Best(3))


def test_where_and_the_price_are_given_up_in_a_sensible_order():
    there = {"where": f"s:{SECTION}", "category": PRICE}
    assert want_of({**there, "elsewhere": "on", "any_price": "on"}) == Want(
        best=Best(2, SECTION, PRICE),
        fallbacks=(Choice(best=Best(2, category=PRICE)), Choice(best=Best(2))),
    )


def test_a_party_is_parted_evenly_and_its_wheelchair_places_with_it():
    want = want_of({"quantity": "5", "accessible": "4", "parted": "on"})
    assert want.fallbacks == (Choice(best=(Best(3, accessible=3), Best(2, accessible=1))),)


def test_everything_ticked_is_as_much_as_a_request_may_have():
    want = want_of({"quantity": "4", "where": f"s:{SECTION}", "category": PRICE, **ALL})
    assert len(want.fallbacks) == FALLBACKS_MAX
    assert len(set(map(repr, want.choices))) == len(want.choices)


def test_what_would_change_nothing_is_left_out():
    assert want_of({"quantity": "1", **ALL}) == Want(best=Best(1))


def test_standing_places_are_asked_for_by_their_area():
    want = want_of({"quantity": "4", "where": f"a:{AREA.guid}", **ALL})
    assert want == Want(areas={AREA.guid: 4}, fallbacks=(Choice(areas={AREA.guid: 4}, up_to=True),))


@pytest.mark.parametrize(
    ("form", "code"),
    [
        ({"quantity": "0"}, "bad_quantity"),
        ({"quantity": "9"}, "bad_quantity"),
        ({"quantity": "²"}, "bad_quantity"),
        ({"quantity": "-1"}, "bad_quantity"),
        ({"quantity": "1" * 5_000}, "bad_quantity"),
        ({"accessible": "3"}, "bad_accessible"),
        ({"where": "s:Nowhere"}, "bad_section"),
        ({"where": "a:nothing"}, "bad_section"),
        ({"where": SECTION}, "bad_section"),
        ({"category": "Nothing"}, "bad_category"),
        ({"where": f"a:{AREA.guid}", "accessible": "1"}, "bad_accessible"),
    ],
)
def test_what_is_not_possible_is_refused_by_its_field(form, code):
    with pytest.raises(BadRequest) as caught:
        want_of(form)
    assert caught.value.code == code


def test_a_category_that_an_area_is_not_of_is_not_left_out_in_silence():
    other = next(one.name for number, one in enumerate(HALL.categories) if number != AREA.category)
    with pytest.raises(BadRequest, match="is of the price"):
        want_of({"where": f"a:{AREA.guid}", "category": other})


@pytest.mark.parametrize(
    "wished",
    [
        Wished(),
        Wished(4, f"s:{SECTION}", PRICE, 1, frozenset(Fallback)),
        Wished(3, "", PRICE, 0, frozenset({Fallback.ANY_PRICE, Fallback.FEWER})),
        Wished(6, f"a:{AREA.guid}", ticked=frozenset({Fallback.FEWER})),
    ],
)
def test_a_form_is_filled_in_with_what_is_filed(wished):
    assert wishes.wished_of(wishes.want_of(wished, HALL)) == wished


def test_each_choice_is_said_in_words():
    words = Words({})
    want = want_of(
        {"quantity": "4", "where": f"s:{SECTION}", "elsewhere": "on", "parted": "on", "apart": "on"}
    )
    assert plain_wish.in_words(want, HALL, words) == [
        f"4 together in {SECTION}",
        "4 together anywhere",
        f"2 and 2, each side by side in {SECTION}",
        "2 and 2, each side by side anywhere",
        f"4 apart, as near as possible in {SECTION}",
        "4 apart, as near as possible anywhere",
    ]
    from_a_map = Want(seats=(HALL.seats[0].guid,), areas={AREA.guid: 2})
    seat = HALL.seats[0]
    assert plain_wish.in_words(from_a_map, HALL, words) == [f"seat {seat.row} {seat.number}, 2 × {AREA.name}"]
