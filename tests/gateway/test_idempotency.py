"""A call with an Idempotency-Key is done once, and who repeats it gets the same answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import replace

import psycopg
import pytest

from gateway.idempotency import DESCRIBED
from gateway.idempotency_key import BY_SLUG, NO_KEY, SECRETS
from gateway.operators import seats as operators_seats
from store import blocks, holds, tours
from store.errors import Unavailable
from store.idempotency import fingerprint_of, scope_of
from tests.gateway.rig import EVENT, SEATS, Served, gateway, make_event, scenario, token, until
from tests.store.test_holds import HOLD, hold

KEY = "an operator's key of the tests"
REPLAYED = "idempotent-replayed"
TOUR = {"slug": "around", "seats_per_buyer_max": 4}
SAID = {"who": "Olga", "why": "house seats"}
LEASE_OVER = "UPDATE idempotency_key SET lease_until = clock_timestamp() - interval '1 ms'"


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def event(database_url):
    return make_event(database_url)


class Calls:
    """Calls of a gateway with a buyer's or the operator's key: `await call(path, body, key)`."""

    def __init__(self, it: Served) -> None:
        self.it = it

    async def __call__(self, path, body=None, key=None, *, method="POST", buyer="ann", **headers):
        whose = KEY if path.startswith("/v1/operator") else token(buyer)
        head = {"Authorization": f"Bearer {whose}"} | headers
        if key is not None:
            head["Idempotency-Key"] = key
        return await self.it.http(method, path, body=body, headers=head)


@contextlib.asynccontextmanager
async def served(urls):
    async with gateway(urls, operator_key=KEY) as it:
        yield Calls(it)


def of(what, number=HOLD):
    return f"/v1/events/{EVENT}/holds/{number}/{what}"


def of_event(what):
    return f"/v1/operator/events/{EVENT}/{what}"


def kept(conn):
    return conn.execute("SELECT status FROM idempotency_key ORDER BY made_at").fetchall()


def counted(monkeypatch, module, name):
    """How often something is done."""
    real, times = getattr(module, name), []

    def done(*args, **kwargs):
        times.append(args)
        return real(*args, **kwargs)

    monkeypatch.setattr(module, name, done)
    return times


@scenario
async def test_a_call_that_is_repeated_is_done_once_and_answered_the_same(engine_urls, conn, monkeypatch):
    made = counted(monkeypatch, tours, "create_tour")
    async with served(engine_urls) as call:
        first = await call("/v1/operator/tours", TOUR, "k1")
        again = await call("/v1/operator/tours", TOUR, '"k1"')
    assert (first.status, first.headers["location"]) == (201, "/v1/operator/tours/around")
    assert REPLAYED not in first.headers
    assert (again.status, again.body, again.headers[REPLAYED]) == (201, first.body, "true")
    for name in ("content-type", "location", "cache-control"):
        assert again.headers[name] == first.headers[name]
    assert len(made) == 1


@scenario
async def test_a_buyers_hold_is_given_back_once(engine_urls, conn, event):
    hold(conn, event)
    async with served(engine_urls) as call:
        some = {"seats": [SEATS[3]], "quantity": 4}
        first = await call(of("release"), some, "k1")
        rest = await call(of("release"), None, "k2")
        again = await call(of("release"), some, "k1")
    assert (first.status, rest.status, again.status) == (200, 200, 200)
    assert first.json()["seats"] == [SEATS[4]]
    assert rest.json() == {"hold": str(HOLD), "state": "released"}
    assert again.body == first.body


@scenario
async def test_what_was_refused_by_how_things_stand_is_refused_again(engine_urls, conn, event):
    async with served(engine_urls) as call:
        first = await call(of("confirm"), None, "k1")
        hold(conn, event)
        again = await call(of("confirm"), None, "k1")
        other = await call(of("confirm"), None, "k2")
    assert (first.status, first.json()["code"]) == (404, "hold_not_found")
    assert (again.status, again.body, again.headers[REPLAYED]) == (404, first.body, "true")
    assert again.headers["content-type"] == "application/problem+json"
    assert other.status == 200


@scenario
async def test_without_a_key_nothing_is_kept(engine_urls, conn, event):
    hold(conn, event)
    async with served(engine_urls) as call:
        assert (await call(of("confirm"))).status == 200
        assert (await call(f"/v1/events/{EVENT}", key="k1", method="GET")).status == 200
    assert kept(conn) == []


@scenario
async def test_one_key_is_not_for_two_contents(engine_urls, conn):
    async with served(engine_urls) as call:
        assert (await call("/v1/operator/tours", TOUR, "k1")).status == 201
        other = await call("/v1/operator/tours", TOUR | {"slug": "other"}, "k1")
        asked = await call("/v1/operator/tours?a=1", TOUR, "k1")
    assert (other.status, other.json()["code"]) == (422, "key_reused")
    assert asked.status == 422
    assert conn.execute("SELECT slug FROM tour").fetchall() == [("around",)]


@scenario
async def test_one_buyers_key_is_nothing_to_another(engine_urls, conn, event):
    hold(conn, event)
    async with served(engine_urls) as call:
        assert (await call(of("release"), None, "k1", buyer="bob")).status == 404
        mine = await call(of("release"), None, "k1")
    assert (mine.status, mine.json()["state"]) == (200, "released")
    assert REPLAYED not in mine.headers


@scenario
async def test_who_may_not_ask_gets_no_answer_of_who_may(engine_urls, conn, event):
    hold(conn, event)
    nobody = {"Authorization": "Bearer nonsense"}
    async with served(engine_urls) as call:
        for path, body in (("/v1/operator/tours", TOUR), (of("confirm"), None)):
            assert (await call(path, body, "k1")).status in (200, 201)
            assert (await call(path, body, "k1", **nobody)).status == 401


@scenario
async def test_a_body_that_is_too_long_is_read_no_further(engine_urls, conn):
    async with served(engine_urls) as call:
        reader, writer = await asyncio.open_connection("127.0.0.1", call.it.port)
        head = f"POST /v1/operator/tours HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
        writer.write((head + "Idempotency-Key: k1\r\nContent-Length: 1000000\r\n\r\n").encode())
        writer.write(b" " * 70_000)
        assert b" 413 " in await reader.readline()
        writer.close()
    assert kept(conn) == []


@pytest.mark.parametrize("key", ['"', "a b", '""', '"a", "b"', "x" * 65])
@scenario
async def test_a_key_that_cannot_be_read_is_refused_and_nothing_is_done(engine_urls, conn, event, key):
    hold(conn, event)
    async with served(engine_urls) as call:
        refused = await call(of("confirm"), None, key)
    assert (refused.status, refused.json()["code"]) == (400, "idempotency_key_not_valid")
    assert refused.headers["link"] == DESCRIBED
    assert conn.execute("SELECT state FROM hold").fetchall() == [("active",)]


@scenario
async def test_while_it_is_under_way_the_same_is_refused_on_every_gateway(
    engine_urls, conn, event, monkeypatch
):
    hold(conn, event)
    real, began, go = holds.confirm, asyncio.Event(), asyncio.Event()

    async def slow(*args):
        began.set()
        await go.wait()
        return await real(*args)

    monkeypatch.setattr(holds, "confirm", slow)
    async with served(engine_urls) as here, served(engine_urls) as there:
        first = asyncio.create_task(here(of("confirm"), None, "k1"))
        await began.wait()
        meanwhile = await there(of("confirm"), None, "k1")
        go.set()
        done, again = await first, await there(of("confirm"), None, "k1")
    assert (meanwhile.status, meanwhile.json()["code"]) == (409, "request_under_way")
    assert (meanwhile.headers["retry-after"], meanwhile.headers["link"]) == ("1", DESCRIBED)
    assert done.status == 200
    assert (again.body, again.headers[REPLAYED]) == (done.body, "true")


@scenario
async def test_of_many_at_once_on_two_gateways_one_does_it(engine_urls, conn, monkeypatch):
    made = counted(monkeypatch, tours, "create_tour")
    async with served(engine_urls) as here, served(engine_urls) as there:
        asked = [each("/v1/operator/tours", TOUR, "k1") for each in (here, there) * 8]
        answers = await asyncio.gather(*asked)
        last = await here("/v1/operator/tours", TOUR, "k1")
    assert len(made) == 1
    assert {answer.status for answer in answers} <= {201, 409}
    assert sum(answer.status == 201 and REPLAYED not in answer.headers for answer in answers) == 1
    assert {answer.json()["code"] for answer in answers if answer.status == 409} <= {"request_under_way"}
    assert (last.status, last.headers[REPLAYED]) == (201, "true")


@scenario
async def test_when_a_gateway_died_in_the_middle_the_next_does_it_after_the_lease(engine_urls, conn, event):
    hold(conn, event)
    scope = scope_of("ann", "POST", of("confirm"), "k1")
    conn.execute(
        "INSERT INTO idempotency_key (scope, buyer, fingerprint, owner, lease_until)"
        " VALUES (%s, 'ann', %s, 7, clock_timestamp() + interval '1 hour')",
        (scope, fingerprint_of(b"", b"")),
    )
    async with served(engine_urls) as call:
        early = await call(of("confirm"), None, "k1")
        conn.execute(LEASE_OVER)
        late = await call(of("confirm"), None, "k1")
        again = await call(of("confirm"), None, "k1")
    assert (early.status, late.status) == (409, 200)
    assert (again.body, again.headers[REPLAYED]) == (late.body, "true")


@scenario
async def test_what_counts_up_is_refused_without_a_key(engine_urls, conn, event):
    async with served(engine_urls) as call:
        for word in ("blocks", "unblock"):
            refused = await call(of_event(word), SAID | {"areas": {"standing": 1}})
            assert (refused.status, refused.json()["code"]) == (400, "idempotency_key_required")
    assert kept(conn) == []


@scenario
async def test_places_are_blocked_once_however_often_it_is_asked(engine_urls, conn, event):
    async with served(engine_urls) as call:
        plan = (await call(f"/v1/events/{EVENT}/plan", method="GET")).json()
        wish = SAID | {"areas": {plan["areas"][0]["guid"]: 20}, "seats": SEATS[:2]}
        first = await call(of_event("blocks"), wish, "k1")
        again = await call(of_event("blocks"), wish, "k1")
        refused = await call(of_event("blocks"), wish, "k2")
        more = await call(of_event("blocks"), wish | {"seats": []}, "k3")
    assert (first.status, more.status) == (200, 200)
    assert (again.status, again.body, again.headers[REPLAYED]) == (200, first.body, "true")
    for name in ("content-type", "cache-control"):
        assert again.headers[name] == first.headers[name]
    assert refused.json()["code"] == "seats_not_free"
    assert conn.execute("SELECT blocked FROM area").fetchall() == [(40,)]


@scenario
async def test_a_gateway_that_took_too_long_to_block_blocks_nothing(engine_urls, conn, event, monkeypatch):
    real = blocks.block

    def slow(*args):
        done = real(*args)
        conn.execute(LEASE_OVER)
        conn.execute("UPDATE idempotency_key SET owner = owner + 1")
        return done

    monkeypatch.setattr(blocks, "block", slow)
    async with served(engine_urls) as call:
        late = await call(of_event("blocks"), SAID | {"seats": SEATS[:2]}, "k1")
        assert (late.status, late.json()["code"]) == (409, "request_under_way")
        assert conn.execute("SELECT count(*) FROM seat WHERE state = 'blocked'").fetchall() == [(0,)]
        assert conn.execute("SELECT count(*) FROM audit").fetchall() == [(0,)]
        monkeypatch.setattr(blocks, "block", real)
        assert (await call(of_event("blocks"), SAID | {"seats": SEATS[:2]}, "k1")).status == 200


@scenario
async def test_what_was_blocked_is_answered_even_if_the_gateway_died_before_it_answered(
    engine_urls, conn, event, monkeypatch
):
    async def dies(request, event):
        raise RuntimeError("killed")

    async with served(engine_urls) as call:
        with monkeypatch.context() as killing:
            killing.setattr(operators_seats, "wake_allocator", dies)
            assert (await call(of_event("blocks"), SAID | {"seats": SEATS[:2]}, "k1")).status == 500
        again = await call(of_event("blocks"), SAID | {"seats": SEATS[:2]}, "k1")
    assert (again.status, again.headers[REPLAYED]) == (200, "true")
    assert again.json()["what"]["seats"] == SEATS[:2]


@scenario
async def test_places_are_given_back_under_a_key_only_from_so_many(engine_urls, conn, event):
    hold(conn, event)
    async with served(engine_urls) as call:
        plan = (await call(f"/v1/events/{EVENT}/plan", method="GET")).json()
        one = {"areas": {plan["areas"][0]["guid"]: 1}}
        refused = await call(of("release"), one, "k1")
        first = await call(of("release"), one | {"quantity": 4}, "k1")
        assert (await call(of("release"), one)).status == 200
    assert (refused.status, refused.json()["code"]) == (400, "quantity_required")
    assert first.json()["areas"] == {plan["areas"][0]["guid"]: 1}


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        (of("confirm"), None, {"Authorization": "Bearer nonsense"}, 401),
        ("/v1/operator/tours", TOUR, {"Authorization": "Bearer nonsense"}, 401),
        ("/v1/operator/tours", {"slug": 5}, {}, 400),
        ("/v1/operator/tours", TOUR | {"name": "x" * 20_000}, {}, 413),
        ("/v1/operator/tours", b"x" * 70_000, {}, 413),
        ("/v1/operator/nowhere", None, {}, 404),
        (f"/v1/events/{EVENT}/nowhere", None, {}, 404),
        (of("confirm") + "/x", None, {}, 404),
    ],
    ids=["no buyer", "no operator", "a wrong body", "too long for the call", "too long for any call",
         "no call of operators", "no call of buyers", "no call beyond"],
)  # fmt: skip
@scenario
async def test_what_was_not_decided_is_not_kept(engine_urls, conn, event, path, body, headers, status):
    async with served(engine_urls) as call:
        assert (await call(path, body, "k1", **headers)).status == status
    assert kept(conn) == []


@scenario
async def test_a_failure_is_not_kept_and_the_next_does_it_at_once(engine_urls, conn, event, monkeypatch):
    hold(conn, event)

    async def away(*_):
        raise Unavailable

    async def broken(*_):
        raise ZeroDivisionError

    async with served(engine_urls) as call:
        for failing, status in ((away, 503), (broken, 500)):
            with monkeypatch.context() as failing_now:
                failing_now.setattr(holds, "confirm", failing)
                assert (await call(of("confirm"), None, "k1")).status == status
            assert kept(conn) == []
        assert (await call(of("confirm"), None, "k1")).json()["state"] == "paid"


@scenario
async def test_while_postgres_is_away_nothing_is_done(engine_urls, conn, monkeypatch):
    made = counted(monkeypatch, tours, "create_tour")
    async with served(engine_urls) as call:
        await call.it.runtime.pool.close()
        refused = await call("/v1/operator/tours", TOUR, "k1")
    assert (refused.status, refused.json()["code"]) == (503, "unavailable")
    assert "Nothing was done" in refused.json()["detail"]
    assert "retry-after" in refused.headers
    assert made == []


@scenario
async def test_an_answer_that_cannot_be_kept_is_given_and_the_call_done_again_later(
    engine_urls, conn, event, monkeypatch
):
    hold(conn, event)

    async def lost(*_):
        raise psycopg.OperationalError("the connection is lost")

    async with served(engine_urls) as call:
        with monkeypatch.context() as losing:
            losing.setattr("gateway.idempotency.idempotency.keep", lost)
            first = await call(of("confirm"), None, "k1")
        assert (first.status, kept(conn)) == (200, [(None,)])
        assert (await call(of("confirm"), None, "k1")).status == 409
        conn.execute(LEASE_OVER)
        assert (await call(of("confirm"), None, "k1")).body == first.body


@scenario
async def test_it_works_while_redis_is_away(engine_urls, conn):
    async with served(replace(engine_urls, redis_url="redis://127.0.0.1:1/0")) as call:
        first = await call("/v1/operator/tours", TOUR, "k1")
        again = await call("/v1/operator/tours", TOUR, "k1")
    assert (first.status, again.status, again.headers[REPLAYED]) == (201, 201, "true")


@scenario
async def test_a_body_that_comes_in_pieces_is_the_same_content(engine_urls, conn):
    raw = json.dumps(TOUR).encode()
    async with served(engine_urls) as call:
        reader, writer = await asyncio.open_connection("127.0.0.1", call.it.port)
        head = f"POST /v1/operator/tours HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
        head += "Idempotency-Key: k1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        for part in (raw[:7], raw[7:], b""):
            writer.write(b"%x\r\n%s\r\n" % (len(part), part))
            await writer.drain()
        assert b" 201 " in (await reader.read())[:20]
        writer.close()
        again = await call("/v1/operator/tours", TOUR, "k1")
    assert (again.status, again.headers[REPLAYED]) == (201, "true")


@scenario
async def test_who_leaves_before_the_end_of_the_body_has_done_nothing(engine_urls, conn, monkeypatch):
    made = counted(monkeypatch, tours, "create_tour")
    async with served(engine_urls) as call:
        _, writer = await asyncio.open_connection("127.0.0.1", call.it.port)
        head = f"POST /v1/operator/tours HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
        whole = json.dumps(TOUR)
        head += f"Idempotency-Key: k1\r\nContent-Length: {len(whole) + 5}\r\n\r\n{whole}"
        writer.write(head.encode())
        await writer.drain()
        state = call.it.server.server_state
        await until(lambda: state.tasks)
        writer.close()
        await until(lambda: not state.tasks)
        assert (kept(conn), made) == ([], [])
        assert (await call("/v1/operator/tours", TOUR, "k1")).status == 201


@scenario
async def test_who_leaves_before_the_answer_finds_it_afterwards(engine_urls, conn, event, monkeypatch):
    hold(conn, event)
    real, began, go = holds.confirm, asyncio.Event(), asyncio.Event()

    async def slow(*args):
        began.set()
        await go.wait()
        return await real(*args)

    monkeypatch.setattr(holds, "confirm", slow)
    async with served(engine_urls) as call:
        _, writer = await asyncio.open_connection("127.0.0.1", call.it.port)
        head = f"POST {of('confirm')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token()}\r\n"
        writer.write((head + "Idempotency-Key: k1\r\nContent-Length: 0\r\n\r\n").encode())
        await began.wait()
        writer.close()
        state = call.it.server.server_state
        await until(lambda: not state.connections)
        go.set()
        await until(lambda: kept(conn) == [(200,)])
        again = await call(of("confirm"), None, "k1")
    assert (again.json()["state"], again.headers[REPLAYED]) == ("paid", "true")


@scenario
async def test_an_answer_that_is_too_long_is_given_whole_and_not_kept(engine_urls, conn, monkeypatch):
    monkeypatch.setattr("gateway.idempotency.idempotency.fits", lambda length: length < 10)
    async with served(engine_urls) as call:
        first = await call("/v1/operator/tours", TOUR, "k1")
        again = await call("/v1/operator/tours", TOUR, "k1")
    assert (first.status, first.json()["slug"]) == (201, "around")
    assert (again.status, again.json()["code"]) == (409, "tour_exists")
    assert kept(conn) == []


@scenario
async def test_a_request_is_known_by_its_quoted_key_as_by_the_bare_one(engine_urls, conn, event):
    async with served(engine_urls) as call:
        quoted = await call.it.post({"seats": [SEATS[0]]}, '"r1"')
        bare = await call.it.post({"seats": [SEATS[0]]}, "r1")
        neither = await call.it.post({"seats": [SEATS[0]]}, '"r1')
    assert (quoted.status, bare.status, neither.status) == (202, 202, 400)
    assert quoted.headers["location"] == bare.headers["location"] == f"/v1/events/{EVENT}/requests/r1"
    assert quoted.json() == bare.json()
    assert kept(conn) == []


@scenario
async def test_every_call_that_takes_a_key_says_so(engine_urls, event):
    async with served(engine_urls) as call:
        paths = (await call("/openapi.json", method="GET")).json()["paths"]
    needed = set()
    for path, methods in paths.items():
        for method, operation in methods.items():
            keys = [one for one in operation["parameters"] if one["name"] == "idempotency-key"]
            if path.endswith(NO_KEY) or path.startswith((*SECRETS, *BY_SLUG)):
                continue
            changing = method in ("post", "put", "patch", "delete")
            takes = changing and path.startswith(("/v1/events/", "/v1/tickets/", "/v1/operator/"))
            assert len(keys) == takes, (method, path)
            if takes:
                assert {"400", "409", "422", "503"} <= operation["responses"].keys()
                needed |= {path} if keys[0]["required"] else set()
    assert needed == {f"/v1/operator/events/{{event}}/{word}" for word in ("blocks", "unblock")}
