"""Who may ask: one algorithm for a secret, a token that still runs, this origin's whole name."""

from __future__ import annotations

import time

import jwt
import psycopg
import pytest

from gateway.buyers import socket as socket_module
from gateway.problems import Unauthorized
from gateway.runtime import Runtime
from tests.gateway.rig import SECRET, StandIn, gateway, make_event, scenario
from tests.gateway.test_tokens import claims, settings, verify


@pytest.fixture
def event(database_url):
    return make_event(database_url)


@pytest.mark.parametrize("algorithm", ["HS384", "HS512"])
def test_a_shared_secret_verifies_no_other_algorithm_than_hs256(algorithm):
    assert verify(jwt.encode(claims(), SECRET * 2, algorithm="HS256"), token_secret=SECRET * 2).id == "ann"
    with pytest.raises(Unauthorized):
        verify(jwt.encode(claims(), SECRET * 2, algorithm=algorithm), token_secret=SECRET * 2)


@pytest.mark.parametrize("change", ["confirm", "release"])
@scenario
async def test_a_hold_is_not_changed_with_a_token_that_ran_out(engine_urls, event, monkeypatch, change):
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        conn.execute(
            "INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at)"
            " VALUES (%s, 1, 'ann', 'r', 1, clock_timestamp() + interval '8 minutes')", (event,)
        )  # fmt: skip
        conn.execute("UPDATE seat SET state = 'held', hold_id = 1 WHERE seat_no = 1")
        conn.execute("INSERT INTO hold_seat VALUES (%s, 1, 1)", (event,))
        async with gateway(engine_urls) as served, StandIn(engine_urls, event), served.socket() as ann:

            class Later:
                @staticmethod
                def time() -> float:
                    return time.time() + 3600

            monkeypatch.setattr(socket_module, "time", Later)
            await ann.send({"type": change, "hold": "1"})
            refusal = await ann.receive("error")
            assert (refusal["code"], refusal["hold"]) == ("token_expired", "1")
        assert conn.execute("SELECT state FROM hold").fetchall() == [("active",)]


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        (None, True),
        ("https://tickets.example", True),
        ("http://shop.example:8000", True),
        ("https://shop.example:8000", True),
        ("http://shop.example", False),
        ("http://shop.example:8001", False),
        ("http://shop.example.evil.example:8000", False),
        ("http://evil.example", False),
        ("null", False),
        ("", False),
        ("http://", False),
    ],
)
@pytest.mark.parametrize("host", ["shop.example:8000"])
def test_an_origin_is_this_ones_own_only_with_its_port_and_whole_name(origin, allowed, host):
    runtime = Runtime.__new__(Runtime)
    runtime.settings = settings(origins=frozenset({"https://tickets.example"}))
    assert runtime.origin_allowed(origin, host) is allowed


@pytest.mark.parametrize("origin", ["", "null", "http://"])
def test_a_browser_that_names_no_host_is_nobodys_own(origin):
    runtime = Runtime.__new__(Runtime)
    runtime.settings = settings()
    assert not runtime.origin_allowed(origin, "")
