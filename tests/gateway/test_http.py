"""HTTP for buyers: the same answers as the socket, problems with stable codes, an OpenAPI that is true."""

from __future__ import annotations

import asyncio
import json

import psycopg
import pytest

from gateway import openapi
from gateway.api import create_api
from gateway.buyers.decode import request_schema
from gateway.settings import Settings
from store import events
from store.wire import stream_key
from store.words import EventState, Want
from tests.gateway.rig import EVENT, SEATS, SECRET, StandIn, gateway, make_event, scenario, token, until

PATH = f"/v1/events/{EVENT}/requests"


@pytest.fixture
def event(database_url):
    return make_event(database_url)


def bearer(buyer="ann"):
    return {"Authorization": f"Bearer {token(buyer)}"}


# asking


@scenario
async def test_a_request_is_accepted_and_its_decision_found_where_it_says(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event):
        accepted = await served.post({"seats": [SEATS[0]]})
        assert accepted.status == 202
        assert accepted.headers["location"] == f"{PATH}/r1"
        answer = await served.http("GET", f"{PATH}/r1?wait_ms=5000", headers=bearer())
        assert answer.status == 200
        assert answer.json()["outcome"] == "held"
        assert answer.json()["arrival"] == accepted.json()["arrival"]


@scenario
async def test_a_repeated_post_is_accepted_again_without_a_second_entry(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        first = await served.post({"seats": [SEATS[0]]})
        await served.http("GET", f"{PATH}/r1?wait_ms=5000", headers=bearer())
        again = await served.post({"seats": [SEATS[0]]})
        assert (again.status, again.body) == (first.status, first.body)
        assert len(allocator.read) == 1


@pytest.mark.parametrize("decided", [True, False])
@scenario
async def test_a_key_with_other_content_is_refused(engine_urls, event, decided):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = decided
        await served.post({"seats": [SEATS[0]]})
        if decided:
            await served.http("GET", f"{PATH}/r1?wait_ms=5000", headers=bearer())
        answer = await served.post({"seats": [SEATS[1]]})
        assert (answer.status, answer.json()["code"]) == (422, "key_reused")


@scenario
async def test_posts_of_one_moment_share_a_look_up(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event):
        await served.post({"seats": [SEATS[0]]}, "warm")
        recall = served.runtime.events.loaded()[0].recall
        before = recall.queries
        answers = await asyncio.gather(
            *(served.post({"seats": [SEATS[n]]}, f"r{n}", buyer=f"b{n}") for n in range(1, 30))
        )
        assert {answer.status for answer in answers} == {202}
        assert recall.queries - before < 25


@scenario
async def test_an_undecided_request_says_so_and_an_unknown_one_too(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        await served.post({"seats": [SEATS[0]]})
        answer = await served.http("GET", f"{PATH}/r1?wait_ms=50", headers=bearer())
        assert (answer.status, answer.json()["state"]) == (202, "undecided")
        for buyer, key in (("ann", "r2"), ("bob", "r1")):
            answer = await served.http("GET", f"{PATH}/{key}", headers=bearer(buyer))
            assert (answer.status, answer.json()["code"]) == (404, "unknown_request")


@scenario
async def test_a_decision_can_be_waited_for_on_another_gateway(engine_urls, event):
    async with (
        gateway(engine_urls) as one,
        gateway(engine_urls) as other,
        StandIn(engine_urls, event) as allocator,
    ):
        allocator.deciding = False
        await one.post({"seats": [SEATS[0]]})
        asking = asyncio.create_task(other.http("GET", f"{PATH}/r1?wait_ms=8000", headers=bearer()))
        await asyncio.sleep(0.1)
        allocator.deciding = True
        assert (await asking).json()["outcome"] == "held"


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"key": None}, 400, "idempotency_key_required"),
        ({"key": "a b"}, 400, "idempotency_key_not_valid"),
        ({"body": {}}, 400, "nothing_asked"),
        ({"body": b"nonsense"}, 400, "bad_body"),
        ({"body": b" " * 20_000}, 413, "body_too_large"),
        ({"event": "nowhere"}, 404, "event_not_found"),
        ({"event": "No%20where"}, 404, "event_not_found"),
        ({"Authorization": "Basic abc"}, 401, "token_required"),
        ({"Authorization": "Bearer abc"}, 401, "token_not_valid"),
    ],
)
@scenario
async def test_a_post_that_breaks_the_rules_is_a_problem_with_its_code(
    engine_urls, event, change, status, code
):
    async with gateway(engine_urls) as served:
        asked = {"key": "r1", "body": {"seats": [SEATS[0]]}} | change
        answer = await served.post(asked.pop("body"), asked.pop("key"), **asked)
        assert (answer.status, answer.json()["code"]) == (status, code)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == status


