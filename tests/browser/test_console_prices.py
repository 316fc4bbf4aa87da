"""Prices in the console: what buyers pay and how much there is of it; fees and tax until the sale begins;
seats given another category from what was seen of them, and who was slower is told.
"""

from __future__ import annotations

import re

import msgspec
import pytest
from playwright.sync_api import Locator, Page, expect

from store import plan as plans
from store.prices import PriceTerms, price_of
from store.words import PRICE_MINOR_MAX
from tests.browser import fake_office
from tests.browser.axe import good_for_everybody
from tests.browser.conftest import Call, Tabs
from tests.browser.fake_operators import FakeOperators, problem
from tests.browser.test_access import BROKEN, NAMELESS
from tests.browser.test_console_shell import come, forgive

pytestmark = pytest.mark.browser
PRICES = "/console/e/demo/prices"
HOUSE = fake_office.house()
SEEN = plans.fingerprint(plans.encode(HOUSE))
OTHER = "5e" * 32
WHY = "in the console"


@pytest.fixture(autouse=True)
def house(office: FakeOperators) -> None:
    office.letters = fake_office.letters()


def picked(page: Page) -> Locator:
    return page.get_by_role("list", name="Picked").get_by_role("listitem")


def test_seats_and_an_area_are_picked_and_given_another_category_from_what_was_seen(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = come(consoles, "/console/e/demo", width=360)
    page.get_by_role("link", name="Prices").click()
    row = page.locator(".prices tbody tr").first
    expect(row).to_contain_text("€96.50")
    expect(row.locator(".number")).to_have_text(
        ["€95.00", "€1.50", "€0.00", "€96.50", "26", "12", "1", "12", "1"]
    )
    expect(page.locator(".prices tfoot .number")).to_have_text(["260", "226", "6", "27", "1"])
    expect(page.get_by_text("The sale has begun, so fees and tax stay as they are")).to_be_visible()
    expect(page.get_by_label("Fee for each ticket")).to_have_count(0)
    page.get_by_role("button", name="Pick row A").click()
    expect(picked(page)).to_have_text([re.compile("Stalls left, row A: all 4 seats")])
    page.get_by_role("button", name="Leave out Stalls left, row A: all 4 seats").click()
    seats = page.get_by_role("group", name="Row A").get_by_role("button")
    seats.nth(0).click()
    seats.nth(2).click(modifiers=["Shift"])
    expect(picked(page)).to_have_text([re.compile("Stalls left, row A: seats 1–3")])
    page.get_by_text("Or by the seats' ids").click()
    ids = page.get_by_label("Ids of seats")
    ids.fill("nowhere")
    page.get_by_role("button", name="Pick these").click()
    expect(page.get_by_role("alert").filter(has_text="The plan has no nowhere.")).to_be_visible()
    last = HOUSE.seats[-1].guid
    ids.fill(last)
    page.get_by_role("button", name="Pick these").click()
    expect(picked(page)).to_have_count(2)
    page.get_by_role("checkbox", name="Floor: 200 places, C now").check()
    page.get_by_role("radio", name=re.compile("^B")).check()
    assert page.evaluate(BROKEN) == []
    assert page.evaluate(NAMELESS) == []
    good_for_everybody(page, "prices")
    changed = problem(409, "plan_changed", "The plan of 'demo' is another by now.")
    office.refusing["events/demo/categories"] = changed
    page.get_by_role("button", name="Move 4 seats and Floor (200 places)…").click()
    asked = page.get_by_role("dialog", name="Give 4 seats and Floor (200 places) the category B?")
    expect(asked).to_contain_text("Now 3 × A (€96.50) and 201 × C (€56.50); then a buyer pays €76.50.")
    expect(asked).to_contain_text("21 places of it are on hold or sold")
    expect(asked).to_contain_text("If all that nobody has of it sells, buyers pay €3,580.00 more")
    good_for_everybody(page, "giving another category")
    moved = {"change": "recategorise", "category": "C", "seats": [last], "areas": {}}
    office.answers["events/demo/audit"] = {"audit": [fake_office.row(1, moved)]}
    now = [seat.category for seat in HOUSE.seats[:-1]] + [0]
    office.answers["events/demo/prices"] = fake_office.offered(HOUSE, plan=OTHER, seat_categories=now)
    asked.get_by_role("button", name="Make it B").click()
    quicker = page.get_by_role("dialog", name="Somebody was quicker")
    expect(quicker).to_contain_text(f"moved 1 seat ({last}) to C")
    expect(quicker).to_contain_text("Of what you picked, 1 has another category by now than you saw.")
    expect(quicker).to_contain_text("What you wanted was not done.")
    good_for_everybody(page, "somebody was quicker")
    office.refusing.clear()
    quicker.get_by_role("button", name="Do mine all the same").click()
    toast = page.locator(".toast").filter(has_text="4 seats and Floor (200 places): B now.")
    expect(toast).to_be_visible()
    expect(picked(page)).to_have_count(0)
    (_, path, slow), (_, _, again) = office.heard(2)
    assert path == "events/demo/categories"
    assert (slow["category"], slow["areas"], slow["why"]) == ("B", ["floor"], WHY)
    assert len(slow["seats"]) == 4
    assert last in slow["seats"]
    assert (slow["seen"], again["seen"]) == (SEEN, OTHER)
    assert again == slow | {"seen": OTHER}
    page.get_by_role("button", name="Pick row A").click()
    already = next(seat.guid for seat in HOUSE.seats if seat.category == 1)
    ids.fill(already)
    page.get_by_role("button", name="Pick these").click()
    page.get_by_role("radio", name=re.compile("^B")).check()
    page.get_by_role("button", name="Move 5 seats…").click()
    expect(page.locator("dialog.asking")).to_contain_text("1 is B already.")
    page.keyboard.press("Enter")
    page.locator(".toast").get_by_role("button", name="Back to A").click()
    *_, (_, _, there), (_, _, back) = office.heard(4)
    assert (there["category"], back["category"]) == ("B", "A")
    assert set(there["seats"]) - set(back["seats"]) == {already}, "what was so before stays so"
    forgive(consoles)


def test_before_the_sale_fees_and_tax_are_set_with_what_a_buyer_would_pay_and_taken_back(
    consoles: Tabs, office: FakeOperators
) -> None:
    dinars = msgspec.structs.replace(HOUSE, currency="KWD")
    office.plan = dinars
    office.answers["events/demo/prices"] = draft = fake_office.not_begun(dinars)
    page = come(consoles, PRICES)
    expect(page.locator(".price-total").first).to_have_text("KWD 9.650")
    expect(page.get_by_role("button", name=re.compile("seat 1: on hold"))).to_be_disabled()
    fee, tax = page.get_by_label("Fee for each ticket"), page.get_by_label("Tax", exact=True)
    save = page.get_by_role("button", name="Set fees and tax…")
    expect(fee).to_have_value("0.150")
    fee.fill("0.2505")
    expect(page.get_by_text("must be an amount with at most 3 decimals")).to_be_visible()
    expect(save).to_be_disabled()
    fee.fill("0,250")
    tax.fill("101")
    expect(page.get_by_text("must be 0 to 100 with at most two decimals")).to_be_visible()
    tax.fill("7.5")
    page.get_by_label("The tax is in the prices").uncheck()
    expect(page.locator(".fees-then")).to_contain_text("KWD 10.481")
    good_for_everybody(page, "fees and tax")
    save.click()
    asked = page.get_by_role("dialog", name="Set these fees and tax?")
    expect(asked).to_contain_text("The fee is KWD 0.250 a ticket; 7.5 % tax comes on top.")
    expect(asked).to_contain_text("A KWD 10.481 instead of KWD 9.650")
    office.refusing["events/demo/prices"] = problem(409, "prices_changed", "They are others by now.")
    theirs = draft["terms"] | {"fee_minor": 100}
    office.answers["events/demo/prices"] = draft | {"terms": theirs}
    office.answers["events/demo/audit"] = {"audit": [fake_office.row(1, {"change": "prices"})]}
    page.keyboard.press("Enter")
    quicker = page.get_by_role("dialog", name="Somebody was quicker")
    expect(quicker).to_contain_text("otto changed it")
    expect(quicker).to_contain_text("It is now: The fee is KWD 0.100 a ticket; no tax is shown.")
    office.refusing.clear()
    quicker.get_by_role("button", name="Do mine all the same").click()
    page.locator(".toast").get_by_role("button", name="As it was before").click()
    mine = {"fee_minor": 250, "fee_basis_points": 0, "tax_basis_points": 750, "tax_included": False}
    sent = [(method, body) for method, _, body in office.heard(3)]
    assert sent == [
        ("PUT", mine | {"seen": draft["terms"], "why": WHY}),
        ("PUT", mine | {"seen": theirs, "why": WHY}),
        ("PUT", theirs | {"seen": mine, "why": WHY}),
    ]
    forgive(consoles)


def test_a_viewer_sees_prices_and_why_nothing_of_a_sale_that_is_over_can_be_changed(
    consoles: Tabs, office: FakeOperators
) -> None:
    office.answers["events/demo/prices"] = fake_office.offered(HOUSE, limited=["A"], taken_in=False)
    page = come(consoles, PRICES, "key-of-vera", width=360)
    expect(page.get_by_text("A move is on its way.")).to_be_visible()
    expect(page.get_by_text("Giving seats another category needs the role operator.")).to_be_visible()
    expect(page.get_by_role("button")).to_have_text(["Log out"])
    over = fake_office.offered(HOUSE, state="closed", may_move="none")
    office.answers["events/demo/prices"] = over
    expect(page.get_by_text("The sale is over, so prices, fees, tax and categories stay")).to_be_visible()
    expect(page.get_by_text("A move is on its way.")).to_have_count(0)
    expect(page.get_by_text("needs the role operator.")).to_have_count(0)
    good_for_everybody(page, "prices of a sale that is over")


@pytest.mark.parametrize("included", [True, False])
def test_the_page_reckons_what_a_seat_costs_as_the_server_does(call: Call, included: bool) -> None:
    most = PriceTerms(PRICE_MINOR_MAX, 10_000, 10_000, included)
    some = [PriceTerms(0, 250, 1_900, included), PriceTerms(150, 333, 750, included), most]
    for terms in some:
        for price_minor in (0, 1, 20, 9_999, 5_050, PRICE_MINOR_MAX):
            shown = call("console/prices/reckon", "priceOf", price_minor, msgspec.to_builtins(terms))
            assert shown == msgspec.to_builtins(price_of(price_minor, terms))


@pytest.mark.parametrize(
    ("currency", "fee", "minor"),
    [("JPY", "150", 150), ("JPY", "1.5", None), ("KWD", "1.5", 1_500), ("EUR", "1,5", 150), ("EUR", "", 0)],
)
def test_a_fee_is_written_in_the_currencys_own_units(
    call: Call, currency: str, fee: str, minor: int | None
) -> None:
    fields = {"fee": fee, "fee_percent": "", "tax_percent": "19", "tax_included": True}
    meant = call("console/create/body", "meantBy", fields, currency)
    terms = {"fee_basis_points": 0, "tax_basis_points": 1_900, "tax_included": True}
    if minor is None:
        assert meant["errors"] == {"fee_minor": "must be a whole amount"}
    else:
        assert (meant["terms"], meant["errors"]) == (terms | {"fee_minor": minor}, {})


def test_many_seats_are_said_in_few_words(call: Call) -> None:
    numbers = ["1", "2", "3", "4"] * 4
    rows = [
        {"section": 0, "row": str(row + 1), "seats": list(range(row * 4, row * 4 + 4))} for row in range(3)
    ]
    rows.append({"section": 1, "row": "", "seats": list(range(12, 16))})
    venue = {"sections": ["Stalls", "Box"], "rows": rows, "number": numbers, "count": 16}

    def said(*picked: int) -> list[str]:
        return [one["words"] for one in call("console/prices/picked", "groupsOf", venue, picked)]

    assert said(0, 1, 3) == ["Stalls, row 1: seats 1–2, 4"]
    assert said(4, 5, 6, 7, 9) == ["Stalls, row 2: all 4 seats", "Stalls, row 3: seat 2"]
    assert said(*range(8), 9) == ["Stalls, rows 1–2: 8 seats", "Stalls, row 3: seat 2"]
    assert said(*range(4), *range(8, 12)) == ["Stalls, rows 1, 3: 8 seats"]
    assert said(*range(16)) == ["Stalls: all 12 seats", "Box: all 4 seats"]
    assert said() == []


def test_only_sections_with_seats_can_be_chosen_from(call: Call) -> None:
    venue = {"sections": ["Floor", "Stalls"], "rows": [{"section": 1, "row": "A", "seats": [0]}]}
    assert call("console/sales/where", "sectionsOf", venue) == [[1, "Stalls"]]


def test_what_has_a_limit_or_is_somebodys_stays(call: Call) -> None:
    venue = {"categories": [{"name": "A"}, {"name": "B"}], "category": [0, 1], "areas": [{"category": 1}]}
    areas = [{"held": 1, "sold": 0}]
    free = {"limited": [], "may_move": "free", "areas": areas}
    limited = {"limited": ["A"], "may_move": "any", "areas": areas}

    def stays(offered: object, letters: str) -> list[bool]:
        asked = (venue, offered, letters)
        return [bool(call("console/prices/standing", "seatStays", *asked, seat)) for seat in (0, 1)]

    assert stays(free, "ah") == [False, True]
    assert stays(free, "bs") == [False, True]
    assert stays(limited, "as") == [True, False]
    assert [bool(call("console/prices/standing", "areaStays", venue, one, 0)) for one in (free, limited)] == [
        True,
        False,
    ]
