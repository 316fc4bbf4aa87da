"""The operators' HTTP for their own keys: a secret is told once, and nobody locks everybody out."""

from __future__ import annotations

import psycopg
import pytest

from store.operators.words import Role
from tests.gateway.operators_rig import KEY, SESSION, make, refusal, served
from tests.gateway.rig import EVENT, make_event, scenario

KEYS = "/v1/operator/keys"


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@scenario
async def test_a_key_is_made_listed_shown_rotated_and_revoked(engine_urls, conn):
    make_event(engine_urls.database_url)
    async with served(engine_urls) as call:
        new = {"name": "anna", "role": "operator", "events": [EVENT], "expires_in_days": 30}
        made = await call("POST", KEYS, KEY, body=new)
        key, secret = made.json()["key"], made.json()["secret"]
        there = f"{KEYS}/{key['id']}"
        assert (made.status, made.headers["location"], made.headers["cache-control"]) == (
            201,
            there,
            "no-store",
        )
        assert (key["name"], key["role"], key["events"], key["created_by"]) == (
            "anna",
            "operator",
            [EVENT],
            "environment",
        )
        assert (await call("GET", SESSION, secret)).json()["name"] == "anna"
        listed = await call("GET", KEYS, KEY)
        assert [one["id"] for one in listed.json()["keys"]] == [key["id"]]
        assert secret.split("_", 2)[2] not in listed.body.decode()
        rotated = await call("POST", f"{there}/rotate", KEY, body={"grace_seconds": 60})
        assert rotated.json()["secret"] != secret
        for good in (secret, rotated.json()["secret"]):
            assert (await call("GET", SESSION, good)).status == 200
        gone = await call("POST", f"{there}/revoke", KEY, body={"why": "she left"})
        assert (gone.status, gone.json()["state"], gone.json()["revoked_by"]) == (
            200,
            "revoked",
            "environment",
        )
        assert (await call("POST", f"{there}/revoke", KEY)).json() == gone.json()
        assert (await call("GET", there, KEY)).json() == gone.json()
        assert (await call("GET", KEYS, KEY)).json() == {"keys": []}
        assert (await call("GET", f"{KEYS}?revoked=true", KEY)).json() == {"keys": [gone.json()]}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "", {"name": "anna", "role": "viewer"}, 409, "key_exists"),
        ("POST", "", {"name": "bob", "role": "admin"}, 400, "invalid_key"),
        ("POST", "", {"name": "", "role": "viewer"}, 400, "invalid_key"),
        ("POST", "", {"name": "bob"}, 400, "invalid_body"),
        ("POST", "", {"name": "bob", "role": "viewer", "surprise": 1}, 400, "invalid_body"),
        ("POST", "", {"name": "bob", "role": "viewer", "expires_in_days": 400}, 400, "invalid_key"),
        ("POST", "", {"name": "bob", "role": "viewer", "events": ["none"]}, 404, "unknown_event"),
        ("POST", "", {"name": "bob", "role": "viewer", "events": []}, 400, "invalid_key"),
        ("POST", "", {"name": "b" * 20_000, "role": "viewer"}, 413, "too_large"),
        ("POST", "/1/rotate", {"grace_seconds": -1}, 400, "invalid_key"),
        ("POST", "/99/rotate", None, 404, "unknown_key"),
        ("POST", "/x/revoke", None, 404, "unknown_key"),
        ("POST", "/99999999999/revoke", None, 404, "unknown_key"),
        ("GET", "/99", None, 404, "unknown_key"),
        ("GET", "?revoked=maybe", None, 400, "bad_request"),
    ],
)
@scenario
async def test_what_cannot_be_is_a_problem_with_its_code(engine_urls, conn, method, path, body, status, code):
    make(conn)
    async with served(engine_urls) as call:
        assert refusal(await call(method, f"{KEYS}{path}", KEY, body=body)) == (status, code)


@scenario
async def test_only_owners_make_keys_so_none_is_above_who_made_it(engine_urls, conn):
    async with served(engine_urls) as call:
        for role in (Role.VIEWER, Role.OPERATOR):
            maker = make(conn, role, role)
            for wanted in Role:
                answer = await call("POST", KEYS, maker.secret, body={"name": "x", "role": wanted})
                assert refusal(answer) == (403, "role_required")


@scenario
async def test_the_last_owner_locks_nobody_out_where_no_key_is_in_the_environment(engine_urls, conn):
    owner = make(conn, "olga", Role.OWNER)
    there = f"{KEYS}/{owner.key.id}/revoke"
    async with served(engine_urls, operator_key="") as call:
        assert refusal(await call("POST", there, owner.secret)) == (409, "last_owner")
        assert (await call("GET", KEYS, owner.secret)).status == 200
    async with served(engine_urls) as call:
        assert (await call("POST", there, owner.secret)).status == 200
