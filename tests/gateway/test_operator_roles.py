"""Every call of operators' asks for the role it must, and finds no event that its key is not for.

One table over all routes there are: who adds one says here who may call it, where that is not by rule.
"""

from __future__ import annotations

import re

import psycopg
import pytest

from store.operators.words import Role
from tests.gateway.operators_rig import make, refusal, served
from tests.gateway.rig import EVENT, make_event, scenario

BY_OTHER_ROLES = {
    ("POST", "/v1/operator/events/{event}/cancel"): Role.OWNER,
    ("POST", "/v1/operator/events/{event}/move"): Role.OWNER,
    ("GET", "/v1/operator/events/{event}/buyers"): Role.OPERATOR,  # it names people
    ("GET", "/v1/operator/events/{event}/buyers/{buyer:path}"): Role.OPERATOR,
    ("POST", "/v1/operator/buyers/erase"): Role.OWNER,
    ("GET", "/v1/operator/keys"): Role.OWNER,
    ("POST", "/v1/operator/keys"): Role.OWNER,
    ("GET", "/v1/operator/keys/{key}"): Role.OWNER,
    ("POST", "/v1/operator/keys/{key}/rotate"): Role.OWNER,
    ("POST", "/v1/operator/keys/{key}/revoke"): Role.OWNER,
    ("GET", "/v1/operator/webhooks"): Role.OPERATOR,  # an address may be a secret
    ("GET", "/v1/operator/webhooks/{subscriber}"): Role.OPERATOR,
    ("POST", "/v1/operator/webhooks"): Role.OWNER,
    ("POST", "/v1/operator/webhooks/{subscriber}/rotate"): Role.OWNER,
    ("POST", "/v1/operator/webhooks/{subscriber}/remove"): Role.OWNER,
    ("DELETE", "/v1/operator/session"): Role.VIEWER,
}
"""All others: viewers read, operators change."""
FOR_EVERYBODY = {("POST", "/v1/operator/session")}
OF_ITS_EVENTS = {
    ("GET", "/v1/operator/audit"),
    ("GET", "/v1/operator/events"),
    ("GET", "/v1/operator/launches"),
    ("GET", "/v1/operator/session"),
    ("DELETE", "/v1/operator/session"),
}
"""What names no event and still answers a key that is limited to some."""


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def needed(method, path):
    return BY_OTHER_ROLES.get((method, path), Role.VIEWER if method == "GET" else Role.OPERATOR)


def address(path, event="nothing"):
    """Of something that is not there, so that nothing is changed by who may change it."""
    return re.sub(r"\{\w+(?::\w+)?\}", "999", path.replace("{event}", event))


@scenario
async def test_each_call_asks_for_its_role(engine_urls, conn):
    key_of = {role: make(conn, role, role).secret for role in Role}
    async with served(engine_urls) as call:
        routes = [one for one in call.routes() if one not in FOR_EVERYBODY]
        assert len(routes) > 50
        assert BY_OTHER_ROLES.keys() <= set(routes)
        for method, path in routes:
            assert refusal(await call(method, address(path))) == (401, "operator_key"), (method, path)
            for role, key in key_of.items():
                answer = await call(method, address(path), key, Idempotency_Key="once")
                passes = role.includes(needed(method, path))
                refused = answer.status in (401, 403)
                assert refused is not passes, (method, path, role, answer)
                assert not refused or refusal(answer) == (403, "role_required"), (method, path, role)


@scenario
async def test_no_call_finds_an_event_its_key_is_not_for(engine_urls, conn):
    make_event(engine_urls.database_url)
    async with served(engine_urls) as call:
        other = {"slug": "secret-gig", "venue": "arena"}
        owner = make(conn, "all", Role.OWNER)
        assert (await call("POST", "/v1/operator/events", owner.secret, body=other)).status == 201
        limited = make(conn, "some", Role.OWNER, events=[EVENT]).secret
        for method, path in call.routes():
            if (method, path) in FOR_EVERYBODY:
                continue
            if "{event}" in path:
                answer = await call(method, address(path, "secret-gig"), limited, Idempotency_Key="once")
                assert refusal(answer) == (404, "unknown_event"), (method, path)
            elif (method, path) in OF_ITS_EVENTS:
                answer = await call(method, path, limited)
                assert answer.status < 500, (method, path)
                assert b"secret-gig" not in answer.body, (method, path)
            else:
                answer = await call(method, address(path), limited)
                assert refusal(answer) == (403, "key_limited"), (method, path)


@scenario
async def test_nothing_is_moved_to_an_event_its_key_is_not_for(engine_urls, conn):
    make_event(engine_urls.database_url)
    async with served(engine_urls) as call:
        owner = make(conn, "all", Role.OWNER)
        other = {"slug": "secret-gig", "venue": "arena"}
        await call("POST", "/v1/operator/events", owner.secret, body=other)
        limited = make(conn, "some", Role.OWNER, events=[EVENT]).secret
        body = {"to": "secret-gig", "why": "rain"}
        answer = await call("POST", f"/v1/operator/events/{EVENT}/move", limited, body=body)
        assert refusal(answer) == (404, "unknown_event")


@scenario
async def test_a_list_shows_a_limited_key_what_is_its_own(engine_urls, conn):
    make_event(engine_urls.database_url)
    async with served(engine_urls) as call:
        owner, limited = make(conn, "all", Role.OWNER), make(conn, "some", Role.VIEWER, events=[EVENT])
        other = {"slug": "secret-gig", "venue": "arena"}
        await call("POST", "/v1/operator/events", owner.secret, body=other)
        await call("POST", f"/v1/operator/events/{EVENT}/pause", owner.secret)
        listed = await call("GET", "/v1/operator/events", limited.secret)
        assert [one["slug"] for one in listed.json()["events"]] == [EVENT]
        rows = (await call("GET", "/v1/operator/audit", limited.secret)).json()["audit"]
        assert [(row["event"], row["what"]["change"]) for row in rows] == [(EVENT, "state")]
        elsewhere = await call("GET", "/v1/operator/audit?event=secret-gig", limited.secret)
        assert refusal(elsewhere) == (404, "unknown_event")
