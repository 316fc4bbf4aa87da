"""The page of an order's tickets, on a real gateway: shown, printed, returned, given away, taken."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from notifier.tickets import KnownKeys, TicketKeys
from store import audit, sales
from tests.browser.axe import violations
from tests.browser.conftest import Profile, Tabs
from tests.browser.live_tickets import Live, ordered, running
from tests.gateway.rig import EVENT, token
from tests.gateway.tickets.box import TICKET_KEY
from tests.store.test_holds import HOLD, PLAN
from tests.store.tickets.holding import check_in

SAID = audit.said("Olga", "the show is off")
SEAT = PLAN.seats[3]
AREA = PLAN.areas[0].name


@pytest.fixture
def live(engine_urls) -> Iterator[Live]:
    with running(engine_urls) as there:
        yield there


@pytest.fixture
def tabs(profile: Profile, live: Live) -> Iterator[Tabs]:
    opened = Tabs(profile, live.url)
    yield opened
    opened.close()
    assert [said for said in opened.wrong if "Failed to load resource" not in said] == []


def opened(tabs: Tabs, live: Live, order: str = str(HOLD), buyer: str = "ann", **more: str) -> Page:
    page = tabs.open(live.path(order, buyer, **more), ready=False)
    page.wait_for_selector("[data-phase]:not([data-phase=loading])")
    return page


def one(page: Page, name: str):
    return page.locator(f".ticket[data-ticket='{name}']")


def test_each_ticket_says_where_to_go_and_has_its_code(tabs, live):
    page = opened(tabs, live)
    expect(page.get_by_role("heading", name="The gig")).to_be_visible()
    expect(page.locator(".ticket")).to_have_count(4)
    expect(page.locator(".ticket svg.qr path")).to_have_count(4)
    seat = one(page, "3")
    expect(seat).to_contain_text(PLAN.sections[SEAT.section].name)
    expect(seat.locator("dd")).to_have_text([SEAT.row, SEAT.number])
    expect(one(page, "0-2").locator("h2")).to_contain_text(AREA)
    expect(one(page, "0-2").locator("dd")).to_have_text("2")
    assert "token" not in page.url, "the token is taken out of the address"
    assert violations(page) == []


def test_the_code_on_the_page_is_the_tickets_token(tabs, live):
    """Scanned back from what is painted, module by module."""
    page = opened(tabs, live)
    path = one(page, "3").locator("svg.qr path").get_attribute("d")
    size = int(one(page, "3").locator("svg.qr").get_attribute("viewBox").split()[2]) - 8
    read = page.evaluate(
        """async (order) => {
          const token = JSON.parse(localStorage.getItem(order.key)).token;
          const answer = await fetch(order.path, { headers: { Authorization: `Bearer ${token}` } });
          return (await answer.json()).tickets[0];
        }""",
        {"key": f"onsale:{EVENT}", "path": f"/v1/events/{EVENT}/orders/{HOLD}/tickets"},
    )
    assert (path, size) == (read["qr"]["path"], read["qr"]["size"])
    assert KnownKeys(TicketKeys(TICKET_KEY).public).read(read["token"]).item.name == "3"


def test_a_ticket_is_returned_after_one_question_and_the_money_is_on_its_way(tabs, live):
    page = opened(tabs, live)
    one(page, "3").get_by_role("button", name="Return").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("You get")
    assert violations(page) == []
    dialog.get_by_role("button", name="Keep it").click()
    expect(page.locator(".ticket")).to_have_count(4)
    one(page, "3").get_by_role("button", name="Return").click()
    page.get_by_role("dialog").get_by_role("button", name="Return it").click()
    expect(page.locator(".notice")).to_contain_text("Returned.")
    expect(page.locator(".ticket")).to_have_count(3)
    expect(page.get_by_text("is on its way back to you")).to_be_visible()
    states = live.database(lambda conn: conn.execute("SELECT state FROM seat WHERE seat_no = 3").fetchone())
    assert states == ("available",)


def test_a_whole_order_is_returned(tabs, live):
    page = opened(tabs, live)
    page.get_by_role("button", name="Return the whole order").click()
    expect(page.get_by_role("dialog")).to_contain_text("Return all 4 tickets?")
    page.get_by_role("button", name="Return them").click()
    expect(page.get_by_text("This order was returned.")).to_be_visible()
    expect(page.locator(".ticket")).to_have_count(0)
    page.get_by_role("link", name="All your orders").click()
    expect(page.locator(".events")).to_contain_text("Returned")
    assert violations(page) == []


def test_a_ticket_is_given_by_a_link_and_taken_by_a_press(tabs, live):
    page = opened(tabs, live)
    one(page, "0-1").get_by_role("button", name="Give").click()
    link = one(page, "0-1").get_by_label("Link that gives the ticket").input_value()
    code = link.partition("code=")[2]
    other = opened(tabs, live, "claim", "bob", code=code)
    expect(other.get_by_role("heading", name="Somebody gives you a ticket")).to_be_visible()
    other.get_by_role("button", name="Take the ticket").click()
    expect(other.locator(".notice")).to_contain_text("It is yours.")
    expect(other.locator(".ticket")).to_have_count(1)
    expect(other.locator(".ticket svg.qr")).to_have_count(1)
    assert other.url.endswith(f"/tickets/{HOLD}")
    mine = opened(tabs, live)
    expect(one(mine, "0-1")).to_contain_text("Given to somebody else")
    expect(one(mine, "0-1").locator("svg")).to_have_count(0)
    expect(mine.get_by_role("button", name="Return the whole order")).to_have_count(0)


def test_an_offer_is_taken_back(tabs, live):
    page = opened(tabs, live)
    one(page, "4").get_by_role("button", name="Give").click()
    one(page, "4").get_by_role("button", name="Take the offer back").click()
    expect(one(page, "4").get_by_role("button", name="Give")).to_be_visible()
    expect(one(page, "4").locator(".offered")).to_have_count(0)


def test_a_code_that_was_used_is_said_to_be(tabs, live):
    page = opened(tabs, live)
    one(page, "3").get_by_role("button", name="Give").click()
    link = one(page, "3").get_by_label("Link that gives the ticket").input_value()
    code = link.partition("code=")[2]
    for buyer in ("bob", "carl"):
        last = opened(tabs, live, "claim", buyer, code=code)
        last.get_by_role("button", name="Take the ticket").click()
        expect(last.locator(".notice")).to_be_visible()
    expect(last.locator(".notice")).to_contain_text("Somebody used this code before you.")


def test_what_the_organiser_does_not_allow_is_not_offered(tabs, live):
    live.database(
        lambda conn: conn.execute("UPDATE event SET returns_allowed = false, transfers_allowed = false")
    )
    page = opened(tabs, live)
    expect(page.locator(".ticket")).to_have_count(4)
    expect(page.get_by_role("button", name="Return")).to_have_count(0)
    expect(page.get_by_role("button", name="Give")).to_have_count(0)


def test_a_ticket_that_was_used_says_so_and_stays(tabs, live):
    live.database(lambda conn: check_in(conn, live.event))
    page = opened(tabs, live)
    expect(one(page, "3").locator(".used")).to_contain_text("Used")
    expect(one(page, "3").get_by_role("button")).to_have_count(0)
    expect(page.get_by_role("button", name="Return the whole order")).to_have_count(0)


def test_a_refusal_is_told_in_the_servers_words(tabs, live):
    page = opened(tabs, live)
    live.database(lambda conn: check_in(conn, live.event))
    one(page, "3").get_by_role("button", name="Return").click()
    page.get_by_role("button", name="Return it").click()
    expect(page.locator(".notice")).to_contain_text("was used to come in")


def test_an_order_the_organiser_took_back_says_so(tabs, live):
    live.database(lambda conn: sales.take_back(conn, live.event, PLAN, HOLD, SAID))
    page = opened(tabs, live)
    expect(page.get_by_text("This order was returned.")).to_be_visible()
    expect(page.get_by_text("is on its way back to you")).to_be_visible()


def test_what_is_not_there_is_said_plainly(tabs, live):
    for order, buyer in ((str(HOLD), "bob"), (str(HOLD + 99), "ann"), ("claim", "ann")):
        page = opened(tabs, live, order, buyer)
        expect(page.get_by_role("heading", name="There is nothing of yours here")).to_be_visible()


def test_who_is_not_known_is_told_what_to_do(tabs, live):
    page = tabs.open(f"/e/{EVENT}/tickets/{HOLD}", ready=False)
    expect(page.get_by_role("heading", name="We do not know who you are here")).to_be_visible()
    late = tabs.open(f"/e/{EVENT}/tickets/{HOLD}#token={token('ann', seconds=-600)}", ready=False)
    expect(late.get_by_role("heading", name="You are signed out")).to_be_visible()


def test_orders_are_listed_and_lead_to_their_tickets(tabs, live):
    ordered(live, HOLD + 1, seats=(10,), places=0)
    page = opened(tabs, live, "")
    expect(page.locator(".events li")).to_have_count(2)
    page.get_by_role("link", name="4 tickets").click()
    expect(page.locator(".ticket")).to_have_count(4)


def test_the_page_says_what_was_lost_while_the_server_is_away(tabs, live):
    page = opened(tabs, live)
    page.route("**/transfer", lambda route: route.abort())
    one(page, "3").get_by_role("button", name="Give").click()
    expect(page.locator(".connection.away")).to_contain_text("tries again by itself")
    page.unroute("**/transfer")
    expect(one(page, "3").locator(".offered")).to_be_visible()
    expect(page.locator(".connection.away")).to_have_count(0)


def test_nothing_runs_out_of_the_page(tabs, live):
    page = tabs.open(live.path(), ready=False, width=360, height=800)
    page.wait_for_selector("[data-phase=order]")
    one(page, "3").get_by_role("button", name="Give").click()
    expect(one(page, "3").locator(".offered")).to_be_visible()
    sizes = page.locator(".ticket button:visible").evaluate_all("all => all.map(one => one.offsetHeight)")
    assert min(sizes) >= 40
    for width in (360, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_code_is_dark_on_white_in_the_dark_too(tabs, live):
    page = tabs.open(live.path(), ready=False, color_scheme="dark")
    page.wait_for_selector("[data-phase=order]")
    svg = one(page, "3").locator("svg.qr")
    assert svg.locator("rect").get_attribute("fill") == "#fff"
    assert svg.locator("path").get_attribute("fill") == "#000"


def test_on_paper_each_ticket_is_enough_by_itself(tabs, live):
    page = opened(tabs, live)
    page.emulate_media(media="print")
    for name in ("3", "0-2"):
        expect(one(page, name).locator(".ticket-event")).to_be_visible()
        expect(one(page, name).locator("svg.qr")).to_be_visible()
    expect(page.get_by_role("button", name="Print")).to_be_hidden()
    expect(one(page, "3").locator(".ticket-acts")).to_be_hidden()
    broken = one(page, "3").evaluate("one => getComputedStyle(one).breakInside")
    assert broken == "avoid"
    assert len(io.BytesIO(page.pdf()).getvalue()) > 5_000
    page.emulate_media(media="screen")


def test_the_page_of_an_order_that_cannot_be_has_no_address(tabs, live):
    page = tabs.open(f"/e/{EVENT}/tickets/0x", ready=False)
    assert page.evaluate("document.querySelector('#app') === null")
