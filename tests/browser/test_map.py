"""The map under fingers and keys: standing areas, neighbours, and a house of 20,000 seats."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from store.venues.make import make
from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway
from tests.browser.test_wishes import ask, asked

pytestmark = pytest.mark.browser


def said(page: Page) -> str:
    return page.locator(".map > [role=status]").inner_text()


def test_arrows_go_along_the_row_and_between_rows(page: Page, fake: FakeGateway) -> None:
    page.locator("canvas").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".map > [role=status]")).to_have_text("Stalls centre, row A, seat 7, A, €95.00, free")
    seats = [said(page)]
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        seats.append(said(page))
    row = [
        seat.number
        for seat in fake.plan.seats
        if seat.row == "A" and fake.plan.sections[seat.section].name == "Stalls centre"
    ]
    assert [text.split("seat ")[1].split(",")[0] for text in seats] == row
    page.keyboard.press("ArrowDown")
    assert "row B" in said(page)
    page.keyboard.press("ArrowUp")
    assert "row A" in said(page)
    page.keyboard.press("Enter")
    assert said(page).endswith("chosen")
    page.keyboard.press("Backspace")
    assert said(page).endswith("free")


def test_a_finger_comes_nearer_first_and_two_zoom(tabs: Tabs, fake: FakeGateway) -> None:
    page = tabs.open(has_touch=True)
    canvas = page.locator("canvas")
    box = canvas.bounding_box()
    assert box is not None
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.touchscreen.tap(middle[0], middle[1] + 8)  # a seat of the middle column
    expect(page.locator(".picked li")).to_have_count(0)  # too small to hit: the map came nearer instead
    page.touchscreen.tap(*middle)
    expect(page.locator(".picked li")).to_have_count(1)
    page.get_by_role("button", name="Show all").click()
    expect(canvas).to_have_css("touch-action", "pan-y")
    fingers = page.context.new_cdp_session(page)
    for kind, apart in (("touchStart", 20), ("touchMove", 60), ("touchMove", 120), ("touchEnd", 0)):
        points = [{"x": middle[0] + side * apart, "y": middle[1], "id": side + 1} for side in (-1, 1)]
        touching = {"type": kind, "touchPoints": points if apart else []}
        fingers.send("Input.dispatchTouchEvent", touching)
    expect(canvas).to_have_css("touch-action", "none")


class TestHall:
    @pytest.fixture
    def fake(self) -> FakeGateway:
        return FakeGateway(make("hall", 60))

    def test_places_are_chosen_on_the_map_and_in_the_list(self, page: Page, fake: FakeGateway) -> None:
        box = page.locator("canvas").bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.3)
        on_map = page.locator(".area-tip")
        expect(on_map).to_contain_text("Front standing")
        on_map.get_by_role("button", name="More: Front standing, places").click()
        expect(on_map.locator("output")).to_have_text("2")
        page.get_by_role("button", name="List", exact=True).click()
        page.locator(".list").get_by_role("button", name="More: Front standing, places").click()
        expect(page.locator(".panel .stepper output").first).to_have_text("3")
        ask(page)
        expect(page.locator(".mine")).to_contain_text("3 × Front standing")
        assert asked(fake) == {"areas": {"pit": 3}}

    def test_places_are_chosen_by_keyboard_within_the_limit(self, page: Page, fake: FakeGateway) -> None:
        page.locator("canvas").focus()
        page.keyboard.press("ArrowUp")
        for _ in range(6):
            page.keyboard.press("ArrowUp")
        assert said(page) == "Front standing, standing, €95.00 each, 600 places left"
        for _ in range(fake.seats_per_buyer_max):
            page.keyboard.press("Enter")
        assert said(page).endswith("8 places chosen")
        page.keyboard.press("Enter")
        expect(page.locator(".notice")).to_contain_text("That would be more than 8 seats.")
        page.keyboard.press("Backspace")
        assert said(page).endswith("7 places chosen")


_COUNT_DRAWS = """() => {
  const canvas = CanvasRenderingContext2D.prototype;
  const original = canvas.drawImage;
  window.draws = [];
  canvas.drawImage = function (...given) {
    window.draws[window.draws.length - 1] += 1;
    return original.apply(this, given);
  };
  const frame = () => {
    window.draws.push(0);
    window.counting = requestAnimationFrame(frame);
  };
  frame();
}"""


class TestLargeHouse:
    @pytest.fixture
    def fake(self) -> FakeGateway:
        return FakeGateway(make("arena", 20_000))

    def test_moving_draws_at_most_once_a_frame_and_makes_no_element_for_a_seat(
        self, tabs: Tabs, fake: FakeGateway
    ) -> None:
        page = tabs.open()
        box = page.locator("canvas").bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.evaluate(_COUNT_DRAWS)
        for _ in range(5):
            page.mouse.wheel(0, -120)
        page.mouse.down()
        page.mouse.move(x + 150, y + 90, steps=30)
        fake.mark("s", list(range(500)))
        page.mouse.move(x - 150, y - 90, steps=30)
        page.mouse.up()
        draws = page.evaluate("(cancelAnimationFrame(window.counting), window.draws)")
        assert max(draws) == 1
        assert sum(draws) > 10, "it did move"
        assert page.locator("*").count() < 250
