"""Proof of work in a browser: beside the page, in it where there are no workers, only while it is wanted."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway
from tests.browser.fake_room import FakeRoom

pytestmark = pytest.mark.browser

WORKER = "proofworker.js"
FAR = 900_000
"""A counter that no test waits for."""


@pytest.fixture
def room() -> FakeRoom:
    return FakeRoom(proof_counter=150)


@pytest.fixture
def fake(room: FakeRoom) -> FakeGateway:
    return FakeGateway(state="lobby", room=room)


def join(page: Page) -> None:
    page.get_by_role("button", name="Join", exact=True).click()


def joined(page: Page) -> None:
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()


def test_it_is_found_beside_the_page_by_a_worker_that_ends(
    page: Page, fake: FakeGateway, room: FakeRoom
) -> None:
    with page.expect_worker() as worker:
        join(page)
    assert worker.value.url.endswith(f"/core/{WORKER}")
    joined(page)
    assert page.workers == []
    assert [("proof" in frame) for frame in fake.asked("join")] == [False, True]


@pytest.mark.parametrize("without", ["workers", "modules in workers"])
def test_where_workers_cannot_do_it_the_page_does(tabs: Tabs, fake: FakeGateway, without: str) -> None:
    page = tabs.open(own=True)
    if without == "workers":
        page.evaluate("delete window.Worker")
    else:
        page.route(f"**/{WORKER}", lambda route: route.fulfill(body="%", content_type="text/javascript"))
    join(page)
    joined(page)
    assert page.workers == []
    assert len(fake.asked("join")) == 2


def test_who_does_not_want_it_any_more_stops_it_and_may_begin_anew(
    page: Page, fake: FakeGateway, room: FakeRoom
) -> None:
    room.proof_counter = FAR
    with page.expect_worker() as worker:
        join(page)
    expect(page.get_by_text("Your browser proves that you are no robot.")).to_be_visible()
    assert violations(page) == []
    with worker.value.expect_event("close"):
        page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped. You have not joined.")).to_be_visible()
    expect(page.get_by_role("button", name="Join", exact=True)).to_be_focused()
    room.proof_counter = 150
    join(page)
    joined(page)
    assert [("proof" in frame) for frame in fake.asked("join")] == [False, False, True]


_COUNTED = """() => {
  delete window.Worker;
  window.keys = 0;
  const derive = crypto.subtle.deriveBits.bind(crypto.subtle);
  crypto.subtle.deriveBits = (...all) => { window.keys += 1; return derive(...all); };
}"""


def test_where_workers_are_missing_it_stops_too(page: Page, room: FakeRoom) -> None:
    room.proof_counter = FAR
    page.evaluate(_COUNTED)
    join(page)
    page.evaluate("""async () => {
      while (window.keys <= 200) await new Promise((done) => setTimeout(done));
    }""")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped. You have not joined.")).to_be_visible()
    counted = page.evaluate("""async () => {
      const keys = window.keys;
      for (let frame = 0; frame < 30; frame += 1) await new Promise(requestAnimationFrame);
      return window.keys - keys;
    }""")
    assert counted <= 64, "no more than the round that was under way"


def test_a_proof_that_was_refused_is_found_anew_but_not_for_ever(
    page: Page, fake: FakeGateway, room: FakeRoom
) -> None:
    room.proof_counter = 150
    room.proofs_refused = ["proof_not_valid", "proof_used"]
    join(page)
    joined(page)
    assert len(fake.asked("join")) == 4
    assert room.challenges == 3

    page.get_by_role("button", name="Leave the line").click()
    page.get_by_role("button", name="Leave for good").click()
    room.proofs_refused = ["proof_expired"] * 3
    join(page)
    expect(page.get_by_text("That did not work: Prove that a computer worked.").first).to_be_visible()
    assert room.challenges == 6
