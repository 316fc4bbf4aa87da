"""The draw's page on a real gateway: without a script, for everybody; what it downloads is what stands."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from playwright.sync_api import Page, expect

from store import events
from store.room import draw
from store.room.published import check
from store.words import EventState
from tests.browser.axe import violations
from tests.browser.conftest import Profile, Tabs
from tests.browser.live import serving
from tests.gateway.rig import EVENT, Served
from tests.store.room.rooming import begin_sale, make_room

pytestmark = pytest.mark.browser

PAGE = f"/e/{EVENT}/draw"
WIDTHS = (320, 360, 768, 1280)


@pytest.fixture
def conn(engine_urls) -> Iterator[psycopg.Connection]:
    with psycopg.connect(engine_urls.database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def event(conn) -> int:
    number: int = make_room(conn, EVENT)
    conn.execute(
        "INSERT INTO place (event_id, buyer, in_draw) SELECT %s, 'b' || n, true"
        " FROM generate_series(1, 30) AS n", (number,),
    )  # fmt: skip
    return number


@pytest.fixture
def served(engine_urls, event) -> Iterator[Served]:
    with serving(engine_urls) as there:
        yield there


@pytest.fixture
def tabs(profile: Profile, served: Served) -> Iterator[Tabs]:
    opened = Tabs(profile, f"http://127.0.0.1:{served.port}")
    yield opened
    opened.close()
    assert opened.wrong == []


def place_at(conn, position: int) -> str:
    row = conn.execute("SELECT place_id::text FROM line WHERE position = %s", (position,)).fetchone()
    return str(row[0])


def fits(page: Page) -> bool:
    wide: bool = page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    return wide


def test_a_buyer_looks_up_where_they_stood_and_checks_the_list(tabs, conn, event, tmp_path):
    begin_sale(conn, event, EVENT)
    mine = place_at(conn, 17)
    page = tabs.open(PAGE, ready=False, java_script_enabled=False)
    page.get_by_label("Your place’s name").fill(mine)
    page.get_by_role("button", name="Look it up").click()
    expect(page.get_by_role("status")).to_have_text("It stood at 17 in the line.")
    assert page.url.endswith(f"{PAGE}?place={mine}")
    expect(page.get_by_label("Your place’s name")).to_have_value(mine)
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download the list").click()
    path = tmp_path / downloading.value.suggested_filename
    downloading.value.save_as(path)
    told = check(path.read_text().splitlines)
    assert (path.name, told.faults, told.places) == (f"draw-{EVENT}.csv", [], 30)


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_at_each_stage_it_is_for_everybody_and_nothing_is_cut_off(tabs, served, conn, event, colours):
    page = tabs.open(PAGE, ready=False, color_scheme=colours)

    def looks_right(heading: str) -> None:
        served.app.api.state.draws._kept.clear()  # what it read less than a second ago
        page.goto(f"{tabs.url}{PAGE}?place={'x' * 60}")
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert fits(page), f"{heading} at {width}"
        assert violations(page) == []

    looks_right("Not drawn yet")
    events.set_state(conn, EVENT, EventState.OPEN)
    looks_right("The places are being drawn")
    draw.draw(conn, event)
    looks_right("30 places were drawn")


def test_by_keyboard_alone_the_form_is_filled_and_sent(tabs, conn, event):
    begin_sale(conn, event, EVENT)
    page = tabs.open(PAGE, ready=False)
    page.keyboard.press("Tab")
    page.keyboard.type(place_at(conn, 3))
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("It stood at 3 in the line.")
