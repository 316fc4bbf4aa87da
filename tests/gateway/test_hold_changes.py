"""Extending a hold and giving some of it back, on the socket and over HTTP."""

from __future__ import annotations

import psycopg
import pytest

from store.words import EventState
from tests.gateway.rig import EVENT, SEATS, StandIn, gateway, make_event, scenario, token

HOLDS = f"/v1/events/{EVENT}/holds"


@pytest.fixture
def event(database_url):
    return make_event(database_url, state=EventState.OPEN)


def give(conn, event, hold_id=65536, *, buyer="ann", seats=(1, 2), places=2, seconds=300.0):
    """What an allocator writes when it gives a hold; its end in milliseconds."""
    guids = ",".join(f'"{SEATS[no]}"' for no in seats)
    row = conn.execute(
        "INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at)"
        " VALUES (%s, %s, %s, 'r1', %s, clock_timestamp() + make_interval(secs => %s))"
        " RETURNING floor(extract(epoch FROM expires_at) * 1000)::bigint",
        (event, hold_id, buyer, len(seats) + places, seconds),
    ).fetchone()
    for no in seats:
        conn.execute("UPDATE seat SET state = 'held', hold_id = %s WHERE seat_no = %s", (hold_id, no))
        conn.execute("INSERT INTO hold_seat VALUES (%s, %s, %s)", (event, no, hold_id))
    if places:
        conn.execute("INSERT INTO hold_area VALUES (%s, %s, 0, %s)", (event, hold_id, places))
        conn.execute("UPDATE area SET held = held + %s", (places,))
    conn.execute(
        "INSERT INTO ledger (event_id, batch_no, position, kind, arrival, buyer, request_id, input, outcome,"
        " result) VALUES (%s, %s, %s, 'request', '1-1', %s, %s, '{}', 'held', %s)",
        (event, hold_id >> 16, hold_id & 65535, buyer, f"r{hold_id}", f'{{"seats":[{guids}]}}'),
    )
    return row[0]


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def bearer(buyer="ann"):
    return {"Authorization": f"Bearer {token(buyer)}"}


@scenario
async def test_a_hold_is_extended_both_ways_and_a_repeated_call_extends_no_more(engine_urls, event, conn):
    conn.execute("UPDATE event SET extensions_max = 2")
    ends = give(conn, event)
    async with gateway(engine_urls) as served, StandIn(engine_urls, event), served.socket() as ann:
        wish = {"type": "extend", "hold": "65536", "expires_at": ends}
        later = {"type": "hold", "hold": "65536", "state": "active", "expires_at": ends + 120_000,
                 "extensions_left": 1}  # fmt: skip
        await ann.send(wish)
        assert await ann.receive("hold") == later
        await ann.send(wish)
        assert await ann.receive("hold") == later
        body = {"expires_at": ends + 120_000, "accessible": True}
        answer = await served.http("POST", f"{HOLDS}/65536/extend", body=body, headers=bearer())
        assert (answer.status, answer.json()) == (
            200, {"hold": "65536", "state": "active", "expires_at": ends + 360_000, "extensions_left": 0},
        )  # fmt: skip
        await ann.receive("hold")  # what was done over HTTP
        await ann.send(wish | {"expires_at": ends + 360_000})
        refusal = await ann.receive("error")
        assert (refusal["code"], refusal["hold"]) == ("no_extensions_left", "65536")
        foreign = await served.http("POST", f"{HOLDS}/65536/extend", body=body, headers=bearer("bob"))
        assert (foreign.status, foreign.json()["code"]) == (404, "hold_not_found")


@scenario
async def test_some_of_a_hold_is_given_back_both_ways(engine_urls, event, conn):
    ends = give(conn, event)
    async with gateway(engine_urls) as served, StandIn(engine_urls, event), served.socket() as ann:
        area = served.runtime.events.loaded()[0].plan.areas[0].guid
        await ann.send({"type": "release", "hold": "65536", "seats": [SEATS[1]], "areas": {area: 1}})
        assert await ann.receive("hold") == {
            "type": "hold", "hold": "65536", "state": "active", "expires_at": ends, "extensions_left": 1,
            "seats": [SEATS[2]], "areas": {area: 1},
        }  # fmt: skip
        again = {"areas": {area: 1}, "quantity": 4}
        answer = await served.http("POST", f"{HOLDS}/65536/release", body=again, headers=bearer())
        assert (answer.status, answer.json()["areas"]) == (200, {area: 1})
        everything = {"areas": {area: 1}, "seats": [SEATS[2]], "quantity": 2}
        answer = await served.http("POST", f"{HOLDS}/65536/release", body=everything, headers=bearer())
        assert (answer.status, answer.json()) == (200, {"hold": "65536", "state": "released"})


@pytest.mark.parametrize(
    ("named", "status", "code"),
    [
        ({"seats": ["nowhere"]}, 409, "not_in_hold"),
        ({"seats": [SEATS[9]]}, 409, "not_in_hold"),
        ({"areas": {"nowhere": 1}}, 409, "not_in_hold"),
        ({"seats": []}, 400, "nothing_named"),
        ({"quantity": 4}, 400, "nothing_named"),
        ({"seats": [SEATS[1], SEATS[1]]}, 400, "seat_twice"),
        ({"areas": {"a": 50, "b": 50}}, 409, "not_in_hold"),
        ({"row": 1}, 400, "bad_body"),
        ({"seats": None}, 400, "bad_body"),
        (b"x" * 17_000, 413, "body_too_large"),
    ],
    ids=str,
)
@scenario
async def test_what_cannot_be_given_back_changes_nothing(engine_urls, event, conn, named, status, code):
    give(conn, event)
    async with gateway(engine_urls) as served, StandIn(engine_urls, event):
        answer = await served.http("POST", f"{HOLDS}/65536/release", body=named, headers=bearer())
        assert (answer.status, answer.json()["code"]) == (status, code)
        foreign = await served.http("POST", f"{HOLDS}/65536/release", body=named, headers=bearer("bob"))
        assert foreign.status == (404 if status == 409 else status)
    assert conn.execute("SELECT state, quantity FROM hold").fetchall() == [("active", 4)]
