"""The operators' HTTP for buyers: who may erase one, and what is refused."""

from __future__ import annotations

import psycopg
import pytest

from store.operators.words import Role
from store.words import EventState
from tests.gateway.rig import EVENT, gateway, make_event, scenario
from tests.gateway.test_live import key_of

KEY = "an operator key of the tests"
HEAD = {"Authorization": f"Bearer {KEY}"}
BODY = {"buyer": "ann", "why": "she asked for it"}


@pytest.fixture
def event(database_url):
    return make_event(database_url, state=EventState.CLOSED)


def waits(database_url, event):
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(
            "INSERT INTO place (event_id, buyer, in_draw, email) VALUES (%s, 'ann', true, 'ann@example.com')",
            (event,),
        )


async def erase(served, body, head=HEAD):
    return await served.http("POST", "/v1/operator/buyers/erase", body=body, headers=head)


@scenario
async def test_an_owner_erases_and_the_audit_says_who_and_why(engine_urls, event):
    waits(engine_urls.database_url, event)
    async with gateway(engine_urls, operator_key=KEY) as served:
        done = await erase(served, BODY)
        assert (done.status, done.json()) == (200, {"events": [EVENT], "buyers": 1, "rows": {"place": 1}})
        again = await erase(served, BODY)
        assert (again.status, again.json()["code"]) == (404, "unknown_buyer")
        rows = await served.http("GET", f"/v1/operator/events/{EVENT}/audit", headers=HEAD)
        [row] = rows.json()["audit"]
        assert (row["who"], row["why"], row["what"]["change"]) == (
            "environment", "she asked for it", "erase buyer",
        )  # fmt: skip


@scenario
async def test_by_mail_address(engine_urls, event):
    waits(engine_urls.database_url, event)
    async with gateway(engine_urls, operator_key=KEY) as served:
        done = await erase(served, {"mail": "ANN@example.com", "why": "she asked for it"})
    assert (done.status, done.json()["rows"]) == (200, {"place": 1})


@scenario
async def test_who_is_no_owner_erases_nobody(engine_urls, event):
    waits(engine_urls.database_url, event)
    made = key_of(engine_urls.database_url, Role.OPERATOR)
    async with gateway(engine_urls, operator_key=KEY) as served:
        refused = await erase(served, BODY, {"Authorization": f"Bearer {made.secret}"})
        assert (refused.status, refused.json()["code"]) == (403, "role_required")
        assert (await erase(served, BODY)).status == 200


@scenario
async def test_what_is_wrong_is_said_and_nothing_is_erased(engine_urls, database_url):
    waits(database_url, make_event(database_url))
    async with gateway(engine_urls, operator_key=KEY) as served:
        for body, status, code in (
            ({"why": "x"}, 400, "invalid_buyer"),
            ({"buyer": "ann", "mail": "a@b.de", "why": "x"}, 400, "invalid_buyer"),
            ({"buyer": "ann"}, 400, "invalid_body"),
            ({"buyer": "ann", "why": ""}, 400, "why_required"),
            (BODY, 409, "sale_running"),
            ({"buyer": "nobody", "why": "x"}, 404, "unknown_buyer"),
        ):
            refused = await erase(served, body)
            assert (refused.status, refused.json()["code"]) == (status, code)


@scenario
async def test_a_buyer_is_found_and_their_story_read_by_operators(engine_urls, event):
    waits(engine_urls.database_url, event)
    viewer = key_of(engine_urls.database_url, Role.VIEWER)
    path = f"/v1/operator/events/{EVENT}/buyers"
    async with gateway(engine_urls, operator_key=KEY) as served:
        found = await served.http("GET", f"{path}?find=ann", headers=HEAD)
        assert found.json() == {"found": [{"buyer": "ann", "by": "buyer"}], "more": False}
        told = (await served.http("GET", f"{path}/ann", headers=HEAD)).json()
        assert (told["buyer"], told["places"][0]["state"], told["mail"]) == (
            "ann",
            "waiting",
            ["ann@example.com"],
        )
        for asked, status, code in (
            (f"{path}/nobody%2Fhere", 404, "unknown_buyer"),
            (f"{path}/%00", 404, "unknown_buyer"),
            (f"{path}?find=a", 400, "find_too_short"),
            (f"{path}?find=ann&limit=0", 400, None),
            ("/v1/operator/events/nowhere/buyers?find=ann", 404, "unknown_event"),
        ):
            refused = await served.http("GET", asked, headers=HEAD)
            assert refused.status == status
            assert code is None or refused.json()["code"] == code
        refused = await served.http(
            "GET", f"{path}/ann", headers={"Authorization": f"Bearer {viewer.secret}"}
        )
        assert (refused.status, refused.json()["code"]) == (403, "role_required")
