"""The page for everybody: keyboard, names, contrast, zoom, and nothing from anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from store.venues.make import make
from tests.browser.axe import violations
from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway

pytestmark = pytest.mark.browser

Choose = Callable[[Page, int], None]

NAMELESS = """() => {
  const named = (element) =>
    element.getAttribute("aria-label")?.trim() || element.innerText?.trim() ||
    element.labels?.[0]?.innerText.trim() || element.title;
  const wanted = "button, a[href], input, select, textarea, canvas, dialog, [role=group], [role=application]";
  return [...document.querySelectorAll(wanted)]
    .filter((element) => !named(element) && !element.getAttribute("aria-labelledby"))
    .map((element) => element.outerHTML.slice(0, 120));
}"""

BROKEN = """() => {
  const wrong = [];
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  if (new Set(ids).size !== ids.length) wrong.push("an id is there twice");
  for (const name of ["aria-labelledby", "aria-describedby", "aria-controls"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
      if (!document.getElementById(element.getAttribute(name))) wrong.push(`${name} names nothing`);
    }
  }
  if (document.querySelectorAll("h1").length !== 1) wrong.push("there must be one h1");
  const bent = "[tabindex]:not([tabindex='0']):not([tabindex='-1'])";
  if (document.querySelector(bent)) wrong.push("tab order is bent");
  if (!document.documentElement.lang) wrong.push("no language");
  if (document.querySelectorAll("main").length !== 1) wrong.push("there must be one main");
  return wrong;
}"""

CONTRASTS = """async ([pairs, static]) => {
  const { channels, contrast } = await import(`${static}/map/palette.js`);
  const probe = document.body.appendChild(document.createElement("span"));
  const colour = (token) => {
    probe.style.color = `var(--${token})`;
    return channels(getComputedStyle(probe).color);
  };
  return pairs.map(([front, ground]) => contrast(colour(front), colour(ground)));
}"""

_UNSEEN = """async (static) => {
  const { channels, contrast, seenOn } = await import(`${static}/map/palette.js`);
  const probe = document.body.appendChild(document.createElement("span"));
  probe.style.color = "var(--map-floor)";
  const floor = channels(getComputedStyle(probe).color);
  const steps = [0, 51, 102, 153, 204, 255];
  const all = steps.flatMap((r) => steps.flatMap((g) => steps.map((b) => [r, g, b])));
  return all.filter((rgb) => contrast(seenOn(rgb, floor), floor) < 3);
}"""

TEXT = [
    *((front, ground) for front in ("text", "muted") for ground in ("ground", "surface", "sunken")),
    *(("text", f"{tone}-ground") for tone in ("warn", "good", "info")),
    ("muted", "info-ground"),
    ("on-accent", "accent"),
    ("on-yours", "yours"),
    ("stage-text", "stage"),
    ("held", "surface"),
    ("yours", "surface"),
    ("alarm", "surface"),
    ("text", "map-floor"),
    ("text", "map-ground"),
    ("muted", "map-floor"),
]
SIGNS = [
    *((sign, "map-floor") for sign in ("held", "sold", "yours", "accent")),
    ("line-strong", "surface"),
    ("accent", "ground"),
]


def static_of(page: Page) -> str:
    source = page.locator("script[type=module]").get_attribute("src")
    assert source is not None
    return source.removesuffix("/app.js")


def schemes(page: Page) -> Iterator[str]:
    """The page in one theme after the other."""
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        yield scheme


def test_colours_have_contrast_in_both_themes(page: Page) -> None:
    grounds = set()
    for scheme in schemes(page):
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        for pairs, least in ((TEXT, 4.5), (SIGNS, 3.0)):
            ratios = page.evaluate(CONTRASTS, [pairs, static_of(page)])
            low = {pair: round(ratio, 2) for pair, ratio in zip(pairs, ratios, strict=True) if ratio < least}
            assert low == {}, f"below {least} to 1 in {scheme}"
    assert len(grounds) == 2, "each theme has a ground of its own"


def test_any_price_colour_is_seen_on_the_map(page: Page) -> None:
    for scheme in schemes(page):
        assert page.evaluate(_UNSEEN, static_of(page)) == [], f"not seen in {scheme}"


def test_everything_has_a_name_and_references_hold(page: Page, choose: Choose) -> None:
    def check() -> None:
        assert page.evaluate(NAMELESS) == []
        assert page.evaluate(BROKEN) == []
        assert violations(page) == []

    check()
    page.get_by_role("button", name="Best available").click()
    check()
    choose(page, 0)
    check()
    page.locator(".choosing .button.main").click()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    check()
    page.get_by_role("button", name="Stampede").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    check()


def press_until(page: Page, selector: str, key: str = "Tab") -> None:
    for _ in range(40):
        page.keyboard.press(key)
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached by {key}")


def test_a_seat_is_bought_with_the_keyboard_alone(page: Page, fake: FakeGateway) -> None:
    press_until(page, "canvas")
    page.keyboard.press("ArrowRight")  # starts at the best free seat
    expect(page.locator(".map [role=status]")).to_contain_text("seat 7, A, €95.00, free")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".map [role=status]")).to_contain_text("seat 8,")
    page.keyboard.press("Enter")
    expect(page.locator(".picked")).to_contain_text("A-8")
    press_until(page, ".button.main")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Held for you")).to_be_focused()
    press_until(page, ".holding .button.main")
    page.keyboard.press("Enter")
    expect(page.locator(".orders")).to_be_visible()
    assert fake.letters[1] == "s"


def test_focus_goes_in_reading_order(page: Page) -> None:
    order = []
    for _ in range(10):
        page.keyboard.press("Tab")
        order.append(page.evaluate("(document.activeElement.ariaLabel || document.activeElement.innerText)"))
    assert order == [
        "Go to your choice",
        "Stampede",
        "Map",
        "List",
        "Map of Old Theatre",
        "Zoom in",
        "Zoom out",
        "Show all",
        "On the map",
        "Best available",
    ]


def test_the_list_says_what_the_map_shows(page: Page, fake: FakeGateway, choose: Choose) -> None:
    fake.mark("s", [1])
    fake.mark("h", [2])
    choose(page, 0)
    row = page.get_by_role("group", name="Row A", exact=True)
    expect(row.get_by_role("button", name="seat 7, A, €95.00, chosen")).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(row.get_by_role("button", name="seat 8, A, €95.00, sold")).to_have_attribute(
        "aria-disabled", "true"
    )
    expect(row.get_by_role("button", name="seat 9, A, €95.00, held by someone")).to_be_visible()


WIDTHS = (320, 360, 640, 768, 1280)
"""640 is 1280 at 200 % zoom."""


@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_is_cut_off_sideways(tabs: Tabs, width: int, choose: Choose) -> None:
    page = tabs.open(width=width, height=720)

    def fits() -> None:
        for now in (*WIDTHS, width):
            page.set_viewport_size({"width": now, "height": 720})
            assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [now, now]

    for seat in range(2):
        fits()
        choose(page, seat)
    page.locator(".choosing .button.main").click()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    fits()


def test_nothing_inline_runs_and_nothing_comes_from_elsewhere(tabs: Tabs, url: str) -> None:
    page = tabs.open(ready=False)
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    page.reload()
    page.wait_for_selector("canvas")
    with page.expect_console_message(lambda said: "Content Security Policy" in said.text):
        ran = page.evaluate(
            """() => {
              const script = document.createElement("script");
              script.textContent = "window.inlineRan = true";
              document.body.append(script);
              return window.inlineRan === true;
            }"""
        )
    assert not ran
    assert hosts == {url.removeprefix("http://")}
    refused = [said for said in tabs.wrong if "Content Security Policy" in said]
    assert len(refused) == len(tabs.wrong) == 1, "only the script this test put there is refused"
    tabs.wrong.clear()


_CALLS_WHILE = """async ([method, frames, press]) => {
  let calls = 0;
  const canvas = CanvasRenderingContext2D.prototype;
  const original = canvas[method];
  canvas[method] = function (...given) {
    calls += 1;
    return original.apply(this, given);
  };
  if (press) document.querySelector(press).click();
  for (let frame = 0; frame < frames; frame += 1) await new Promise(requestAnimationFrame);
  canvas[method] = original;
  return calls;
}"""


class TestLargeHouse:
    @pytest.fixture
    def fake(self) -> FakeGateway:
        return FakeGateway(make("arena", 20_000))

    def test_the_map_is_drawn_only_on_a_change_and_in_batches(self, tabs: Tabs) -> None:
        page = tabs.open()
        page.wait_for_selector("canvas")
        page.evaluate(_CALLS_WHILE, ["drawImage", 10, ""])
        assert page.evaluate(_CALLS_WHILE, ["drawImage", 20, ""]) == 0
        fills = page.evaluate(_CALLS_WHILE, ["fill", 30, "[aria-label='Zoom in']"])
        assert 0 < fills < 150, "one fill for many seats"


def test_zooming_keeps_the_point_under_the_pointer(page: Page) -> None:
    before, after = page.evaluate(
        """async (static) => {
          const { Camera } = await import(`${static}/map/camera.js`);
          const camera = new Camera({ left: 0, top: 0, right: 1000, bottom: 800 }, 10);
          camera.resize(600, 400);
          camera.view = camera.zoomed(3, 300, 200);
          const before = camera.toPlan(250, 180);
          camera.view = camera.zoomed(1.7, 250, 180);
          return [before, camera.toPlan(250, 180)];
        }""",
        static_of(page),
    )
    assert before == pytest.approx(after)
