"""The waiting room where a network lets no websocket through: the same by a stream of events or by asking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route, WebSocketRoute, expect

from tests.browser.conftest import Call, Profile, Tabs
from tests.browser.fake_gateway import FakeGateway
from tests.browser.fake_room import FakeRoom

pytestmark = pytest.mark.browser

STREAM = "**/room/stream"
OF_THE_NETWORK = (
    "WebSocket connection to",
    "Failed to load resource: net::ERR",
    "status of 4",
    "status of 503",
)
"""What browsers write of what does not get through, and of answers that say no."""
WAYS = ("events", "poll")


_LATER = """async () => {
  for (let frame = 0; frame < 10; frame += 1) await new Promise(requestAnimationFrame);
}"""
"""What came is shown by then."""


@pytest.fixture
def room() -> FakeRoom:
    return FakeRoom()


@pytest.fixture
def fake(room: FakeRoom) -> FakeGateway:
    return FakeGateway(state="lobby", room=room, refusing_sockets=True)


@pytest.fixture
def tabs(profile: Profile, url: str) -> Iterator[Tabs]:
    opened = Tabs(profile, url)
    yield opened
    opened.close()
    assert [said for said in opened.wrong if not any(one in said for one in OF_THE_NETWORK)] == []


Blocked = Callable[[str], tuple[Page, Counter[str]]]


@pytest.fixture
def blocked(tabs: Tabs, fake: FakeGateway) -> Blocked:
    """A page in such a network, and the calls it makes from then on."""

    def enter(way: str) -> tuple[Page, Counter[str]]:
        calls: Counter[str] = Counter()

        def note(request: Request) -> None:
            if f"/v1/events/{fake.slug}" in request.url:
                path = request.url.split(f"/v1/events/{fake.slug}")[1].split("?")[0]
                calls[f"{request.method} {path}"] += 1

        def prepare(page: Page) -> None:
            page.on("request", note)
            if way == "poll":
                page.route(STREAM, lambda route: route.abort())

        page = tabs.open(own=True, prepare=prepare)
        page.wait_for_selector("[data-topic=lobby]")
        return page, calls

    return enter


def look(page: Page) -> None:
    """What the page would look at in a while, it looks at after what came now: the network is back."""
    page.evaluate(_LATER)
    page.evaluate("dispatchEvent(new Event('online'))")


def in_line(page: Page, room: FakeRoom) -> None:
    """Joins before the sale begins, and is drawn."""
    press(page, "Join")
    heading(page, "You are in")
    room.draw(rate=120.0)
    look(page)
    heading(page, "You are in line")


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def heading(page: Page, name: str) -> None:
    expect(page.get_by_role("heading", name=name)).to_be_visible()


@pytest.mark.parametrize("way", WAYS)
def test_from_the_lobby_to_a_bought_seat(
    blocked: Blocked, fake: FakeGateway, room: FakeRoom, way: str
) -> None:
    page, calls = blocked(way)
    in_line(page, room)
    expect(page.locator(".line-number")).to_contain_text("1,204")
    room.tell(serving=600, message="A word to all.")
    look(page)
    expect(page.get_by_text("603 people are ahead of you", exact=True)).to_be_visible()
    expect(page.locator(".room-message")).to_contain_text("A word to all.")
    room.admit()
    look(page)
    expect(page.get_by_role("heading", name="It is your turn")).to_be_focused()
    press(page, "Choose my seats")
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_focused()
    press(page, "Best available")
    page.locator(".choosing .button.main").click()
    heading(page, "Held for you")
    page.get_by_role("button", name="Buy ·").click()
    expect(page.locator(".orders")).to_be_visible()
    assert fake.asked("hello") == [], "no socket was greeted"
    assert calls["POST /room/join"] == calls["POST /room/begin"] == calls["POST /requests"] == 1
    assert calls["GET /room/stream"] == {"events": 1, "poll": 2}[way], "one that is let through stays"


@pytest.mark.parametrize("way", WAYS)
def test_a_socket_that_gets_through_again_is_the_only_way(
    blocked: Blocked, fake: FakeGateway, room: FakeRoom, way: str
) -> None:
    page, calls = blocked(way)
    in_line(page, room)
    fake.refusing_sockets = False
    look(page)
    fake.hear("hello")
    room.tell(serving=600)
    expect(page.get_by_text("603 people are ahead of you", exact=True)).to_be_visible()
    calls.clear()
    for serving in (700, 800):
        look(page)  # whoever still asks or reads would go on at once
        room.tell(serving=serving)
        expect(page.get_by_text(f"{1_203 - serving} people are ahead of you", exact=True)).to_be_visible()
    assert not calls.keys() & {"GET ", "GET /room", "GET /room/stream"}, "nothing goes around any more"
    assert len(fake.buyers) == 1
    room.admit()
    press(page, "Choose my seats")
    heading(page, "Choose your seats")
    assert len(fake.asked("begin")) == 1


def test_a_socket_is_tried_now_and_then(tabs: Tabs, fake: FakeGateway) -> None:
    page = tabs.open(own=True, prepare=lambda page: page.clock.install())
    page.wait_for_selector("[data-topic=lobby]")
    fake.refusing_sockets = False
    page.clock.fast_forward(21_000)
    fake.hear("hello")


def test_a_socket_of_which_nothing_comes_is_gone_around(tabs: Tabs, fake: FakeGateway) -> None:
    fake.refusing_sockets = False
    opened: list[WebSocketRoute] = []

    def say_nothing(socket: WebSocketRoute) -> None:
        opened.append(socket)

    def prepare(page: Page) -> None:
        page.clock.install()
        page.route_web_socket("**/v1/socket", say_nothing)

    page = tabs.open(ready=False, own=True, prepare=prepare)
    while not opened:
        page.wait_for_timeout(20)
    page.clock.fast_forward(13_000)
    page.wait_for_selector("[data-topic=lobby]")
    assert fake.asked("hello") == []


def test_a_gateway_that_is_away_is_no_network_that_blocks(
    tabs: Tabs, fake: FakeGateway, room: FakeRoom
) -> None:
    fake.refusing_sockets = False
    page = tabs.open(own=True)
    in_line(page, room)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.route("**/v1/**", lambda route: route.abort())
    fake.refusing_sockets = True
    fake.drop_sockets()
    with page.expect_request("**/v1/events/demo"):
        expect(page.get_by_text("You are still in line. Reconnecting…")).to_be_visible()
    with page.expect_request("**/v1/events/demo"):
        look(page)
    fake.refusing_sockets = False
    room.serving = 1_000
    look(page)
    expect(page.get_by_text("203 people are ahead of you", exact=True)).to_be_visible()
    assert not [url for url in asked if url.endswith(("/room", "/stream"))], "nothing went around"


def test_an_outage_on_the_way_around_costs_no_place(
    blocked: Blocked, fake: FakeGateway, room: FakeRoom
) -> None:
    page, calls = blocked("events")
    in_line(page, room)
    page.route("**/v1/**", lambda route: route.abort())
    fake.drop_sockets()
    expect(page.get_by_text("You are still in line. Reconnecting…")).to_be_visible()
    expect(page.locator(".line-number")).to_contain_text("1,204")
    room.serving = 1_000
    page.unroute("**/v1/**")
    look(page)
    expect(page.get_by_text("203 people are ahead of you", exact=True)).to_be_visible()
    assert calls["POST /room/join"] == 1


def test_who_asks_is_answered_with_what_is_new_and_nothing_else(blocked: Blocked, room: FakeRoom) -> None:
    page, calls = blocked("poll")
    press(page, "Join")
    heading(page, "You are in")
    answers: list[int] = []
    page.on(
        "response", lambda answer: answers.append(answer.status) if answer.url.endswith("/room") else None
    )
    calls.clear()
    for changes in ({}, {}, {"joined": 2_000}, {}):
        if changes:
            room.tell(**changes)
        with page.expect_response("**/v1/events/demo/room"):
            look(page)
    expect(page.get_by_text("2,000 people have joined")).to_be_visible()
    assert answers.count(200) <= 2, "as it was after the join, and what was told since"
    assert calls["GET /room/place"] == answers.count(200)
    assert calls["GET /room"] == len(answers)
    assert set(calls) <= {"GET /room", "GET /room/place", "GET /room/stream"}


def test_leaving_and_wishes_go_around_too(blocked: Blocked, fake: FakeGateway, room: FakeRoom) -> None:
    room.ballot = "filing"
    page, calls = blocked("events")
    press(page, "Join")
    press(page, "File my wish")
    heading(page, "Your wish is filed")
    press(page, "Withdraw my wish")
    press(page, "File my wish")
    heading(page, "Your wish is filed")
    press(page, "Leave the line")
    press(page, "Leave for good")
    expect(page.get_by_role("button", name="Join", exact=True)).to_be_visible()
    assert (calls["PUT /room/wish"], calls["POST /room/leave"]) == (3, 1)


def test_a_busy_gateway_is_asked_again_when_it_says(blocked: Blocked, room: FakeRoom) -> None:
    room.refusing = {"code": "joins_full", "message": "Many join.", "retry_after": 1}
    page, calls = blocked("events")
    press(page, "Join")
    expect(page.get_by_text("Very many join in this moment.")).to_be_visible()
    heading(page, "You are in")
    assert calls["POST /room/join"] == 2


def test_a_sign_in_that_ended_ends_it_there_too(blocked: Blocked, tabs: Tabs) -> None:
    page, calls = blocked("poll")
    page.unroute(STREAM)
    page.route(STREAM, lambda route: route.fulfill(status=401, body="{}"))
    page.reload()
    heading(page, "Your sign-in has ended")
    asked = calls.total()
    look(page)
    assert calls.total() == asked, "and nothing is asked any more"


def test_an_answer_from_before_what_was_done_is_not_believed(
    blocked: Blocked, fake: FakeGateway, room: FakeRoom
) -> None:
    page, _ = blocked("poll")
    in_line(page, room)
    room.admit()
    look(page)
    heading(page, "It is your turn")
    late: list[Callable[[], None]] = []

    def keep(route: Route) -> None:
        body = route.fetch().text()
        late.append(lambda: route.fulfill(body=body, content_type="application/json"))

    page.route("**/room/place", keep)
    with page.expect_request("**/room/place"):
        room.tell(joined=2_000)
        look(page)
    press(page, "Choose my seats")
    heading(page, "Choose your seats")
    before, *since = late
    with page.expect_response("**/room/place"):
        before()
    page.evaluate(_LATER)
    expect(page.get_by_role("heading", name="It is your turn")).to_have_count(0)
    for answer in since:
        answer()
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_visible()


def test_an_answer_that_news_have_overtaken_takes_nothing_back(blocked: Blocked, room: FakeRoom) -> None:
    """The stream tells of the place before the join is answered, and of the draw, too."""
    page, calls = blocked("events")
    late: list[Callable[[], None]] = []

    def keep(route: Route) -> None:
        body = route.fetch().text()
        late.append(lambda: route.fulfill(body=body, content_type="application/json"))

    page.route("**/room/join", keep)
    in_line(page, room)
    (answer,) = late
    with page.expect_response("**/room/place"):
        answer()
    page.evaluate(_LATER)
    expect(page.locator(".line-number")).to_contain_text("1,204")
    assert calls["POST /room/join"] == 1


def test_who_chooses_sees_what_others_take_and_a_pause(
    blocked: Blocked, fake: FakeGateway, room: FakeRoom, choose: Callable[[Page, int], None]
) -> None:
    page, _ = blocked("events")
    in_line(page, room)
    room.admit()
    press(page, "Choose my seats")
    choose(page, 0)
    fake.mark("s", [0])
    look(page)
    expect(page.get_by_text("just taken").first).to_be_visible()
    fake.state = "paused"
    look(page)
    expect(page.get_by_role("heading", name="The sale is paused")).to_be_visible()


def test_a_decision_that_takes_long_is_waited_for(
    blocked: Blocked, fake: FakeGateway, room: FakeRoom, choose: Callable[[Page, int], None]
) -> None:
    fake.deciding = False
    page, calls = blocked("events")
    in_line(page, room)
    room.admit()
    press(page, "Choose my seats")
    choose(page, 0)
    page.locator(".choosing .button.main").click()
    heading(page, "You are in line")
    fake.decide_waiting()
    heading(page, "Held for you")
    assert calls["POST /requests"] == 1
    page.reload()
    heading(page, "Held for you")


class TestWithoutRoom:
    @pytest.fixture
    def fake(self) -> FakeGateway:
        return FakeGateway(refusing_sockets=True)

    def test_seats_are_bought_around_a_blocked_socket_too(self, tabs: Tabs, fake: FakeGateway) -> None:
        page = tabs.open(own=True)
        press(page, "Best available")
        page.locator(".choosing .button.main").click()
        heading(page, "Held for you")
        press(page, "Give all back")
        heading(page, "Choose your seats")
        assert fake.asked("hello") == []


@pytest.mark.parametrize(
    ("story", "ends"),
    [
        ([], "socket"),
        (["refused"], "socket"),
        (["refused", "refused"], "events"),
        (["silent"], "events"),
        (["refused", "closed", "refused"], "socket"),
        (["refused", "greeted", "refused"], "socket"),
        (["closed", "closed", "closed", "closed"], "socket"),
        (["silent", "away", "refused"], "socket"),
        (["silent", "ended", "heard", "ended"], "events"),
        (["silent", "ended", "ended"], "poll"),
        (["silent", "ended", "ended", "refused", "silent"], "poll"),
        (["silent", "ended", "ended", "polled_long"], "events"),
        (["silent", "ended", "ended", "polled_long", "ended"], "poll"),
        (["silent", "ended", "ended", "greeted"], "socket"),
    ],
)
def test_which_way_is_taken(call: Call, story: list[str], ends: str) -> None:
    choice: Any = {"way": "socket", "failed": 0}
    for happened in story:
        choice = call("core/waychoice", "after", choice, happened)
    assert choice["way"] == ends


def test_who_is_far_away_asks_more_rarely(call: Call) -> None:
    def seconds(phase: str, position: int | None, *, rate: float | None = 60, state: str = "waiting") -> Any:
        status = {"phase": phase, "serving": 0, "serving_priority": 0, "rate": rate}
        place = {"state": state, "lane": "ordinary", "position": position}
        return call("core/news", "lookAfterSeconds", status, place)

    near, minutes, hours = (seconds("admitting", at) for at in (30, 900, 90_000))
    assert near < minutes < hours
    assert hours <= 30, "a time to begin is not missed"
    assert seconds("drawing", None) == seconds("ballot", 900) == near
    assert seconds("lobby", None) > seconds("admitting", 90_000, rate=None) > near
    assert seconds("admitting", 1, state="admitted") < hours
    assert call("core/news", "lookAfterSeconds", None, None) == near


def test_events_are_read_as_they_come_in_pieces(call: Call) -> None:
    text = 'retry: 2000\n\n:\n\nevent: room\ndata: {"type":"room"}\n\nevent: place\r\ndata: {"ty'
    read = call("core/news", "eventsIn", text)
    assert read["frames"] == [{"type": "room"}]
    assert call("core/news", "eventsIn", read["rest"] + 'pe":"place"}\n\n')["frames"] == [{"type": "place"}]


def test_a_refusal_is_the_frame_a_socket_would_bring(call: Call) -> None:
    def frame(of: Any, status: int, body: Any, retry: int = 0) -> Any:
        answer = {"status": status, "body": body, "retry_seconds": retry}
        return call("core/errands", "frameOf", of, answer)

    no = {"code": "hold_expired", "detail": "It ran out."}
    told = {"type": "error", "code": "hold_expired", "message": "It ran out."}
    assert frame({"type": "confirm", "hold": "7"}, 409, no) == {**told, "hold": "7"}
    busy = {"code": "lagging", "detail": "Later."}
    assert frame({"type": "request", "id": "r1"}, 503, busy, 9)["retry_after"] == 9
    assert frame({"type": "join"}, 503, busy)["retry_after"] > 0, "what passes is asked again"
    assert frame({"type": "waiting"}, 503, busy) is None
    gone = {"code": "not_queued", "detail": "-", "id": "r1", "reason": "none_left"}
    assert frame({"type": "request", "id": "r1"}, 409, gone) == {
        "type": "not_queued", "id": "r1", "reason": "none_left"
    }  # fmt: skip
    unknown = {"code": "unknown_request", "detail": "-"}
    assert frame({"type": "request", "id": "r1"}, 404, unknown) == {"type": "unknown", "id": "r1"}