@scenario
async def test_a_buyer_with_too_much_undecided_is_told_when_to_come_back(engine_urls, event):
    async with gateway(engine_urls, bounds={"undecided_per_buyer_max": 0}) as served:
        make_room = await served.post({"seats": [SEATS[0]]})
        assert make_room.status == 202
    async with gateway(engine_urls, bounds={"waiting_max": 0}) as served:
        answer = await served.post({"seats": [SEATS[0]]}, "r2")
        assert (answer.status, answer.json()["code"]) == (503, "queue_full")
        assert answer.headers["retry-after"] == "2"


# the fast gate


@pytest.fixture
def sold_seat(database_url, event):
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("UPDATE seat SET state = 'sold', hold_id = 1 WHERE seat_no = 0")


@scenario
async def test_the_gate_refuses_both_ways_in_and_uses_no_place(engine_urls, event, sold_seat):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        async with served.socket() as ann:
            await ann.ask("r1", seats=[SEATS[0]])
            refusal = {"type": "not_queued", "id": "r1", "reason": "taken", "taken": [SEATS[0]]}
            assert await ann.receive() == refusal
            await ann.ask("r2", seats=[SEATS[0]], best={"quantity": 1})
            await ann.receive("decision")
            await ann.ask("r3", seats=[SEATS[0]], again=True)
            await ann.receive("decision")
        answer = await served.post({"seats": [SEATS[0]]}, "r4")
        assert (answer.status, answer.json()["code"], answer.json()["taken"]) == (
            409,
            "not_queued",
            [SEATS[0]],
        )
        assert [entry.request_id for entry in allocator.read] == ["r2", "r3"]
        metrics = (await served.http("GET", "/metrics")).body.decode()
        assert f'onsale_gateway_not_queued_total{{event="{EVENT}"}} 2.0' in metrics


@scenario
async def test_the_gate_has_a_switch(engine_urls, event, sold_seat, database_url):
    with psycopg.connect(database_url, autocommit=True) as conn:
        events.set_policy(conn, EVENT, fast_gate=False)
    async with gateway(engine_urls) as served, StandIn(engine_urls, event), served.socket() as ann:
        await ann.ask("r1", seats=[SEATS[0]])
        await ann.receive("decision")


@scenario
async def test_the_gate_never_answers_for_a_key_that_was_decided(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event):
        first = await served.post({"seats": [SEATS[0]]})
        await served.http("GET", f"{PATH}/r1?wait_ms=5000", headers=bearer())
        loaded = served.runtime.events.loaded()[0]
        await until(lambda: loaded.gate(Want((SEATS[0],))))
        assert (await served.post({"seats": [SEATS[0]]}, "r2", buyer="bob")).status == 409
        assert (await served.post({"seats": [SEATS[0]]})).body == first.body


# the rest


@scenario
async def test_an_event_its_plan_and_its_seats_can_be_read(engine_urls, event):
    async with gateway(engine_urls) as served:
        listed = (await served.http("GET", "/v1/events")).json()["events"]
        assert [row["slug"] for row in listed] == [EVENT]
        assert (await served.http("GET", f"/v1/events/{EVENT}")).json()["state"] == "open"
        plan = await served.http("GET", f"/v1/events/{EVENT}/plan")
        assert [seat[0] for seat in plan.json()["seats"]] == SEATS
        same = await served.http(
            "GET", f"/v1/events/{EVENT}/plan", headers={"If-None-Match": plan.headers["etag"]}
        )
        assert (same.status, same.body) == (304, b"")
        seats = (await served.http("GET", f"/v1/events/{EVENT}/seats")).json()
        assert seats == {"batch_no": 0, "states": "a" * len(SEATS), "areas": [50], "held_until": None}
        assert (await served.http("GET", "/v1/events/nowhere")).json()["code"] == "event_not_found"


@scenario
async def test_drafts_are_not_listed(engine_urls, database_url):
    make_event(database_url, state=EventState.DRAFT)
    async with gateway(engine_urls) as served:
        assert (await served.http("GET", "/v1/events")).json() == {"events": []}


@scenario
async def test_only_a_demo_gives_tokens(engine_urls, event):
    async with gateway(engine_urls) as served:
        assert (await served.http("POST", "/v1/demo/token")).status == 404
    async with gateway(engine_urls, demo=True) as served:
        answer = (await served.http("POST", "/v1/demo/token")).json()
        async with served.socket(hello={"token": answer["token"]}) as somebody:
            assert somebody.welcome["buyer"] == answer["buyer"]


@scenario
async def test_browsers_of_listed_origins_may_read_answers(engine_urls, event):
    origin = "https://tickets.example"
    async with gateway(engine_urls, origins=frozenset({origin})) as served, StandIn(engine_urls, event):
        for given, allowed in ((origin, origin), ("https://evil.example", None)):
            hot = await served.post({"seats": [SEATS[0]]}, Origin=given)
            cold = await served.http("GET", "/v1/events", headers={"Origin": given})
            for answer in (hot, cold):
                assert answer.headers.get("access-control-allow-origin") == allowed
        ask = {"Origin": origin, "Access-Control-Request-Method": "POST",
               "Access-Control-Request-Headers": "idempotency-key,authorization,content-type"}  # fmt: skip
        preflight = await served.http("OPTIONS", PATH, headers=ask)
        assert preflight.status == 200
        assert preflight.headers["access-control-allow-origin"] == origin


