"""Connections come and go; a place in the order does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from gateway.pages.files import STATIC
from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway

pytestmark = pytest.mark.browser

Choose = Callable[[Page, int], None]


def with_own_clock(tabs: Tabs) -> Page:
    """A tab whose time the test moves."""
    page = tabs.open(own=True)
    page.clock.install()
    page.reload()
    page.wait_for_selector("[data-topic=choosing]")
    return page


def ask_and_wait(page: Page, choose: Choose) -> None:
    choose(page, 0)
    page.locator(".choosing .button.main").click()
    expect(page.get_by_role("heading", name="You are in line")).to_be_visible()


def test_a_reconnect_keeps_the_place(page: Page, fake: FakeGateway, choose: Choose) -> None:
    fake.deciding = False
    ask_and_wait(page, choose)
    fake.serving = False
    fake.drop_sockets()
    expect(page.locator(".connection")).to_contain_text("You are still in line.")
    fake.serving = True
    expect(page.locator(".connection")).to_be_empty()
    fake.decide_waiting()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    (request,) = fake.asked("request")
    assert [frame["ids"] for frame in fake.hear("resume")] == [[request["id"]]]


def test_a_decision_made_while_away_is_told_on_return(page: Page, fake: FakeGateway, choose: Choose) -> None:
    fake.deciding = False
    ask_and_wait(page, choose)
    fake.serving = False
    fake.drop_sockets()
    expect(page.locator(".connection")).to_contain_text("still in line")
    fake.decide_waiting()
    fake.serving = True
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()


def test_a_key_nobody_knows_is_asked_again_under_the_same_id(
    page: Page, fake: FakeGateway, choose: Choose
) -> None:
    fake.deciding = False
    ask_and_wait(page, choose)
    fake.waiting.clear()
    fake.deciding = True
    fake.drop_sockets()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    first, second = fake.asked("request")
    assert second == {**first, "again": True}


def test_a_request_nobody_answers_is_asked_again(tabs: Tabs, fake: FakeGateway, choose: Choose) -> None:
    page = with_own_clock(tabs)
    fake.answering = False
    choose(page, 0)
    page.locator(".choosing .button.main").click()
    expect(page.get_by_role("heading", name="Asking for your seats")).to_be_visible()
    fake.hear("request")
    fake.on_loop(lambda: setattr(fake, "answering", True))
    page.clock.fast_forward(9_000)
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    assert fake.asked("request")[-1]["again"] is True


def test_a_refresh_while_in_line_keeps_the_request(page: Page, fake: FakeGateway, choose: Choose) -> None:
    fake.deciding = False
    ask_and_wait(page, choose)
    page.reload()
    expect(page.get_by_role("heading", name="You are in line")).to_be_visible()
    fake.decide_waiting()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    assert len({frame["id"] for frame in fake.asked("request")}) == 1


def test_a_pause_keeps_the_place(page: Page, fake: FakeGateway, choose: Choose) -> None:
    fake.deciding = False
    ask_and_wait(page, choose)
    fake.become("paused")
    expect(page.get_by_role("heading", name="The sale is paused; you keep your place")).to_be_visible()
    fake.become("open")
    fake.decide_waiting()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()


def test_a_delay_is_said(page: Page, fake: FakeGateway, choose: Choose) -> None:
    fake.deciding = False
    ask_and_wait(page, choose)
    fake.send_all({"type": "delayed", "id": fake.asked("request")[0]["id"]})
    expect(page.get_by_role("heading", name="This takes longer than usual")).to_be_visible()


def test_a_busy_server_is_asked_again_under_the_same_id(
    page: Page, fake: FakeGateway, choose: Choose
) -> None:
    fake.forced = {"type": "error", "code": "busy", "message": "Too many ask at once.", "retry_after": 1}
    choose(page, 0)
    page.locator(".choosing .button.main").click()
    expect(page.get_by_role("heading", name="It is very busy")).to_be_visible()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    first, second = fake.asked("request")
    assert second == {**first, "again": True}


def test_buying_while_away_is_said_again_on_return(page: Page, fake: FakeGateway, choose: Choose) -> None:
    choose(page, 0)
    page.locator(".choosing .button.main").click()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    fake.serving = False
    fake.drop_sockets()
    expect(page.locator(".connection")).to_contain_text("Your seats are still yours.")
    page.locator(".holding .button.main").click()
    fake.serving = True
    expect(page.locator(".orders")).to_be_visible()


def test_the_map_is_whole_again_after_a_reconnect(page: Page, fake: FakeGateway) -> None:
    fake.telling_seats = False
    fake.mark("s", list(range(len(fake.letters))))
    fake.drop_sockets()
    expect(page.get_by_role("heading", name="Sold out")).to_be_visible()


@pytest.mark.parametrize(
    ("code", "title"),
    [(4401, "Your sign-in has ended"), (4403, "not at its own address"), (4404, "no such event")],
)
def test_a_refusal_for_good_says_what_to_do(tabs: Tabs, fake: FakeGateway, code: int, title: str) -> None:
    fake.close_code = code
    page = tabs.open(ready=False)
    expect(page.get_by_role("heading", level=1)).to_contain_text(title)


def test_a_guest_whose_token_ended_can_come_in_anew(tabs: Tabs, fake: FakeGateway) -> None:
    fake.close_code = 4401
    page = tabs.open(ready=False)
    expect(page.get_by_role("heading", name="Your sign-in has ended")).to_be_visible()
    fake.close_code = 0
    before = page.evaluate("sessionStorage.getItem('onsale:demo')")
    page.get_by_role("button", name="Come in as a new guest").click()
    expect(page.locator("canvas")).to_be_visible()
    assert page.evaluate("sessionStorage.getItem('onsale:demo')") != before


def test_waits_between_attempts_grow_have_a_bound_and_jitter(still: Page) -> None:
    longest, shortest = still.evaluate(
        """async (static) => {
          const { backoff } = await import(`${static}/core/link.js`);
          const attempts = [...Array(12).keys()];
          return [attempts.map((n) => backoff(n, () => 1)), attempts.map((n) => backoff(n, () => 0))];
        }""",
        STATIC,
    )
    assert longest == sorted(longest)
    assert longest[0] == 400
    assert longest[-1] == 15_000
    assert set(shortest) == {0}, "full jitter: a crowd does not come back in one moment"


GOODBYE = """async (static) => {
  const { Link } = await import(`${static}/core/link.js`);
  const Socket = WebSocket, said = [];
  let socket = null;
  window.WebSocket = class {
    static OPEN = 1; readyState = 1;
    constructor() { socket = this; } close() {} send(text) { said.push(JSON.parse(text).type); }
  };
  const link = new Link({ hello: () => ({}), frame() {}, change() {}, pause_ms: () => 0 });
  link.open();
  socket.onmessage({ data: '{"type": "welcome"}' });
  const went = [link.send({ type: "before" })];
  socket.readyState = 2; // its end is on the way
  went.push(link.send({ type: "after" }));
  link.stop();
  window.WebSocket = Socket;
  return [went, said];
}"""


def test_what_is_said_when_the_other_end_has_said_goodbye_went_nowhere(still: Page) -> None:
    went, said = still.evaluate(GOODBYE, STATIC)
    assert (went, said) == ([True, False], ["before"])


def test_a_connection_nobody_answers_on_is_given_up(tabs: Tabs, fake: FakeGateway, choose: Choose) -> None:
    """The network forgot it and told nobody: it never closes, and nothing comes."""
    page = with_own_clock(tabs)
    fake.left_with(1)
    fake.kill_sockets()
    choose(page, 0)
    page.locator(".choosing .button.main").click()
    expect(page.get_by_role("heading", name="Asking for your seats")).to_be_visible()
    (silent,) = fake.buyers
    for _ in range(3):
        assert fake.buyers == [silent], "one silence may be a slow answer"
        page.clock.run_for(8_000)
    page.clock.run_for(1_000)
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    assert len(fake.holds) == 1


def test_who_is_in_line_notices_that_nobody_is_there(tabs: Tabs, fake: FakeGateway, choose: Choose) -> None:
    page = with_own_clock(tabs)
    fake.deciding = False
    ask_and_wait(page, choose)
    hellos = len(fake.asked("hello"))
    fake.kill_sockets()
    for _ in range(60):
        if page.locator(".connection").inner_text() != "" or len(fake.asked("hello")) > hellos:
            break
        page.clock.run_for(2_000)
    page.clock.run_for(1_000)
    expect(page.locator(".connection")).to_be_empty()
    expect(page.get_by_role("heading", name="You are in line")).to_be_visible()
    assert len(fake.asked("hello")) > hellos
    fake.decide_waiting()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()


def test_buying_on_a_dead_connection_is_said_on_a_new_one(
    tabs: Tabs, fake: FakeGateway, choose: Choose
) -> None:
    page = with_own_clock(tabs)
    choose(page, 0)
    page.locator(".choosing .button.main").click()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    page.clock.run_for(4_000)
    fake.kill_sockets()
    page.locator(".holding .button.main").click()
    for _ in range(12):
        page.clock.run_for(2_000)
    expect(page.locator(".orders")).to_be_visible()


def test_maps_that_are_read_at_once_lose_no_change(page: Page, fake: FakeGateway, tabs: Tabs) -> None:
    """A reconnect while the map is read: the first answer comes last, and is of before."""
    answers: list[Route] = []
    reads = "**/seats"

    def hold_up(route: Route) -> None:
        answers.append(route)

    page.route(reads, hold_up)
    for number in (1, 2):
        with page.expect_request(reads):
            fake.drop_sockets()
        while len(answers) < number:
            page.evaluate("() => 0")  # lets what the browser told be heard
    old, new = answers
    before = old.fetch()
    new.continue_()
    page.wait_for_function("() => document.querySelector('.connection').textContent === ''")
    fake.mark("s", list(range(len(fake.letters))))
    expect(page.get_by_role("heading", name="Sold out")).to_be_visible()
    with page.expect_response(reads):
        old.fulfill(response=before)
    fake.mark("h", [0])
    expect(page.get_by_text("1 seat on hold: it may come back.").first).to_be_visible()
    assert tabs.wrong == []


@pytest.mark.parametrize("demo", [True, False])
def test_where_the_browser_keeps_nothing_the_page_works(
    tabs: Tabs, fake: FakeGateway, choose: Choose, demo: bool
) -> None:
    fake.demo = demo
    page = tabs.open(own=True, ready=False)
    page.add_init_script(
        """for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, {
             get() { throw new DOMException("blocked", "SecurityError"); } });"""
    )
    page.goto("about:blank")
    page.goto(tabs.url + "/e/demo" + ("" if demo else "#token=token-of-ann"))
    choose(page, 0)
    page.locator(".choosing .button.main").click()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
