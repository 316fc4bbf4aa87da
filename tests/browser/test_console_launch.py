"""A launch in the console: numbers that live, levers that are moved once, and what two operators see of each
other."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from store.venues.make import make
from tests.browser.axe import good_for_everybody
from tests.browser.conftest import Tabs
from tests.browser.fake_launches import Launch
from tests.browser.fake_operators import COOKIE, FakeOperators, problem
from tests.browser.test_access import BROKEN, NAMELESS
from tests.browser.test_console_shell import come, forgive

pytestmark = pytest.mark.browser

GAPS = """async (static) => {
  const { Series } = await import(`${static}/console/charts/series.js`);
  const series = new Series();
  const rows = [0, 5, 10, 15, 60, 65].map((second) => [second * 1000, 1]);
  series.reset(["at_ms", "workers"], rows);
  series.add([70_000, 2]);
  series.add([70_000, 3]);
  series.add([69_000, 9]);
  return [series.lists(["workers"], series.rows), series.now(), series.range(30_000), series.range(900_000)];
}"""
HOURS = """async (static) => {
  const { Series } = await import(`${static}/console/charts/series.js`);
  const series = new Series();
  const told = []; // as a history is: of what is older than half an hour a row each 90 s; with a break
  for (let at = 0; at < 9_000; at += 90) if (at < 3_600 || at >= 4_500) told.push([at * 1000, 1]);
  for (let at = 9_000; at < 10_800; at += 5) told.push([at * 1000, 1]);
  series.reset(["at_ms", "workers"], told);
  const gaps = () => {
    const [times, values] = series.lists(["workers"], series.rows);
    return times.filter((_, index) => values[index] === null);
  };
  const before = gaps();
  let most = 0;
  for (let at = 10_800; at < 54_000; at += 1) {
    series.add([at * 1000, 1]);
    most = Math.max(most, series.rows.length);
  }
  return [before, gaps(), most, series.rows[0][0]];
}"""


@pytest.fixture
def demo(office: FakeOperators) -> Launch:
    found = office.of("demo")
    assert found is not None
    return found


def open_launch(consoles: Tabs, key: str = "key-of-otto", width: int = 1280) -> Page:
    page = come(consoles, "/console/e/demo", key, width)
    expect(page.get_by_role("heading", name="Nightfall, opening night")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Requests a second over time"))).to_be_visible()
    return page


def dialog(page: Page, name: str) -> Locator:
    return page.get_by_role("dialog", name=name)


def number(page: Page, what: str) -> Locator:
    return page.locator(".numbers-card .numbers > div", has=page.get_by_text(what, exact=True)).locator("dd")


def sent(office: FakeOperators) -> list[tuple[str, str, Any]]:
    return list(office.changes)


def test_numbers_come_first_and_change_by_themselves_and_charts_say_the_same_in_a_table(
    consoles: Tabs, office: FakeOperators, demo: Launch
) -> None:
    page = open_launch(consoles)
    expect(page.locator(".huge")).to_have_text("62.4 %")
    expect(number(page, "undecided")).to_contain_text("36")
    expect(page.get_by_role("img", name=re.compile("over time"))).to_have_count(7)
    page.get_by_text("The same as a table").click()
    table = page.get_by_role("region", name="Table of what is charted")
    expect(
        table.get_by_role("columnheader", name="Undecided requests: wait for their decision")
    ).to_be_visible()
    expect(table.locator("tbody tr").first).to_contain_text("12.5K")
    assert page.evaluate(BROKEN) == []
    assert page.evaluate(NAMELESS) == []
    good_for_everybody(page, "a launch")
    demo.facts |= {"undecided": 512, "sold": 12_600}
    office.tell()
    expect(number(page, "undecided")).to_contain_text("512")
    expect(page.locator(".huge")).to_have_text("63.0 %")
    page.get_by_role("button", name="1 hour").click()
    expect(page.get_by_role("button", name="1 hour")).to_have_attribute("aria-pressed", "true")


def test_without_an_owner_nobody_says_how_many_wait_and_the_page_says_so(
    consoles: Tabs, office: FakeOperators, demo: Launch
) -> None:
    page = open_launch(consoles)
    demo.facts |= {"undecided": None, "latency_ms_p50": None, "latency_ms_p99": None}
    office.tell()
    expect(number(page, "undecided")).to_have_text("unknownits owner has not said lately")
    demo.facts |= {"owner": None}
    office.tell()
    expect(number(page, "undecided")).to_have_text("unknownnobody decides, so nobody counts what waits")
    expect(number(page, "decided within")).to_contain_text("nobody decides just now")
    demo.facts |= {"state": "closed"}
    office.tell()
    expect(number(page, "undecided")).to_have_text("–nothing can be asked for")


def test_what_nobody_sampled_is_a_gap_and_words_that_come_late_change_nothing(consoles: Tabs) -> None:
    page = open_launch(consoles)
    source = page.locator("script[type=module]").get_attribute("src") or ""
    lists, now, window, all_there_is = page.evaluate(GAPS, source.removesuffix("/console/main.js"))
    assert lists == [[0, 5, 10, 15, 20, 60, 65, 70], [1, 1, 1, 1, None, 1, 1, 3]]
    assert now == {"at_ms": 70_000, "workers": 3}
    assert window == [10, 70], "a minute at least"
    assert all_there_is == [0, 70], "a quarter of an hour begins with the first sample"


def test_hours_of_samples_are_drawn_as_they_were_and_take_a_bounded_memory(consoles: Tabs) -> None:
    page = open_launch(consoles)
    source = page.locator("script[type=module]").get_attribute("src") or ""
    before, after, most, first = page.evaluate(HOURS, source.removesuffix("/console/main.js"))
    assert before == [3_600], "rows of a history are far apart where they are old; only the break is a gap"
    assert after == [3_600], "nor does what the page itself has thinned become one"
    assert (most, first) == (3_000, 0)


@pytest.mark.parametrize("width", [360, 1280])
def test_state_and_levers_stay_in_view_and_leave_room_for_the_page(
    consoles: Tabs, office: FakeOperators, demo: Launch, width: int
) -> None:
    page = open_launch(consoles, width=width)
    demo.facts |= {"message": "We have paused for a moment. You keep your place. " * 10, "message_at": 1}
    demo.facts["name"] = "Nightfall, opening night, with everybody who was ever in it " * 3
    office.tell()
    expect(page.locator(".said")).to_be_visible()
    page.mouse.wheel(0, 1_500)
    expect(page.get_by_role("button", name="Pause the sale")).to_be_in_viewport()
    expect(page.get_by_label("Pace")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Message")).to_be_in_viewport()
    expect(page.locator(".launch-head .state")).to_be_in_viewport()
    box, top = page.locator(".launch-head").bounding_box(), page.locator(".top").bounding_box()
    assert box is not None
    assert top is not None
    assert box["height"] < 240, "however much somebody wrote"
    assert top["height"] < 80
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_pause_asks_once_by_keyboard_is_sent_once_and_can_be_undone(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = open_launch(consoles)
    lever = page.get_by_role("button", name="Pause the sale")
    lever.focus()
    page.keyboard.press("Enter")
    asked = dialog(page, "Pause the sale of Nightfall, opening night?")
    expect(asked).to_contain_text("none is decided")
    good_for_everybody(page, "a dialog")
    page.keyboard.press("Escape")
    expect(asked).to_have_count(0)
    expect(lever).to_be_focused()
    assert sent(office) == []
    page.keyboard.press("Enter")
    expect(asked.get_by_role("button", name="Pause the sale")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".launch-head .state")).to_have_text("paused")
    expect(page.locator(".toast")).to_contain_text("The sale is paused.")
    assert sent(office) == [("POST", "events/demo/pause", {"seen": "open"})]
    expect(page.get_by_role("main").get_by_role("button", name="Resume the sale")).to_be_focused()
    page.locator(".toast").get_by_role("button", name="Resume the sale").click()
    dialog(page, "Resume the sale of Nightfall, opening night?").get_by_role("button", name="Resume").click()
    expect(page.locator(".launch-head .state")).to_have_text("on sale")
    assert [path for _, path, _ in sent(office)] == ["events/demo/pause", "events/demo/resume"]


def test_pace_is_stepped_and_set_in_one_call_and_goes_back_from_how_it_is_by_then(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = open_launch(consoles)
    page.get_by_role("button", name="Faster").click()
    expect(page.get_by_label("Pace")).to_have_value("950")
    expect(page.locator("#pace-now")).to_have_text("is 900 now")
    assert sent(office) == []
    page.get_by_role("button", name="Set", exact=True).dblclick()
    expect(page.locator(".toast")).to_contain_text("The pace is 950 a minute.")
    page.locator(".toast").get_by_role("button", name="Back to 900 a minute").click()
    expect(page.locator(".toast")).to_contain_text("The pace is 900 a minute.")
    bodies = [body | {"why": bool(body["why"])} for _, _, body in office.heard(2)]
    assert bodies == [
        {"pace": 950, "edition": 4, "why": True},
        {"pace": 900, "edition": 5, "why": True},
    ]


def test_a_word_that_was_on_its_way_while_a_lever_moved_takes_nothing_back(
    consoles: Tabs, office: FakeOperators, demo: Launch
) -> None:
    page = open_launch(consoles)
    page.get_by_label("Pace").fill("950")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("The pace is 950 a minute.")
    demo.late_ms = 60_000
    demo.facts |= {"pace": 900, "state": "paused", "undecided": 512}
    office.tell()
    expect(number(page, "undecided")).to_contain_text("512")
    expect(page.get_by_label("Pace")).to_have_value("950")
    expect(page.get_by_role("button", name="Pause the sale")).to_be_enabled()


def test_a_pace_far_off_is_asked_about_and_what_is_no_pace_cannot_be_sent(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = open_launch(consoles)
    field = page.get_by_label("Pace")
    field.fill("fast")
    expect(page.get_by_role("button", name="Set", exact=True)).to_be_disabled()
    page.keyboard.press("Enter")
    field.fill("1.5")
    expect(page.get_by_role("button", name="Set", exact=True)).to_be_disabled()
    field.fill("9,000")
    page.keyboard.press("Enter")
    asked = dialog(page, "Let in 9,000 a minute?")
    asked.get_by_role("button", name="Not now").click()
    assert sent(office) == []
    field.fill("")
    page.keyboard.press("Enter")
    dialog(page, "Let in without a pace?").get_by_role("button", name="Set it").click()
    assert office.heard()[0][2]["pace"] is None
    expect(field).to_have_attribute("placeholder", "no limit")
    expect(page.get_by_role("button", name="Faster")).to_be_disabled()


def test_a_message_is_shown_to_all_who_wait_and_taken_off_again(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = open_launch(consoles)
    page.get_by_role("button", name="Message").click()
    asked = dialog(page, "A message to all who wait")
    asked.get_by_role("button", name=re.compile("Payments are slow")).click()
    asked.get_by_role("button", name="Show it").click()
    expect(page.locator(".said")).to_contain_text("Payments are slow just now.")
    page.get_by_role("button", name="Change the message").click()
    expect(asked.get_by_role("textbox")).to_have_value(re.compile("^Payments are slow"))
    asked.get_by_role("textbox").fill(" ")
    page.keyboard.press("Enter")
    expect(asked.get_by_role("textbox")).to_have_value(" \n")  # a text may have several lines
    page.keyboard.press("Control+Enter")
    expect(page.locator(".said")).to_have_count(0)
    assert [(method, path, body["text"]) for method, path, body in sent(office)] == [
        ("PUT", "events/demo/room/message", office.changes[0][2]["text"]),
        ("PUT", "events/demo/room/message", None),
    ]


def test_a_question_goes_with_the_page_that_asked_and_what_went_wrong_is_not_pushed_out(
    consoles: Tabs, office: FakeOperators
) -> None:
    office.refusing["events/demo/room/stop"] = problem(503, "unavailable", "Postgres does not answer.")
    page = open_launch(consoles)
    page.get_by_role("button", name="Stop letting in").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop letting in").click()
    expect(page.locator(".toast.wrong")).to_have_count(1)
    for pace, said in ((950, "950"), (960, "960"), (970, "970"), (980, "980")):
        page.get_by_label("Pace").fill(str(pace))
        page.keyboard.press("Enter")
        expect(page.locator(".toast").filter(has_text=f"The pace is {said} a minute.")).to_be_visible()
    expect(page.locator(".toast.wrong")).to_have_count(1)
    page.get_by_role("link", name="Export").click()
    expect(page.get_by_role("heading", name="Export")).to_be_focused()
    page.go_back()
    page.get_by_role("button", name="Close the sale").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.go_forward()
    expect(page.get_by_role("heading", name="Export")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert len(sent(office)) == 5
    consoles.wrong.clear()


def test_the_lever_in_view_is_the_one_that_comes_next(consoles: Tabs, demo: Launch) -> None:
    demo.facts |= {"state": "draft", "lobby_opens_at": 1_924_887_600_000, "opens_at": 1_924_891_200_000}
    page = open_launch(consoles)
    head, more = page.locator(".launch-head"), page.get_by_role("region", name="More moves")
    expect(head.get_by_role("button", name="Open the lobby")).to_be_visible()
    expect(head).to_contain_text(re.compile(r"lobby opens by itself 30 Dec 2030.*; the sale 30 Dec 2030"))
    expect(more.get_by_role("button", name="Open the sale")).to_be_visible()
    demo.facts["state"] = "closed"
    page.reload()
    expect(head.locator(".state")).to_have_text("closed")
    for gone in ("Pace", "Slower", "Stop letting in", "Message"):
        expect(page.get_by_label(gone, exact=True)).to_have_count(0)
    expect(head.get_by_role("button")).to_have_count(0)


def test_numbers_are_written_one_way_whatever_the_browsers_language(
    browser: Browser, consoles: Tabs, office: FakeOperators
) -> None:
    context = browser.new_context(locale="de-DE", timezone_id="Asia/Tokyo")
    context.add_cookies([{"name": COOKIE, "value": "key-of-otto", "url": consoles.url, "httpOnly": True}])
    page = context.new_page()
    page.goto(f"{consoles.url}/console")
    expect(page.locator(".launch-card").first).to_contain_text("12,480 of 20,000")
    expect(page.locator(".launch-card").first).to_contain_text("€748,800.00")
    soon = page.locator(".launch-card", has_text="Matinée")
    expect(soon).to_contain_text("Lobby opens 31 Dec 2030, 04:00.")
    expect(soon).to_contain_text("Opens 31 Dec 2030, 05:00.")
    context.close()


def test_closing_needs_the_events_name_typed(consoles: Tabs, office: FakeOperators) -> None:
    page = open_launch(consoles)
    page.get_by_role("button", name="Close the sale").click()
    asked = dialog(page, "Close the sale of Nightfall, opening night for good?")
    field = asked.get_by_role("textbox")
    expect(field).to_be_focused()
    field.fill("dem")
    page.keyboard.press("Enter")
    expect(asked.get_by_role("button", name="Close the sale")).to_be_disabled()
    assert sent(office) == []
    field.fill("demo")
    page.keyboard.press("Enter")
    expect(page.locator(".launch-head .state")).to_have_text("closed")
    expect(page.get_by_role("button", name="Pause the sale")).to_have_count(0)
    assert len(sent(office)) == 1


def test_who_is_slower_sees_what_it_is_now_and_who_did_it(
    consoles: Tabs, office: FakeOperators, demo: Launch
) -> None:
    page = open_launch(consoles)
    page.get_by_label("Pace").fill("1,200")
    demo.facts["pace"] = 600
    demo.edition = 5
    page.keyboard.press("Enter")
    asked = dialog(page, "Somebody was quicker")
    expect(asked).to_contain_text("anna changed it")
    expect(asked).to_contain_text("set pace to 600")
    expect(asked).to_contain_text("It is now: pace 600 a minute; no message.")
    asked.get_by_role("button", name="Leave it as it is").click()
    expect(asked).to_have_count(0)
    assert demo.facts["pace"] == 600
    page.get_by_label("Pace").fill("1,200")
    demo.edition = 6
    page.keyboard.press("Enter")
    asked.get_by_role("button", name="Do mine all the same").click()
    expect(page.locator(".toast")).to_contain_text("The pace is 1,200 a minute.")
    assert [body["edition"] for _, _, body in sent(office)] == [4, 5, 6]
    forgive(consoles)


def test_a_move_that_is_no_longer_possible_says_how_it_stands_and_who_made_it_so(
    consoles: Tabs, office: FakeOperators, demo: Launch
) -> None:
    page = open_launch(consoles)
    page.get_by_role("button", name="Pause the sale").click()
    demo.facts["state"] = "closed"
    dialog(page, "Pause the sale of Nightfall, opening night?").get_by_role("button", name="Pause").click()
    wrong = page.locator(".toast.wrong")
    expect(wrong).to_contain_text("The event is closed. It is closed now. anna changed it")
    expect(page.locator(".launch-head .state")).to_have_text("closed")
    assert len(sent(office)) == 1
    forgive(consoles)


def test_a_viewer_sees_everything_and_no_lever(consoles: Tabs, office: FakeOperators) -> None:
    page = open_launch(consoles, "key-of-vera")
    expect(page.locator(".levers")).to_contain_text("need the role operator")
    expect(page.locator(".huge")).to_have_text("62.4 %")
    names = [button.inner_text() for button in page.get_by_role("button").all()]
    assert names == ["Log out", "15 min", "1 hour", "All"], "nothing that changes anything"
    good_for_everybody(page, "a viewer's launch")


def test_a_feed_that_comes_back_brings_what_was_missed(
    consoles: Tabs, office: FakeOperators, demo: Launch
) -> None:
    page = open_launch(consoles)
    office.watched()
    office.serving = False
    office.drop_sockets()
    expect(page.locator(".away")).to_be_visible()
    expect(page.locator(".huge")).to_have_text("62.4 %")
    demo.facts |= {"sold": 13_000, "state": "paused"}
    office.serving = True
    expect(page.locator(".away")).to_have_count(0)
    expect(page.locator(".huge")).to_have_text("65.0 %")
    expect(page.locator(".launch-head .state")).to_have_text("paused")
    forgive(consoles)


def test_an_event_there_is_not_says_so(consoles: Tabs) -> None:
    page = come(consoles, "/console/e/nowhere")
    expect(page.get_by_role("heading", name="There is no such thing")).to_be_visible()
    forgive(consoles)


def test_free_seats_of_a_section_are_taken_off_sale_and_put_on_again(
    consoles: Tabs, office: FakeOperators
) -> None:
    first = office.plan.seats[0]
    row = [seat for seat in office.plan.seats if (seat.section, seat.row) == (first.section, first.row)]
    office.letters = "s" + "a" * 59
    page = open_launch(consoles)
    page.get_by_text("Take off sale, or put on sale again").click()
    page.get_by_role("combobox", name="Section", exact=True).select_option(str(first.section))
    page.get_by_role("combobox", name="Row", exact=True).select_option(first.row)
    page.get_by_role("button", name="Take off sale…").click()
    page.get_by_role("dialog").get_by_role("button", name="Take off sale").click()
    method, path, body = office.heard()[0]
    assert (method, path) == ("POST", "events/demo/blocks")
    expect(page.locator(".toast")).to_contain_text("Off sale:")
    assert body["seats"] == [seat.guid for seat in row if seat.guid != first.guid], "what is sold stays"
    page.get_by_role("combobox", name="What", exact=True).select_option("names")
    page.get_by_label("Ids of seats").fill("nothing-like-it")
    page.get_by_role("button", name="Take off sale…").click()
    expect(page.locator(".seats-form .wrong-text")).to_contain_text("The plan has no nothing-like-it.")
    good_for_everybody(page, "the seats' form")
    page.locator(".toast").get_by_role("button", name="Put on sale again").click()
    page.get_by_role("dialog").get_by_role("button", name="Put on sale").click()
    assert office.heard(2)[1][1] == "events/demo/unblock"
    assert len(sent(office)) == 2


def test_workers_are_scaled_from_what_was_seen_and_the_fast_gate_has_a_switch(
    consoles: Tabs, office: FakeOperators, demo: Launch
) -> None:
    page = open_launch(consoles)
    page.get_by_role("combobox", name="Workers").select_option("3")
    page.get_by_label("Of its own or shared").select_option("hot")
    demo.fleet["edition"] = 2
    page.get_by_role("button", name="Scale", exact=True).click()
    asked = dialog(page, "Somebody was quicker")
    expect(asked).to_contain_text("It is now: 2 workers")
    asked.get_by_role("button", name="Do mine all the same").click()
    expect(page.locator(".toast")).to_contain_text("Wanted now: 3 workers, always workers of its own.")
    assert [body["edition"] for _, _, body in sent(office)] == [1, 2]
    page.get_by_role("button", name="Turn it off").click()
    dialog(page, "Turn the fast gate off?").get_by_role("button", name="Turn it off").click()
    assert office.heard(3)[2] == ("PATCH", "events/demo/policy", {"fast_gate": False})
    forgive(consoles)


def test_a_refusal_is_said_and_stays_until_it_is_read(consoles: Tabs, office: FakeOperators) -> None:
    office.refusing["events/demo/pause"] = problem(503, "unavailable", "Postgres does not answer. Try again.")
    page = open_launch(consoles)
    page.get_by_role("button", name="Pause the sale").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause the sale").click()
    wrong = page.locator(".toast.wrong")
    expect(wrong).to_have_text(re.compile("Postgres does not answer. Try again."))
    good_for_everybody(page, "a refusal")
    wrong.get_by_role("button", name="Dismiss").click()
    expect(wrong).to_have_count(0)
    consoles.wrong.clear()


def test_what_could_not_be_sent_is_not_written_twice(consoles: Tabs, office: FakeOperators) -> None:
    office.refusing["events/demo/room/message"] = problem(503, "unavailable", "Postgres does not answer.")
    page = open_launch(consoles)
    page.get_by_role("button", name="Message").click()
    asked = dialog(page, "A message to all who wait")
    asked.get_by_role("textbox").fill("We open ten minutes later, at 20:10.")
    asked.get_by_role("button", name="Show it").click()
    expect(page.locator(".toast.wrong")).to_contain_text("Postgres does not answer.")
    page.get_by_role("button", name="Message").click()
    expect(asked.get_by_role("textbox")).to_have_value("We open ten minutes later, at 20:10.")
    del office.refusing["events/demo/room/message"]
    office.session = False
    asked.get_by_role("button", name="Show it").click()
    again = page.get_by_role("dialog", name="Your session has ended")
    again.get_by_label("Operator key").fill("key-of-otto")
    page.keyboard.press("Enter")
    expect(page.locator(".toast.wrong").last).to_contain_text("nothing was done")
    page.get_by_role("button", name="Message").click()
    asked.get_by_role("button", name="Show it").click()
    expect(page.locator(".said")).to_contain_text("at 20:10.")
    consoles.wrong.clear()


def test_places_of_a_plan_without_seats_are_taken_off_sale(consoles: Tabs, office: FakeOperators) -> None:
    office.plan = make("hall", 0, standing=300, name="The Hall")
    page = open_launch(consoles)
    page.get_by_text("Take off sale, or put on sale again").click()
    page.get_by_label("How many").fill("20")
    page.get_by_role("button", name="Take off sale…").click()
    page.get_by_role("dialog").get_by_role("button", name="Take off sale").click()
    assert list(office.heard()[0][2]["areas"].values()) == [20]
