"""The websocket: greeting, requests and their one answer, resuming, refusals."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import psycopg
import pytest
from websockets.exceptions import InvalidStatus

from gateway.buyers import socket as socket_module
from store import events
from store.wire import stream_key
from store.words import EventState
from tests.gateway.rig import EVENT, SEATS, StandIn, gateway, make_event, scenario, token, until


@pytest.fixture
def event(database_url):
    return make_event(database_url)


# the greeting


@scenario
async def test_a_greeting_is_answered_with_the_event_and_the_buyer(engine_urls, event):
    async with gateway(engine_urls) as served, served.socket("ann") as ann:
        assert ann.welcome["buyer"] == "ann"
        assert ann.welcome["event"] == {
            "slug": EVENT, "name": "The gig", "state": "open", "hold_ttl_seconds": 480,
            "seats_per_buyer_max": 8, "fast_gate": True, "opens_at": None, "lobby_opens_at": None,
                "limits": {}, "tour": None,
            "plan": (await served.runtime.events.get(EVENT)).row.plan_sha256,
            "extensions_max": 1, "extension_seconds": 120, "offer_ttl_seconds": 600,
            "payment": "none", "late_payment": "refund", "venue": "Arena 100", "starts_at": None,
            "called_off": None, "figures_on_page": False,
            "prices": {"fee_minor": 0, "fee_basis_points": 0, "tax_basis_points": 0, "tax_included": True},
        }  # fmt: skip


@scenario
async def test_who_says_nothing_is_closed(engine_urls, event):
    async with (
        gateway(engine_urls, bounds={"hello_seconds_max": 0.1}) as served,
        served.bare_socket() as nobody,
    ):
        assert await nobody.close_code() == 4408


@pytest.mark.parametrize(
    ("hello", "code"),
    [
        ({"token": "nonsense"}, 4401),
        ({"token": token(seconds=-60)}, 4401),
        ({"token": token(secret="another secret, also of 32 bytes or more")}, 4401),
        ({"token": token('a"b')}, 4401),
        ({"event": "no-such-event"}, 4404),
        ({"event": "NOT A SLUG"}, 4408),
        ({"type": "resume", "ids": []}, 4408),
    ],
)
@scenario
async def test_a_greeting_that_does_not_hold_is_closed_with_its_code(engine_urls, event, hello, code):
    async with gateway(engine_urls) as served, served.bare_socket() as nobody:
        first = {"type": "hello", "event": EVENT, "token": token()} | hello
        await nobody.send({name: first[name] for name in first if first["type"] == "hello" or name in hello})
        assert await nobody.close_code() == code


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        (None, True),
        ("https://tickets.example", True),
        ("http://127.0.0.1:{port}", True),
        ("https://evil.example", False),
        ("null", False),
    ],
)
@scenario
async def test_browsers_may_connect_from_allowed_origins_only(engine_urls, event, origin, allowed):
    async with gateway(engine_urls, origins=frozenset({"https://tickets.example"})) as served:
        origin = origin and origin.format(port=served.port)
        async with served.bare_socket(origin=origin) as somebody:
            if allowed:
                await somebody.send({"type": "hello", "event": EVENT, "token": token()})
                await somebody.receive("welcome")
            else:
                assert await somebody.close_code() == 4403


@scenario
async def test_a_socket_too_many_is_refused_before_it_is_accepted(engine_urls, event):
    async with gateway(engine_urls, bounds={"sockets_max": 1}) as served, served.socket():
        with pytest.raises(InvalidStatus) as refusal:
            async with served.bare_socket():
                pass
        assert refusal.value.response.status_code == 503
        assert refusal.value.response.headers["Retry-After"] == "5"


@scenario
async def test_a_gateway_that_stops_tells_clients_to_come_back(engine_urls, event):
    async with gateway(engine_urls) as served, served.socket() as ann:
        served.server.should_exit = True
        assert await ann.close_code() == 1012


# requests


@scenario
async def test_a_request_gets_its_decision(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event), served.socket() as ann:
        await ann.ask("r1", seats=SEATS[:2])
        decision = await ann.receive("decision")
        assert decision["id"] == "r1"
        assert decision["outcome"] == "held"
        assert decision["result"]["seats"] == SEATS[:2]


@scenario
async def test_accepted_comes_when_the_decision_takes_its_time(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        async with served.socket() as ann:
            await ann.ask("r1", seats=[SEATS[0]])
            accepted = await ann.receive("accepted")
            allocator.deciding = True
            decision = await ann.receive("decision")
            assert accepted["arrival"] == decision["arrival"]


@scenario
async def test_requests_of_one_moment_share_an_append(engine_urls, event, monkeypatch):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event), served.socket("ann") as ann:
        await ann.ask("warm", best={"quantity": 1})
        await ann.receive("decision")
        stream = served.runtime.events.loaded()[0].intake.stream
        append, groups = stream.append, []

        async def counted(entries):
            groups.append(len(entries))
            return await append(entries)

        monkeypatch.setattr(stream, "append", counted)
        await asyncio.gather(*(ann.ask(f"r{n}", best={"quantity": 1}) for n in range(15)))
        ids = {(await ann.receive("decision"))["id"] for _ in range(15)}
        assert ids == {f"r{n}" for n in range(15)}
        assert len(groups) <= 8, f"{groups} appends for 15 requests"


@scenario
async def test_every_socket_of_a_buyer_that_asked_gets_the_decision(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        async with served.socket("ann") as phone, served.socket("ann") as laptop, served.socket("bob") as bob:
            await phone.ask("r1", seats=[SEATS[0]])
            await phone.receive("accepted")
            await laptop.send({"type": "resume", "ids": ["r1"]})
            await bob.send({"type": "resume", "ids": ["r1"]})
            assert await bob.receive() == {"type": "unknown", "id": "r1"}
            await laptop.receive("accepted")
            allocator.deciding = True
            assert await phone.receive("decision") == await laptop.receive("decision")
            await bob.nothing_for(0.05)


@scenario
async def test_a_reconnecting_buyer_gets_the_decision_on_any_gateway(engine_urls, event):
    async with gateway(engine_urls) as one, StandIn(engine_urls, event):
        async with one.socket() as ann:
            await ann.ask("r1", seats=[SEATS[0]])
            decision = await ann.receive("decision")
        async with gateway(engine_urls) as other, other.socket() as ann:
            await ann.send({"type": "resume", "ids": ["r1", "r2", "r1"]})
            answers = [await ann.receive(), await ann.receive()]
            assert decision in answers
            assert {"type": "unknown", "id": "r2"} in answers
            await ann.ask("r1", seats=[SEATS[0]], again=True)
            assert await ann.receive() == decision


@scenario
async def test_what_was_decided_is_answered_after_the_sale_closed(engine_urls, event, database_url):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event), served.socket() as ann:
        await ann.ask("r1", seats=[SEATS[0]])
        decision = await ann.receive("decision")
        with psycopg.connect(database_url, autocommit=True) as conn:
            events.set_state(conn, EVENT, EventState.CLOSED)
        assert await ann.receive("event") == {"type": "event", "state": "closed", "called_off": None}
        await ann.ask("r1", seats=[SEATS[0]], again=True)
        assert await ann.receive() == decision
        await ann.ask("r2", seats=[SEATS[1]])
        refusal = await ann.receive("error")
        assert (refusal["code"], refusal["id"]) == ("event_closed", "r2")


@scenario
async def test_another_content_for_a_known_key_is_a_conflict_and_the_first_decision_stands(
    engine_urls, event
):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event), served.socket() as ann:
        await ann.ask("r1", seats=[SEATS[0]])
        decision = await ann.receive("decision")
        await ann.ask("r1", seats=[SEATS[1]], again=True)
        conflict = await ann.receive("decision")
        assert conflict["outcome"] == "conflict"
        assert conflict["arrival"] != decision["arrival"]
        await ann.send({"type": "resume", "ids": ["r1"]})
        assert await ann.receive() == decision


@scenario
async def test_another_content_while_the_first_is_undecided_is_refused(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        async with served.socket() as ann:
            await ann.ask("r1", seats=[SEATS[0]])
            await ann.ask("r1", seats=[SEATS[1]])
            assert (await ann.receive("error"))["code"] == "key_reused"
            allocator.deciding = True
            assert (await ann.receive("decision"))["result"]["seats"] == [SEATS[0]]


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (EventState.DRAFT, "event_not_open"),
        (EventState.LOBBY, "event_not_open"),
        (EventState.CLOSED, "event_closed"),
    ],
)
@scenario
async def test_nothing_is_appended_for_an_event_that_does_not_sell(engine_urls, database_url, state, code):
    event = make_event(database_url, state=state)
    async with (
        gateway(engine_urls) as served,
        StandIn(engine_urls, event) as allocator,
        served.socket() as ann,
    ):
        await ann.ask("r1", seats=[SEATS[0]])
        assert (await ann.receive("error"))["code"] == code
        assert await allocator.redis.xlen(stream_key(EVENT)) == 1


# refusals and bounds


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("no json", "bad_frame"),
        ("[]", "bad_frame"),
        ({"type": "shout"}, "bad_frame"),
        ({"type": "hello", "event": EVENT, "token": "x"}, "bad_frame"),
        ({"type": "request", "id": "r1"}, "nothing_asked"),
        ({"type": "request", "id": "r1", "seats": ["a", "a"]}, "seat_twice"),
        ({"type": "request", "id": "r1", "best": {"quantity": 51}}, "bad_frame"),
        ({"type": "request", "id": "a b", "seats": ["a"]}, "bad_frame"),
        ({"type": "request", "id": "r1\n", "seats": ["a"]}, "bad_frame"),
        ({"type": "request", "id": "r1", "seats": ["a"], "price": 1}, "bad_frame"),
        ({"type": "resume", "ids": [str(n) for n in range(101)]}, "bad_frame"),
        ({"type": "confirm", "hold": "0"}, "bad_frame"),
        ({"type": "request", "id": "r1", "seats": ["x" * 64] * 300}, "frame_too_large"),
    ],
)
@scenario
async def test_a_frame_that_breaks_the_rules_is_refused_and_the_socket_stays(engine_urls, event, frame, code):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event), served.socket() as ann:
        await ann.send(frame)
        refusal = await ann.receive("error")
        assert refusal["code"] == code
        named = isinstance(frame, dict) and frame.get("id") == "r1"
        assert refusal.get("id") == ("r1" if named else None)
        await ann.ask("r2", seats=[SEATS[0]])
        assert (await ann.receive("decision"))["id"] == "r2"


@scenario
async def test_a_frame_that_is_far_too_large_ends_the_connection(engine_urls, event):
    async with gateway(engine_urls) as served, served.socket() as ann:
        await ann.send({"type": "resume", "ids": ["x" * 70_000]})
        assert await ann.close_code() == 1009


@scenario
async def test_a_buyer_with_too_much_undecided_waits_for_decisions_first(engine_urls, event):
    async with (
        gateway(engine_urls, bounds={"undecided_per_buyer_max": 2}) as served,
        StandIn(engine_urls, event) as allocator,
    ):
        allocator.deciding = False
        async with served.socket("ann") as ann, served.socket("bob") as bob:
            for n in range(3):
                await ann.ask(f"r{n}", seats=[SEATS[n]])
            refusal = await ann.receive("error")
            assert (refusal["code"], refusal["id"], refusal["retry_after"]) == ("too_many_undecided", "r2", 1)
            await bob.ask("r1", seats=[SEATS[5]])
            await bob.receive("accepted")
            for n in range(100):
                await ann.ask(f"s{n}", seats=[SEATS[n]])
            assert await ann.close_code() == 4429


@pytest.mark.parametrize(
    ("bound", "code"), [("undecided_max", "too_many_waiting"), ("waiting_max", "queue_full")]
)
@scenario
async def test_a_gateway_at_its_bound_says_when_to_come_back(engine_urls, event, bound, code):
    async with gateway(engine_urls, bounds={bound: 0}) as served, served.socket() as ann:
        await ann.ask("r1", seats=[SEATS[0]])
        refusal = await ann.receive("error")
        assert (refusal["code"], refusal["id"], refusal["retry_after"]) == (code, "r1", 2)


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "request", "id": "r1", "seats": [SEATS[0]]},
        {"type": "waiting"},
        {"type": "release", "hold": "65536"},
        {"type": "confirm", "hold": "65536"},
        {"type": "extend", "hold": "65536", "expires_at": 1},
        {"type": "leave", "id": "r1"},
    ],
    ids=lambda frame: frame["type"],
)
@scenario
async def test_a_token_that_runs_out_ends_the_socket(engine_urls, event, monkeypatch, frame):
    async with gateway(engine_urls) as served, served.socket(hello={"token": token(seconds=60)}) as ann:
        later = SimpleNamespace(time=lambda: time.time() + 61)
        monkeypatch.setattr(socket_module, "time", later)
        await ann.send(frame)
        assert (await ann.receive("error"))["code"] == "token_expired"
        assert await ann.close_code() == 4401


# the seat map


@scenario
async def test_watchers_see_seats_change_and_others_do_not(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event):
        async with served.socket("eve", hello={"watch": True}) as eve, served.socket("ann") as ann:
            await ann.ask("r1", seats=SEATS[:2])
            await ann.receive("decision")
            assert (await eve.receive("seats"))["changed"] == [[0, "h"], [1, "h"]]
            await ann.nothing_for(0.3)
        answer = (await served.http("GET", f"/v1/events/{EVENT}/seats")).json()
        assert answer["states"][:4] == "hhaa"
        assert answer["areas"] == [50]


@scenario
async def test_a_gap_in_batches_is_closed_from_the_truth(engine_urls, event, database_url):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        async with served.socket("eve", hello={"watch": True}) as eve:
            with psycopg.connect(database_url, autocommit=True) as conn:
                conn.execute("UPDATE seat SET state = 'blocked' WHERE seat_no = 7")
            allocator.batch_no = 5
            await eve.ask("r1", seats=[SEATS[0]])
            changed = []
            while [7, "b"] not in changed:
                frame = await eve.receive("seats", but=("accepted", "decision"))
                changed += frame["changed"]
        await until(lambda: served.runtime.events.loaded()[0].watch.batch_no == 6)