@scenario
async def test_a_gateway_says_whether_it_lives_and_is_ready(engine_urls, event):
    async with gateway(engine_urls) as served:
        assert (await served.http("GET", "/health/live")).status == 200
        ready = await served.http("GET", "/health/ready")
        assert (ready.status, ready.json()["state"]) == (200, "ready")


@scenario
async def test_holds_can_be_bought_and_given_back_both_ways(engine_urls, event, database_url):
    with psycopg.connect(database_url, autocommit=True) as conn:
        for number in (1, 2):
            conn.execute(
                "INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at)"
                " VALUES (%s, %s, 'ann', 'r', 1, clock_timestamp() + interval '8 minutes')", (event, number)
            )  # fmt: skip
            conn.execute("UPDATE seat SET state = 'held', hold_id = %s WHERE seat_no = %s", (number, number))
            conn.execute("INSERT INTO hold_seat VALUES (%s, %s, %s)", (event, number, number))
    async with (
        gateway(engine_urls) as served,
        StandIn(engine_urls, event) as allocator,
        served.socket() as ann,
    ):
        await ann.send({"type": "confirm", "hold": "1"})
        assert await ann.receive() == {"type": "hold", "hold": "1", "state": "paid"}
        await ann.send({"type": "release", "hold": "7"})
        assert (await ann.receive("error"))["code"] == "hold_not_found"
        released = await served.http("POST", f"/v1/events/{EVENT}/holds/2/release", headers=bearer())
        assert (released.status, released.json()) == (200, {"hold": "2", "state": "released"})
        foreign = await served.http("POST", f"/v1/events/{EVENT}/holds/1/confirm", headers=bearer("bob"))
        assert (foreign.status, foreign.json()["code"]) == (404, "hold_not_found")
        huge = await served.http("POST", f"/v1/events/{EVENT}/holds/{'9' * 19}/confirm", headers=bearer())
        assert huge.status == 404
        assert await allocator.redis.xlen(stream_key(EVENT)) == 3  # the marker and a poke for each change


@scenario
async def test_an_event_with_the_longest_name_can_be_read(engine_urls, event, database_url):
    name = "x" * 64
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("UPDATE event SET slug = %s", (name,))
    async with gateway(engine_urls) as served:
        assert (await served.http("GET", f"/v1/events/{name}")).json()["slug"] == name


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v1/operator/events", "GET, POST"),
        ("DELETE", f"/v1/events/{EVENT}", "GET"),
        ("GET", PATH, "POST"),
        ("POST", "/", "GET"),
    ],
    ids=["operators", "an event", "requests", "the front page"],
)
@scenario
async def test_a_wrong_method_is_told_every_right_one(engine_urls, event, method, path, allowed):
    async with gateway(engine_urls) as served:
        answer = await served.http(method, path)
        assert (answer.status, answer.headers["allow"]) == (405, allowed)
        assert answer.json()["code"] == "method_not_allowed"


@scenario
async def test_an_event_there_is_not_has_a_page_with_status_404(engine_urls, event):
    async with gateway(engine_urls) as served:
        assert (await served.http("GET", f"/e/{EVENT}")).status == 200
        missing = await served.http("GET", "/e/nowhere")
        assert (missing.status, missing.headers["content-type"]) == (404, "text/html; charset=utf-8")


def test_every_published_call_says_what_it_answers_and_whose_key_it_needs(engine_urls):
    paths = create_api(Settings(engines=engine_urls, token_secret=SECRET)).openapi()["paths"]
    described = {(method, path) for path, methods in paths.items() for method in methods}
    assert described == set(openapi.CALLS)
    with pytest.raises(KeyError, match="/v1/new"):
        openapi.describe({"paths": {"/v1/new": {"get": {}}}, "components": {}})
    login = ("post", "/v1/operator/session")  # who has a key in its body needs no other
    for path, methods in paths.items():
        for method, call in methods.items():
            if (method, path) == login:
                continue
            key = "operator" if path.startswith("/v1/operator") else "buyer"
            needed = path.startswith("/v1/operator") or any(
                part in path
                for part in ("/requests", "/holds/", "/waiting", "/orders", "/tickets/claim", "/room/")
            )
            assert call.get("security") == ([{key: []}] if needed else None)
            assert ("401" in call["responses"]) is needed


def test_the_published_schema_of_a_request_is_the_decoders(engine_urls):
    schema = create_api(Settings(engines=engine_urls, token_secret=SECRET)).openapi()
    posted = schema["paths"]["/v1/events/{event}/requests"]["post"]
    body = posted["requestBody"]["content"]["application/json"]["schema"]
    assert body == request_schema()[0]
    for name, component in request_schema()[1].items():
        assert schema["components"]["schemas"][name] == component
    assert {"202", "400", "401", "404", "409", "413", "422", "429", "503"} <= set(posted["responses"])
    assert json.dumps(schema)
