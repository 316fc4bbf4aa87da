"""Joining behind the guard, over HTTP both ways and by socket: refusals, and who is who behind proxies."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any
from urllib.parse import quote

import altcha
import psycopg
import pytest

from gateway.room.settings import RoomSettings
from store.room import codes, operating
from store.room.words import Proof
from tests.gateway.rig import EVENT, gateway, scenario, token, until
from tests.gateway.room.lobby import ROOM, asked, join, make_room, room_at
from tests.store.room.rooming import OLGA

OPERATOR = "an operator's key for these tests"
OURS = (ip_network("127.0.0.0/8"),)


def settings(**most: Any) -> RoomSettings:
    given: dict[str, Any] = {"key": "a key for the waiting room of these tests", "proof_tries_max": 8}
    return RoomSettings(**(given | most))


async def solved(served, buyer="ann") -> str:
    given = (await asked(served, "GET", "/challenge", buyer)).json()
    challenge = altcha.Challenge.from_dict(given)
    found = altcha.solve_challenge(challenge)
    assert found is not None
    return altcha.Payload(challenge, found).to_base64()


async def join_from(served, buyer, address, *, stays=True):
    head = {"Authorization": f"Bearer {token(buyer)}", "X-Forwarded-For": address}
    return await served.http("POST", f"{ROOM}/join", headers=head, stays=stays)


@pytest.mark.parametrize("stays", [True, False])
@scenario
async def test_behind_a_proxy_of_ours_each_address_has_its_own_bound(engine_urls, stays):
    make_room(engine_urls.database_url, proof=Proof.OFF)
    async with gateway(
        engine_urls, trusted_proxies=OURS, room=settings(joins_per_address_minute=1)
    ) as served:
        for number in range(5):
            forged = f"192.0.2.{number}, 198.51.100.7"  # each join claims to come from somewhere else
            assert (await join_from(served, f"b{number}", forged, stays=stays)).status == 200
        refused = await join_from(served, "late", "192.0.2.99, 198.51.100.7", stays=stays)
        assert refused.status == 429
        assert refused.json()["code"] == "too_many_joins_from_address"
        assert int(refused.headers["retry-after"]) > 50
        assert (await join_from(served, "other", "198.51.100.8", stays=stays)).status == 200


@scenario
async def test_without_proxies_of_ours_nobody_gets_another_address_by_a_header(engine_urls):
    make_room(engine_urls.database_url, proof=Proof.OFF)
    async with gateway(engine_urls, room=settings(joins_per_address_minute=1)) as served:
        codes = [(await join_from(served, f"b{n}", f"198.51.100.{n}")).status for n in range(7)]
        assert codes == [200] * 5 + [429] * 2


@scenario
async def test_sockets_are_bounded_by_the_same_address(engine_urls):
    make_room(engine_urls.database_url, proof=Proof.OFF)
    async with gateway(
        engine_urls, trusted_proxies=OURS, room=settings(joins_per_address_minute=1)
    ) as served:
        for number in range(5):
            assert (await join_from(served, f"b{number}", "198.51.100.7")).status == 200
        for address, answer in (("198.51.100.7", "error"), ("198.51.100.8", "place")):
            head = {"X-Forwarded-For": f"192.0.2.1, {address}"}
            async with served.socket(f"at-{address}", additional_headers=head) as buyer:
                await buyer.send({"type": "join"})
                frame = await buyer.receive("place", "error", but=("room",))
                assert frame["type"] == answer
                assert frame.get("code") == ("too_many_joins_from_address" if answer == "error" else None)


@scenario
async def test_a_busy_rooms_proof_is_told_in_its_status_asked_for_and_good_once(engine_urls):
    make_room(engine_urls.database_url, proof=Proof.ALWAYS)
    async with gateway(engine_urls, room=settings()) as served:
        assert (await served.http("GET", ROOM)).json()["proof"] is True
        refused = await join(served)
        assert (refused.status, refused.json()["code"]) == (400, "proof_required")
        proof = await solved(served)
        foreign = await join(served, "bob", {"proof": proof})
        assert (foreign.status, foreign.json()["code"]) == (400, "proof_not_valid")
        assert (await join(served, "ann", {"proof": proof})).status == 200
        assert (await join(served, "ann")).status == 200, "who has a place proves nothing to be told of it"
        assert (await asked(served, "POST", "/leave")).status == 200
        again = await join(served, "ann", {"proof": proof})
        assert (again.status, again.json()["code"]) == (400, "proof_used")


@scenario
async def test_codes_guessed_in_bulk_are_refused_with_what_to_do(engine_urls):
    make_room(engine_urls.database_url, proof=Proof.OFF)
    async with gateway(engine_urls, room=settings(codes_per_buyer_minute=1)) as served:
        guesses = ["no code at all", *[f"7K2M-Q9RT-X4WD-{n:04}" for n in range(7)]]
        told = [(await join(served, "ann", {"code": guess})).json()["code"] for guess in guesses]
        assert told == ["code_not_valid"] + ["unknown_code"] * 4 + ["too_many_codes_tried"] * 3
        assert (await join(served, "ann")).status == 200, "without a code they may join"


@scenario
async def test_a_right_code_is_no_attempt_and_one_that_was_used_is(engine_urls):
    event = make_room(engine_urls.database_url, proof=Proof.OFF)
    with psycopg.connect(engine_urls.database_url) as conn:
        invited = codes.issue(conn, event, "an office", 20, 1)
    async with gateway(engine_urls, room=settings(codes_per_address_minute=1)) as served:
        for number, code in enumerate(invited):
            assert (await join(served, f"b{number}", {"code": code})).json()["lane"] == "priority"
        told = [(await join(served, f"c{n}", {"code": invited[0]})).json()["code"] for n in range(6)]
        assert told == ["code_used"] * 5 + ["too_many_codes_from_address"]


@scenario
async def test_a_revoked_code_is_told_so_and_trying_it_is_bounded(engine_urls):
    make_room(engine_urls.database_url, proof=Proof.OFF)
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        [code] = operating.issue_codes(conn, EVENT, OLGA, label="fans", count=1, uses=9)
        operating.revoke_codes(conn, EVENT, OLGA, label="fans")
    async with gateway(engine_urls, room=settings(codes_per_buyer_minute=1)) as served:
        told = [await join(served, "ann", {"code": code}) for _ in range(6)]
        assert [answer.status for answer in told] == [409] * 5 + [429]
        assert told[0].json()["code"] == "code_revoked"
        assert "join without it" in told[0].json()["detail"]
        assert (await join(served, "ann")).status == 200


@scenario
async def test_operators_see_who_was_turned_away(engine_urls):
    make_room(engine_urls.database_url, proof=Proof.ALWAYS)
    async with gateway(engine_urls, operator_key=OPERATOR, room=settings()) as served:
        for number in range(3):
            await join(served, f"b{number}")
        await served.runtime.guard.refusals.write()
        head = {"Authorization": f"Bearer {OPERATOR}"}
        path = f"/v1/operator/events/{EVENT}/room/refused"
        found = (await served.http("GET", path, headers=head)).json()["refused"]
        assert [(row["reason"], row["count"]) for row in found] == [("proof_required", 3)]
        assert list(found[0]["addresses"].values()) == [3]
        assert (await served.http("GET", path)).status == 401
        minute = quote(found[0]["minute"])
        since = (await served.http("GET", f"{path}?since={minute}", headers=head)).json()["refused"]
        assert since == found
        until = await served.http("GET", f"{path}?until={minute}", headers=head)
        assert until.json()["refused"] == []
        wrong = await served.http("GET", f"{path}?since={minute}&until={minute}", headers=head)
        assert (wrong.status, wrong.json()["code"]) == (400, "invalid_range")


@scenario
async def test_an_address_for_mail_goes_with_the_join_and_nobody_else_sees_it(engine_urls):
    make_room(engine_urls.database_url, proof=Proof.OFF)
    async with gateway(engine_urls, room=settings()) as served:
        place = await join(served, "ann", {"email": "ann@example.org"})
        assert place.status == 200
        assert b"example.org" not in place.body
        wrong = await join(served, "bob", {"email": "a@b, c@d"})
        assert (wrong.status, wrong.json()["code"]) == (400, "email_not_valid")
        assert "ann@example.org" in wrong.json()["detail"], "a buyer reads it, and no pattern"
        async with served.socket("carl") as carl:
            await carl.send({"type": "join", "email": "carl@under_score"})
            assert (await carl.receive("error", but=("room",)))["code"] == "email_not_valid"
            await carl.send({"type": "join", "email": 7, "code": "x"})
            assert (await carl.receive("error", but=("room",)))["code"] == "email_not_valid"
        with psycopg.connect(engine_urls.database_url) as conn:
            assert conn.execute("SELECT buyer, email FROM place").fetchall() == [("ann", "ann@example.org")]


@scenario
async def test_the_human_check_stands_before_a_place_over_http_and_socket(engine_urls):
    make_room(engine_urls.database_url, proof=Proof.OFF)
    nobody = settings(human_check_url="http://127.0.0.1:9/", human_check_secret="s")
    async with gateway(engine_urls, room=nobody) as served:
        refused = await join(served)
        assert (refused.status, refused.json()["code"]) == (400, "human_check_failed")
        away = await join(served, "ann", {"human": "an answer"})
        assert away.status == 503
        assert int(away.headers["retry-after"]) > 0
        async with served.socket() as buyer:
            await buyer.send({"type": "join"})
            frame = await buyer.receive("error", but=("room",))
            assert frame["code"] == "human_check_failed"
        await until(lambda: not room_at(served).in_use)
