"""The waiting room as a buyer sees it: lobby, draw, line, turn, and in."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from gateway.pages.files import STATIC
from gateway.pages.texts import texts
from tests.browser.axe import good_for_everybody
from tests.browser.conftest import Call, Tabs
from tests.browser.fake_gateway import FakeGateway
from tests.browser.fake_room import FakeRoom
from tests.browser.test_access import CONTRASTS, press_until, schemes, static_of

pytestmark = pytest.mark.browser

OWN = {"join": "Count me in"}


@pytest.fixture
def room() -> FakeRoom:
    return FakeRoom()


@pytest.fixture
def fake(room: FakeRoom) -> FakeGateway:
    return FakeGateway(state="lobby", room=room)


def test_from_the_lobby_to_a_seat(page: Page, fake: FakeGateway, room: FakeRoom) -> None:
    expect(page.get_by_role("heading", name="The sale begins soon")).to_be_visible()
    page.get_by_role("button", name="Join", exact=True).click()
    expect(page.get_by_role("heading", name="You are in")).to_be_focused()
    room.draw(rate=120.0, seats_left=600)
    expect(page.get_by_role("heading", name="You are in line")).to_be_focused()
    expect(page.locator(".line-number")).to_contain_text("1,204")
    expect(page.get_by_text("1,203 people are ahead of you", exact=True)).to_be_visible()
    expect(page.get_by_text("About 8 to 13 minutes")).to_be_visible()
    assert fake.asked("hello")[-1]["watch"] is False, "who waits does not follow each seat"
    room.admit()
    expect(page.get_by_role("heading", name="It is your turn")).to_be_focused()
    expect(page).to_have_title("● Your turn! Nightfall, opening night · seats")
    expect(page.locator("#alerts")).to_have_text("It is your turn. You have 3 minutes to begin.")
    page.get_by_role("button", name="Choose my seats").click()
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_focused()
    expect(page.locator(".shopping")).to_contain_text("left to choose")
    page.get_by_role("button", name="Best available").click()
    page.locator(".choosing .button.main").click()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    assert fake.asked("hello")[-1]["watch"] is True


def test_a_draft_says_when_one_can_join_and_becomes_the_lobby(page: Page, room: FakeRoom) -> None:
    room.tell(phase="draft")
    expect(page.get_by_role("heading", name="Not on sale yet")).to_be_visible()
    room.tell(lobby_opens_at=room.now() + 95_000)
    expect(page.get_by_role("heading", name="You can join soon")).to_be_visible()
    expect(page.get_by_role("timer")).to_contain_text(re.compile(r"^1:[0-3]\d$"))
    expect(page.get_by_text("The sale begins: ")).to_be_visible()
    expect(page.get_by_role("button", name="Join", exact=True)).to_have_count(0)
    good_for_everybody(page, "early")
    room.tell(phase="lobby")
    expect(page.get_by_role("heading", name="The sale begins soon")).to_be_visible()
    expect(page.get_by_role("button", name="Join", exact=True)).to_be_visible()


def in_line(page: Page, room: FakeRoom, **changes: Any) -> None:
    """Joins before the sale begins, and is drawn."""
    page.get_by_role("button", name="Join", exact=True).click()
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()
    room.draw(**{"rate": 120.0, **changes})
    expect(page.get_by_role("heading", name="You are in line")).to_be_visible()


def test_a_buyer_knows_their_places_name_before_the_draw_and_takes_it_along_to_check(
    tabs: Tabs, fake: FakeGateway, room: FakeRoom
) -> None:
    page = tabs.open()
    page.get_by_role("button", name="Join", exact=True).click()
    page.get_by_text("How the draw can be checked").click()
    expect(page.get_by_text("Your place’s name, as the list of the draw has it:")).to_be_visible()
    name = page.locator(".commitment code").last.inner_text()
    assert str(UUID(name)) == name
    room.draw(rate=120.0)
    expect(page.get_by_role("heading", name="You are in line")).to_be_visible()
    page.get_by_text("How the draw can be checked").click()
    expect(page.get_by_role("link", name="Check the draw")).to_have_attribute(
        "href", f"/e/demo/draw?place={name}"
    )


def test_a_place_survives_a_refresh_and_a_closed_tab(tabs: Tabs, fake: FakeGateway, room: FakeRoom) -> None:
    fake.demo = False
    page = tabs.open("/e/demo#token=token-of-ann")
    in_line(page, room)
    page.reload()
    expect(page.locator(".line-number")).to_contain_text("1,204")
    page.close()
    room.tell(serving=600)
    page = tabs.open("/e/demo")
    expect(page.locator(".line-number")).to_contain_text("1,204")
    expect(page.get_by_text("49 % of the way")).to_be_visible()
    assert len(fake.asked("join")) == 1


def test_a_place_goes_on_with_another_device(page: Page, tabs: Tabs, room: FakeRoom) -> None:
    in_line(page, room)
    page.get_by_role("button", name="Go on with another device").click()
    link = page.get_by_label("Link to your place").input_value()
    other = tabs.open(link.removeprefix(tabs.url), own=True)
    expect(other.locator(".line-number")).to_contain_text("1,204")
    assert other.url.endswith("/e/demo"), "the token is taken out of the address"
    assert len(room.places) == 1


def test_without_its_gateway_a_place_is_kept_and_goes_on(
    page: Page, fake: FakeGateway, room: FakeRoom
) -> None:
    in_line(page, room)
    fake.serving = False
    fake.drop_sockets()
    expect(page.get_by_text("You are still in line. Reconnecting…")).to_be_visible()
    expect(page.locator(".line-number")).to_contain_text("1,204")
    room.serving = 1_000
    fake.serving = True
    expect(page.get_by_text("203 people are ahead of you", exact=True)).to_be_visible()


def test_a_pause_a_message_and_why_it_takes_longer_are_said(page: Page, room: FakeRoom) -> None:
    in_line(page, room, seats_left=2_000)
    room.tell(serving=600, rate=30.0, reason="payments_failing")
    expect(page.locator(".why")).to_contain_text("It takes longer than it looked before. Payments fail more")
    expect(page.get_by_text("About 16 to 26 minutes")).to_be_visible()
    expect(page.get_by_text("2,000 seats left")).to_be_visible()
    room.tell(phase="paused", message="A <b>word</b> to all.")
    expect(page.get_by_role("heading", name="The line stands still")).to_be_visible()
    expect(page.locator(".room-message")).to_contain_text("A <b>word</b> to all.")
    expect(page.locator("#milestones")).to_have_text("The organiser says: A <b>word</b> to all.")
    room.tell(phase="admitting")
    expect(page.locator("#milestones")).to_have_text("The line moves again.")
    room.tell(seats_left=0)
    expect(page.get_by_text("No seat is free just now. Those on hold may come back.")).to_be_visible()
    room.tell(sold_out=True)
    expect(page.get_by_role("heading", name="Sold out")).to_be_visible()
    room.tell(phase="stopped", sold_out=False)
    expect(page.get_by_role("heading", name="Nobody is let in any more")).to_be_visible()


_SAID = """() => {
  window.said = [];
  const place = document.querySelector("#milestones");
  const watched = { childList: true, characterData: true, subtree: true };
  new MutationObserver(() => window.said.push(place.textContent)).observe(place, watched);
}"""


def test_milestones_are_said_and_not_each_step(page: Page, room: FakeRoom) -> None:
    in_line(page, room)
    page.evaluate(_SAID)
    for serving in (1, 2, 300, 600, 602, 610, 1_000, 1_102, 1_103, 1_104, 1_190, 1_195, 1_200, 1_202, 1_203):
        room.tell(serving=serving)
    expect(page.get_by_text("You are next", exact=True)).to_be_visible()
    assert page.evaluate("window.said") == [
        "Half of the way is done. 601 people are ahead of you.",
        "100 people are ahead of you.",
        "8 people are ahead of you.",
        "3 people are ahead of you.",
    ]


def test_by_the_keyboard_alone(page: Page, fake: FakeGateway, room: FakeRoom) -> None:
    press_until(page, ".join .button.main")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="You are in")).to_be_focused()
    room.draw()
    expect(page.get_by_role("heading", name="You are in line")).to_be_focused()
    room.tell(phase="paused")
    expect(page.get_by_role("heading", name="The line stands still")).to_be_focused()
    room.tell(phase="admitting")
    press_until(page, ".quieter .link:last-child")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Stay")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Leave the line")).to_be_focused()
    room.admit()
    expect(page.get_by_role("heading", name="It is your turn")).to_be_focused()
    press_until(page, ".begin")
    coming: list[Route] = []
    page.route("**/seats", lambda route, _: coming.append(route))
    with page.expect_request("**/seats"):
        page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Your choice")).to_be_focused()
    coming[0].continue_()
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_focused()
    assert fake.asked("leave_line") == []


def test_leaving_asks_once_and_is_for_good(page: Page, fake: FakeGateway, room: FakeRoom) -> None:
    in_line(page, room)
    page.get_by_role("button", name="Leave the line").click()
    page.get_by_role("button", name="Leave for good").click()
    expect(page.get_by_role("heading", name="There is a line")).to_be_focused()
    page.reload()
    expect(page.get_by_role("button", name="Join the line")).to_be_visible()
    assert len(fake.asked("leave_line")) == 1


def test_whoever_was_called_and_was_away_comes_back(page: Page, room: FakeRoom) -> None:
    in_line(page, room)
    room.admit()
    room.change_places(state="expired")
    expect(page.get_by_role("heading", name="You were called, and were not here")).to_be_focused()
    page.get_by_role("button", name="Come back to my place").click()
    expect(page.get_by_role("heading", name="You are in line")).to_be_visible()
    expect(page.locator(".line-number")).to_contain_text("1,204")


def test_an_answer_that_news_have_overtaken_takes_nothing_back(page: Page, room: FakeRoom) -> None:
    in_line(page, room)
    room.admit()
    expect(page.get_by_role("heading", name="It is your turn")).to_be_visible()
    late: list[Callable[[], None]] = []

    def keep(route: Route) -> None:
        body = route.fetch().text()
        late.append(lambda: route.fulfill(body=body, content_type="application/json"))

    page.route("**/room/place", keep)
    with page.expect_request("**/room/place"):
        room.change_places(begin_by=room.now())  # over, as it seems: the page asks
    while not late:
        page.evaluate("() => 0")  # lets what the browser told be heard
    room.change_places(state="expired")
    missed = page.get_by_role("heading", name="You were called, and were not here")
    expect(missed).to_be_visible()
    with page.expect_response("**/room/place"):
        late[0]()
    page.evaluate("() => new Promise(requestAnimationFrame)")
    expect(missed).to_be_visible()


@pytest.mark.parametrize("room", [FakeRoom(server_ahead_seconds=86_400)])
def test_only_the_servers_clock_counts(page: Page, room: FakeRoom) -> None:
    expect(page.locator(".opens")).to_contain_text(re.compile(r"1:3\d"))
    in_line(page, room)
    room.admit()
    expect(page.locator(".countdown-figures")).to_have_text(re.compile(r"^(3:00|2:5\d)$"))
    page.get_by_role("button", name="Choose my seats").click()
    expect(page.locator(".shopping [role=timer]")).to_have_text(re.compile(r"^1[45]:\d\d left to choose$"))


class TestProof:
    @pytest.fixture
    def room(self) -> FakeRoom:
        return FakeRoom(proof_counter=150)

    def test_joining_a_busy_room_proves_that_a_computer_worked(
        self, page: Page, fake: FakeGateway, room: FakeRoom
    ) -> None:
        page.get_by_role("button", name="I have a code").click()
        page.get_by_label("Your code").fill("FRIENDS")
        page.get_by_role("button", name="Join", exact=True).click()
        expect(page.get_by_role("heading", name="You are in")).to_be_visible()
        first, second = fake.asked("join")
        assert first == {"type": "join", "code": "FRIENDS"}
        assert set(second) == {"type", "code", "proof"}


def test_a_refused_join_says_why_and_can_be_tried_again(page: Page, room: FakeRoom) -> None:
    room.refusing = {"code": "unknown_code", "message": "This code is not known."}
    page.get_by_role("button", name="Join", exact=True).click()
    expect(page.get_by_text("That did not work: This code is not known.").first).to_be_visible()
    page.get_by_role("button", name="Join", exact=True).click()
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()


class TestBallot:
    @pytest.fixture
    def room(self) -> FakeRoom:
        return FakeRoom(ballot="filing", look={"name": "The Old Theatre", "accent": "#ffcc00", "texts": OWN})

    def test_a_wish_is_filed_and_its_answer_comes(
        self, page: Page, fake: FakeGateway, room: FakeRoom
    ) -> None:
        page.get_by_role("button", name="Count me in").click()
        page.get_by_role("button", name="More: seats").click()
        page.get_by_role("button", name="File my wish").click()
        expect(page.get_by_role("heading", name="Your wish is filed")).to_be_visible()
        expect(page.locator(".tries")).to_have_text("Three together")
        page.get_by_role("button", name="Withdraw my wish").click()
        page.get_by_role("button", name="File my wish").click()
        expect(page.get_by_role("heading", name="Your wish is filed")).to_be_visible()
        page.reload()
        expect(page.locator(".tries")).to_have_text("Three together")
        assert [frame["want"] is None for frame in fake.asked("wish") if "want" in frame] == [
            False,
            True,
            False,
        ]
        buyer = next(iter(room.places))
        fake.waiting.append((buyer, {"id": "ballot", **room.wishes[buyer]["want"]}))
        fake.state = "open"
        room.tell(phase="ballot", ballot="deciding")
        expect(page.get_by_role("heading", name="You are in line")).to_be_visible()
        expect(page.get_by_text("For three together.")).to_be_visible()
        fake.decide_waiting()
        expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
        assert fake.asked("request") == []

    def test_the_organisers_colour_is_made_to_be_read(self, page: Page) -> None:
        for scheme in schemes(page):
            ratios = page.evaluate(
                CONTRASTS, [[("on-accent", "accent"), ("accent", "surface")], static_of(page)]
            )
            assert min(ratios) >= 4.5, f"{ratios} in {scheme}"


FORGET_WISH = """() => {
    const [[key, kept]] = Object.entries(sessionStorage);
    const { room, ...more } = JSON.parse(kept);
    sessionStorage.setItem(key, JSON.stringify({ ...more, room: { ...room, wish: null } }));
}"""


@pytest.mark.parametrize("room", [FakeRoom(ballot="filing")])
def test_what_is_filed_is_asked_for_until_it_is_told(page: Page, room: FakeRoom) -> None:
    page.get_by_role("button", name="Join", exact=True).click()
    page.get_by_role("button", name="File my wish").click()
    expect(page.locator(".tries")).to_be_visible()
    page.evaluate(FORGET_WISH)  # as on another device, which does not know of it
    room.refusing = {"code": "unavailable", "message": "Postgres does not answer.", "retry_after": 1}
    page.reload()
    expect(page.locator(".tries")).to_be_visible()
    assert room.refusing is None


@pytest.mark.parametrize("room", [FakeRoom(ballot="filing")])
def test_a_wish_that_could_not_be_had_is_said_and_is_still_said_after_a_reload(
    page: Page, fake: FakeGateway, room: FakeRoom
) -> None:
    page.get_by_role("button", name="Join", exact=True).click()
    page.get_by_label("Where").select_option("Circle centre")
    page.get_by_role("button", name="File my wish").click()
    expect(page.get_by_role("heading", name="Your wish is filed")).to_be_visible()
    middle = [plan.name for plan in fake.plan.sections].index("Circle centre")
    fake.mark("s", [seat for seat, one in enumerate(fake.plan.seats) if one.section == middle])
    page.route("**/seats", lambda _: None)  # the answer comes before the map
    buyer = next(iter(room.places))
    fake.waiting.append((buyer, {"id": "ballot", **room.wishes[buyer]["want"]}))
    fake.state = "open"
    fake.decide_waiting()
    room.draw(ballot="deciding")
    told = page.locator(".notice.warn")
    expect(told).to_contain_text("No seat is left in Circle centre.")
    expect(told).to_contain_text("You keep your place in line")
    page.reload()
    expect(told).to_contain_text("No seat is left in Circle centre.")
    expect(page.locator(".line-number")).to_contain_text("1,204")


@pytest.mark.parametrize("room", [FakeRoom(ballot="filing")])
def test_a_gateway_that_has_not_heard_that_the_sale_has_begun_ends_no_wait_for_the_answer(
    page: Page, fake: FakeGateway, room: FakeRoom
) -> None:
    page.get_by_role("button", name="Join", exact=True).click()
    page.get_by_role("button", name="File my wish").click()
    expect(page.locator(".tries")).to_be_visible()
    fake.state = "open"
    fake.forced = {"type": "error", "code": "event_not_open", "message": "The sale has not begun."}
    room.tell(phase="ballot", ballot="deciding")
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()


def test_every_screen_is_for_everybody(page: Page, room: FakeRoom) -> None:
    """No violation by axe-core in light and dark, and nothing cut off sideways, from a phone to a desk."""

    def check(name: str) -> None:
        expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
        good_for_everybody(page, name)

    page.locator("summary").click()
    page.get_by_role("button", name="I have a code").click()
    check("The sale begins soon")
    in_line(page, room, seats_left=1_000)
    room.tell(serving=400, rate=20.0, reason="lag", message="We go on at eight.")
    expect(page.locator(".why")).to_be_visible()
    page.get_by_role("button", name="Go on with another device").click()
    page.get_by_role("button", name="Leave the line").click()
    check("You are in line")
    room.tell(phase="paused")
    check("The line stands still")
    room.tell(phase="admitting")
    room.admit()
    check("It is your turn")
    page.get_by_role("button", name="Choose my seats").click()
    check("Choose your seats")


def test_without_scripts_the_page_goes_to_the_one_that_needs_none(url: str) -> None:
    there = httpx.get(f"{url}/e/demo").text
    assert '<noscript><meta http-equiv="refresh" content="0; url=/e/demo/line"></noscript>' in there


def test_texts_are_one_catalogue_for_pages_with_and_without_scripts(still: Page) -> None:
    read = "async (static) => (await import(`${static}/core/roomtexts/en.js`)).default"
    assert still.evaluate(read, STATIC) == texts("en")


def test_a_wait_is_a_range_from_the_measured_rate(call: Call) -> None:
    def wait(rate: float | None, ahead: int) -> Any:
        return call("core/roomline", "waitOf", {"rate": rate, "phase": "admitting"}, ahead)

    assert wait(100, 1_000) == {"low": 8, "high": 13}
    assert wait(100, 0) == {"low": 0, "high": 1}
    assert wait(None, 5) is None
    assert wait(0, 5) is None
