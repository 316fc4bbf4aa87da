"""Best available: a party, where, at what price, and what will do instead, all in one request."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from gateway.buyers.decode import request_from_json
from gateway.pages.files import STATIC
from gateway.pages.wishes import SECTION, Fallback, Wished, want_of
from store.wire import canonical_want, decode_want
from store.words import FALLBACKS_MAX
from tests.browser.fake_gateway import FakeGateway

pytestmark = pytest.mark.browser

WHERE = "Stalls centre"


def wish_for(page: Page, quantity: int, *, where: str = "", ticks: tuple[str, ...] = ()) -> None:
    page.get_by_role("button", name="Best available").click()
    for _ in range(quantity - 2):
        page.get_by_role("button", name="More: seats").click()
    if where:
        page.get_by_label("Where").select_option(where)
    for tick in ticks:
        page.get_by_role("checkbox", name=tick).check()


def ask(page: Page) -> None:
    page.locator(".choosing .button.main").click()


def asked(fake: FakeGateway) -> dict[str, Any]:
    frame = fake.hear("request")[-1]
    return {word: value for word, value in frame.items() if word not in ("type", "id")}


def seats_in_row(fake: FakeGateway, section: str, row: str) -> list[int]:
    number = next(n for n, each in enumerate(fake.plan.sections) if each.name == section)
    return [n for n, seat in enumerate(fake.plan.seats) if seat.section == number and seat.row == row]


def leave_only(fake: FakeGateway, seats: list[int]) -> None:
    fake.mark("s", [seat for seat in range(len(fake.letters)) if seat not in seats])


def test_fallbacks_go_out_in_the_order_of_the_ticks(page: Page, fake: FakeGateway) -> None:
    fake.deciding = False
    wish_for(page, 4, where=WHERE, ticks=("Two and two", "Anywhere else in the house"))
    ask(page)
    in_line = page.locator(".tries li")
    expect(in_line).to_have_text(
        [
            "Four together in Stalls centre",
            "Four together anywhere",
            "Two and two in Stalls centre",
            "Two and two anywhere",
        ]
    )
    two = {"quantity": 2, "section": WHERE}
    assert asked(fake) == {
        "best": {"quantity": 4, "section": WHERE},
        "fallbacks": [
            {"best": {"quantity": 4}},
            {"best": [two, two]},
            {"best": [{"quantity": 2}, {"quantity": 2}]},
        ],
    }


def test_the_order_is_changed_by_keyboard_and_said(page: Page, fake: FakeGateway) -> None:
    fake.deciding = False
    wish_for(page, 3, where=WHERE, ticks=("Anywhere else in the house", "Apart, as near as possible"))
    page.get_by_role("button", name="Earlier: Apart, as near as possible").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Apart, as near as possible is tried as number 1 now.")).to_be_attached()
    expect(page.get_by_role("button", name="Later: Apart, as near as possible")).to_be_focused()
    ask(page)
    expect(page.locator(".tries li").nth(1)).to_have_text("Three apart, as near as possible in Stalls centre")
    assert asked(fake)["fallbacks"] == [
        {"best": {"quantity": 3, "section": WHERE, "apart": True}},
        {"best": {"quantity": 3}},
        {"best": {"quantity": 3, "apart": True}},
    ]


def test_a_price_range_and_accessible_places_are_asked_for(page: Page, fake: FakeGateway) -> None:
    wish_for(page, 3)
    for name, value in (("Price", "range"), ("From", "7500"), ("To", "9500")):
        page.get_by_role("combobox", name=name).select_option(value)
    page.get_by_role("button", name="More: wheelchair places").click()
    expect(page.locator(".total")).to_contain_text("€225.00")
    ask(page)
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    wanted = {"quantity": 3, "price_min": 7500, "price_max": 9500, "accessible": 1}
    assert asked(fake) == {"best": wanted}
    (hold,) = fake.holds.values()
    assert any(fake.plan.seats[seat].accessible for seat in hold.seats)


def test_a_party_hears_that_it_sits_together(page: Page, fake: FakeGateway) -> None:
    wish_for(page, 4, where=WHERE)
    ask(page)
    expect(page.locator(".story")).to_have_text("Together in row A.")
    expect(page.locator("#milestones")).to_contain_text("Together in row A.")
    page.reload()
    expect(page.locator(".story")).to_have_text("Together in row A.")


def test_a_fallback_that_was_given_is_named(page: Page, fake: FakeGateway) -> None:
    a, b = seats_in_row(fake, WHERE, "A"), seats_in_row(fake, WHERE, "B")
    leave_only(fake, [*a[:2], *b[:2]])
    wish_for(page, 4, where=WHERE, ticks=("Anywhere else in the house", "Two and two"))
    ask(page)
    told = "Two in row A and two in row B. Your third choice: two and two in Stalls centre."
    expect(page.locator(".story")).to_have_text(told)


def test_a_party_apart_hears_how_it_is_parted(page: Page, fake: FakeGateway) -> None:
    a, b = seats_in_row(fake, WHERE, "A"), seats_in_row(fake, WHERE, "B")
    leave_only(fake, [*a[:2], b[0]])
    wish_for(page, 3, ticks=("Apart, as near as possible",))
    ask(page)
    expect(page.locator(".story")).to_contain_text(
        "Apart, as near as possible: two in row A and one in row B."
    )


def test_parts_in_one_row_or_in_two_sections_are_told_apart(page: Page, fake: FakeGateway) -> None:
    row = seats_in_row(fake, WHERE, "A")
    leave_only(fake, [row[0], row[1], row[3], row[4]])
    wish_for(page, 4, ticks=("Two and two",))
    ask(page)
    expect(page.locator(".story")).to_contain_text("Two and two in row A.")
    page.get_by_role("button", name="Give all back").click()
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_visible()
    other = seats_in_row(fake, "Stalls left", "A")
    fake.mark("s", row)
    fake.mark("a", [*row[:2], *other[:2]])
    ask(page)
    expect(page.locator(".story")).to_contain_text("two in row A of Stalls left")


def test_fewer_are_counted(page: Page, fake: FakeGateway) -> None:
    leave_only(fake, seats_in_row(fake, WHERE, "A")[:3])
    wish_for(page, 4, ticks=("Fewer of us",))
    ask(page)
    expect(page.locator(".story")).to_have_text(
        "Together in row A. Your second choice: up to four together. "
        "Three of the four you asked for: more were not left."
    )


_EVERY_WISH = """async (static) => {
  const { emptyWish, triesOf } = await import(`${static}/core/wishes.js`);
  const venue = { sections: ["Stalls", "Circle"] };
  const { order } = emptyWish();
  const wants = [];
  for (let mask = 0; mask < 2 ** order.length; mask += 1) {
    const ticked = order.filter((_one, index) => mask >> index & 1);
    for (const quantity of [1, 2, 3, 4, 7, 12, 13, 50]) {
      for (const accessible of [0, 1, quantity]) {
        for (const [section, price] of [["", ""], ["Stalls", ""], ["", "=A"], ["Stalls", "range"]]) {
          const bounds = { section, price, low: 9500, high: 5500 };
          const wish = { ...emptyWish(), quantity, accessible, ticked, ...bounds };
          const [first, ...fallbacks] = triesOf(wish, venue);
          wants.push({ ...first, fallbacks });
        }
      }
    }
  }
  return JSON.stringify(wants);
}"""


def test_whatever_is_ticked_the_gateway_takes_it(still: Page) -> None:
    wants = json.loads(still.evaluate(_EVERY_WISH, STATIC))
    assert max(len(want["fallbacks"]) for want in wants) == FALLBACKS_MAX
    for want in wants:
        read = request_from_json(json.dumps(want).encode())
        tries = {(choice.best, choice.up_to) for choice in read.choices}
        assert len(tries) == len(read.choices), "nothing is tried twice"
        assert len({sum(party.quantity for party in choice.parties) for choice in read.choices}) == 1
        assert len({sum(party.accessible for party in choice.parties) for choice in read.choices}) == 1


_SAID = """async ([said, sections, static]) => {
  const { emptyWish } = await import(`${static}/core/wishes.js`);
  const { emptyChoice, wantOf } = await import(`${static}/core/choice.js`);
  const best = (one) => ({ ...emptyWish(), ...one });
  const wish = (one) => wantOf({ ...emptyChoice(), mode: "best", best: best(one) }, { sections });
  return said.map((one) => JSON.stringify(wish(one)));
}"""


def test_the_same_wish_is_the_same_request_from_the_page_without_scripts(
    still: Page, fake: FakeGateway
) -> None:
    plan = fake.plan
    ticks = [frozenset(some) for n in range(6) for some in itertools.combinations(Fallback, n)]
    forms = [
        Wished(quantity, place, price, accessible, ticked)
        for quantity, accessible in ((1, 0), (2, 1), (3, 2), (5, 4), (13, 0))
        for place in ("", SECTION + WHERE)
        for price in ("", plan.categories[0].name)
        for ticked in ticks
    ]
    said = [
        {
            "quantity": one.quantity,
            "section": one.section,
            "price": f"={one.category}" if one.category else "",
            "accessible": one.accessible,
            "ticked": list(one.ticked),
        }
        for one in forms
    ]
    sections = [section.name for section in plan.sections]
    theirs = still.evaluate(_SAID, [said, sections, STATIC])
    for form, text in zip(forms, theirs, strict=True):
        assert canonical_want(want_of(form, plan)) == canonical_want(decode_want(text)), form
