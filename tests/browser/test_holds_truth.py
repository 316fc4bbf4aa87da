"""What the page says of a hold is what the server said of it: after a reply that was lost, a reload, a
reconnect, a pause and an outage. Of money nothing is said that is not known.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway
from tests.browser.test_holds_page import hold_four

pytestmark = pytest.mark.browser

BUY = ".holding .button.main"
EVERY_NOTICE = """() => {
  window.told = [];
  const look = () => window.told.push(document.querySelector(".notice")?.textContent ?? "");
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


def told(page: Page) -> str:
    """All that notices said since `EVERY_NOTICE`."""
    return "\n".join(page.evaluate("() => window.told"))


def now_ms() -> int:
    return int(time.time() * 1000)


def ends_now(fake: FakeGateway, name: str) -> None:
    """The page hears that the hold ends at once; what the server then makes of it is the test's."""
    fake.holds[name].expires_at = now_ms() + 1
    fake.send_all(
        {"type": "hold", "hold": name, "state": "active", "expires_at": fake.holds[name].expires_at}
    )


def away(page: Page, fake: FakeGateway, meanwhile: Callable[[], None]) -> None:
    """The connection goes, something happens, and it comes back."""
    fake.serving = False
    fake.drop_sockets()
    expect(page.locator(".connection")).to_contain_text("Reconnecting")
    meanwhile()
    fake.serving = True
    expect(page.locator(".connection")).to_be_empty()


def test_a_payment_whose_answer_was_lost_is_asked_again_and_never_denied(
    page: Page, fake: FakeGateway
) -> None:
    hold_four(page)
    page.evaluate(EVERY_NOTICE)
    fake.replies_lost = 2
    page.locator(BUY).click()
    expect(page.locator(".notice")).to_contain_text("We do not know yet whether it was bought.")
    expect(page.locator(BUY)).to_be_disabled()
    expect(page.locator(".notice")).to_contain_text("They are yours.")
    expect(page.locator(".orders")).to_be_visible()
    assert len(fake.asked("confirm")) == 3
    assert "Nothing was" not in told(page)


def test_a_payment_whose_answer_was_lost_is_asked_again_after_a_reload(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    fake.replies_lost = 1_000
    page.locator(BUY).click()
    expect(page.locator(".notice")).to_contain_text("We do not know yet whether it was bought.")
    page.reload()
    expect(page.locator(".notice")).to_contain_text("We do not know yet whether it was bought.")
    fake.replies_lost = 0
    expect(page.locator(".orders")).to_be_visible()


def test_some_given_back_with_a_lost_answer_are_given_back_once(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    fake.replies_lost = 1
    page.get_by_role("button", name="Give some back").click()
    page.locator(".some input").first.check()
    page.get_by_role("button", name="Give 1 back").click()
    expect(page.locator(".notice")).to_contain_text("We do not know yet whether it was given back.")
    expect(page.locator(".notice")).to_contain_text("Given back in part.")
    expect(page.locator(".holding .mine li")).to_have_count(3)
    (hold,) = fake.holds.values()
    assert len(hold.seats) == 3


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("paid", "They are yours."),
        ("released", "Given back."),
        ("refunded", "The organiser took"),
        ("expired", "Your time ran out."),
        ("gone", "not held for you any more"),
    ],
)
def test_what_became_of_a_hold_elsewhere_is_learnt_on_return(
    page: Page, fake: FakeGateway, state: str, sentence: str
) -> None:
    hold_four(page)
    (name,) = fake.holds

    def meanwhile() -> None:
        fake.holds[name].state = state
        if state == "gone":
            del fake.holds[name]

    away(page, fake, meanwhile)
    expect(page.locator(".notice")).to_contain_text(sentence)
    expect(page.locator(".holding")).to_have_count(0)
    expect(page.locator(".orders")).to_have_count(1 if state == "paid" else 0)
    extends = fake.asked("extend")
    assert {frame["expires_at"] for frame in extends} == {0}, "more time was never asked for"


@pytest.mark.parametrize("extensions_max", [0, 1])
def test_a_look_adds_no_time(page: Page, fake: FakeGateway, extensions_max: int) -> None:
    fake.extensions_max = extensions_max
    page.reload()
    hold_four(page)
    (hold,) = fake.holds.values()
    ends = hold.expires_at
    page.reload()
    fake.hear("extend")
    expect(page.locator(".holding .mine li")).to_have_count(4)
    assert (hold.expires_at, hold.extensions) == (ends, 0)
    expect(page.locator(".more-time")).to_have_count(extensions_max)


def test_a_hold_does_not_end_while_nobody_is_there_to_ask(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    page.evaluate(EVERY_NOTICE)
    (name,) = fake.holds
    fake.refusing_holds = "busy"  # it may ask before the connection goes
    ends_now(fake, name)
    fake.holds[name].expires_at = now_ms() + 300_000

    def meanwhile() -> None:
        expect(page.locator(".countdown-figures")).to_have_text("0:00")
        expect(page.locator(".connection")).to_contain_text("What you see may be a moment old.")

    away(page, fake, meanwhile)
    fake.refusing_holds = ""
    expect(page.locator(".countdown-figures")).to_contain_text("4:")
    assert "ran out" not in told(page)


def test_what_seems_over_and_runs_still_is_not_told_as_over(page: Page, fake: FakeGateway) -> None:
    """In an outage a hold can be paid after its end: the time is given back."""
    hold_four(page)
    (name,) = fake.holds
    fake.outage_since = now_ms() - 1_000
    ends_now(fake, name)
    expect(page.get_by_text("We ask whether this is still yours.")).to_be_visible()
    assert fake.hear("extend")[0] == {"type": "extend", "hold": name, "expires_at": 0}
    page.locator(BUY).click()
    expect(page.locator(".notice")).to_contain_text("They are yours.")


def test_what_seems_over_is_asked_for_until_it_is(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    (name,) = fake.holds
    fake.outage_since = now_ms() - 1_000
    ends_now(fake, name)
    fake.hear("extend")
    expect(page.get_by_text("We ask whether this is still yours.")).to_be_visible()
    fake.outage_since = 0
    expect(page.locator(".notice")).to_contain_text("Your time ran out.")


def test_who_comes_during_a_pause_is_not_told_that_the_time_ran_out(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    (hold,) = fake.holds.values()
    hold.expires_at = now_ms() - 60_000
    fake.become("paused", telling=False)
    fake.paused_at = hold.expires_at - 120_000  # two minutes were left
    page.reload()
    expect(page.get_by_text("Your time stands still.")).to_be_visible()
    page.evaluate(EVERY_NOTICE)
    fake.become("open")
    expect(page.locator(".countdown-figures")).to_contain_text("1:5")
    assert "ran out" not in told(page)
    assert hold.extensions == 0


def test_how_long_is_left_in_a_pause_is_remembered(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    fake.become("paused")
    expect(page.get_by_text("Your time stands still.")).to_be_visible()
    page.evaluate(
        """() => {
          const key = "onsale:demo";
          const known = JSON.parse(sessionStorage.getItem(key));
          known.paused_at -= 60_000;
          for (const hold of known.holds) hold.expires_at -= 60_000;
          sessionStorage.setItem(key, JSON.stringify(known));
        }"""
    )
    (hold,) = fake.holds.values()
    hold.expires_at -= 60_000
    left = page.locator(".countdown-figures").inner_text()
    page.reload()
    expect(page.get_by_text("Your time stands still.")).to_be_visible()
    expect(page.locator(".countdown-figures")).to_have_text(left)


def test_a_pause_that_was_missed_is_learnt_on_return(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    (hold,) = fake.holds.values()

    def meanwhile() -> None:
        hold.expires_at += 600_000

    away(page, fake, meanwhile)
    expect(page.locator(".countdown-figures")).to_contain_text("17:5")


def test_a_payment_answered_after_the_hold_seemed_over_counts(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    (name,) = fake.holds
    ends_now(fake, name)
    expect(page.locator(".notice")).to_contain_text("Your time ran out.")
    fake.send_all({"type": "hold", "hold": name, "state": "paid"})
    expect(page.locator(".notice")).to_contain_text("They are yours.")
    expect(page.locator(".orders")).to_be_visible()


def test_a_tab_that_was_away_learns_what_another_bought(tabs: Tabs, fake: FakeGateway) -> None:
    fake.demo = False
    one = tabs.open("/e/demo#token=token-of-ann")
    hold_four(one)
    (hold,) = fake.holds.values()
    one.goto("about:blank")
    hold.state = "paid"
    one.goto(tabs.url + "/e/demo")
    expect(one.locator(".orders")).to_be_visible()
    expect(one.locator(".holding")).to_have_count(0)
