"""Any bytes where HTTP is expected: no 5xx, no waiting for ever, and nothing is left."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway import http_bounds
from tests.fuzz.conftest import Storm
from tests.fuzz.mutations import damaged
from tests.fuzz.wire import wire
from tests.gateway.rig import EVENT, token
from tests.model.stack import OPERATOR_KEY
from tests.profiles import searching

STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
BUYER = b"Authorization: Bearer " + token("ann", seconds=3_600).encode()
OPERATOR = b"Authorization: Bearer " + OPERATOR_KEY.encode()
WANT = json.dumps({"seats": ["A-1"], "best": {"quantity": 1}, "areas": {"floor": 1}}).encode()
PATH = f"/v1/events/{EVENT}".encode()


def request(line: bytes, *head: bytes, body: bytes | None = None) -> bytes:
    lines = [line + b" HTTP/1.1", b"Host: x", *head]
    if body is not None:
        lines.append(b"Content-Length: " + str(len(body)).encode())
    return b"\r\n".join([*lines, b"", body or b""])


def chunked(*pieces: bytes) -> bytes:
    body = b"".join(f"{len(piece):x}".encode() + b"\r\n" + piece + b"\r\n" for piece in (*pieces, b""))
    head = request(
        b"POST " + PATH + b"/requests", BUYER, b"Idempotency-Key: c1", b"Transfer-Encoding: chunked"
    )
    return head + body


VALID = [
    request(b"GET " + PATH),
    request(b"GET " + PATH + b"/plan", b'If-None-Match: "x"'),
    request(b"GET " + PATH + b"/requests/r1?wait_ms=0", BUYER),
    request(b"POST " + PATH + b"/requests", BUYER, b"Idempotency-Key: r1", body=WANT),
    request(b"POST " + PATH + b"/holds/65536/release", BUYER, body=b""),
    request(b"PATCH /v1/operator/events/none/policy", OPERATOR, body=b'{"hold_ttl_seconds":60}'),
    request(b"POST /v1/operator/events", OPERATOR, body=b'{"slug":"x","venue":"none"}'),
    request(b"OPTIONS " + PATH, b"Origin: http://x", b"Access-Control-Request-Method: POST"),
    request(b"GET /e/" + EVENT.encode()) + request(b"GET /static/x/app.js"),
    request(b"GET /v1/socket", b"Upgrade: websocket", b"Connection: Upgrade", b"Sec-WebSocket-Version: 13"),
    chunked(WANT[:9], WANT[9:]),
]
ODD = [
    request(b"PUT " + PATH),
    request(b"POST " + PATH + b"/requests", BUYER, b"Idempotency-Key: r3", b"Content-Length: 5000"),
    request(b"POST " + PATH + b"/requests", BUYER, b"Idempotency-Key: r2", b"Content-Length: 5", body=WANT),
    request(b"POST " + PATH + b"/requests", BUYER, b"Content-Length: -1"),
    request(b"POST " + PATH + b"/requests", BUYER, b"Content-Length: 99999999999999999999"),
    request(b"POST " + PATH + b"/requests", BUYER, b"Transfer-Encoding: chunked", body=WANT),
    request(b"POST " + PATH + b"/requests", BUYER, b"Expect: 100-continue", body=WANT),
    request(b"GET /" + b"%" * 3_000),
    request(b"GET /" + b"a/" * 5_000),
    request(b"GET " + PATH + b"/requests/%ff%fe", BUYER),
    request(b"GET /v1/operator/events/%00", OPERATOR),
    request(b"GET /v1/events/%E2%80%AE"),
    request(b"GET /e/%0d%0aX: y"),
    request(b"CONNECT x:1"),
    request(b"GET http://other/v1/events"),
    request(b"GET *"),
    request(b"BREW /"),
    request(b"GET /v1/events", *(b"X-%d: y" % n for n in range(500))),
    request(b"GET /v1/events", b"Cookie: " + b"x" * 20_000),
    request(b"GET /v1/events", b" folded", b"No colon"),
    request(b"GET /v1/events", b"Authorization: \xff\xfe", b"Origin: \xff"),
    request(b"GET /v1/events") * 200,
    b"GET /v1/events\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"\r\n" * 1_000,
    b"",
]


@pytest.fixture
def impatient(storm: Storm, monkeypatch: pytest.MonkeyPatch) -> Storm:
    """Half a request, and a connection without one, are given up in a moment."""
    monkeypatch.setattr(http_bounds, "REQUEST_SECONDS_MAX", 0.2)
    monkeypatch.setattr(storm.both.served.server.config, "timeout_keep_alive", 0.2)
    return storm


def statuses(port: int, raw: bytes) -> list[int]:
    """Of every answer, until the gateway closes: at the latest after the request behind these bytes."""
    with wire(port) as line:
        line.send(raw + request(b"GET /health/live", b"Connection: close"))
        return [int(status) for status in STATUS.findall(line.read())]


def test_damaged_requests_are_answered_or_dropped(impatient):
    seen: Counter[int] = Counter()

    @searching(250)
    @given(damaged(VALID + ODD))
    def judge(raw: bytes) -> None:
        found = statuses(impatient.port, raw)
        assert all(status < 500 for status in found), found
        seen.update(found)

    judge()
    assert {200, 400, 401, 404} <= seen.keys(), seen


def test_odd_requests_are_answered_or_dropped(impatient):
    seen: Counter[int] = Counter()
    for raw in VALID + ODD:
        found = statuses(impatient.port, raw)
        assert all(status < 500 for status in found), (raw[:80], found)
        seen.update(found)
    assert {200, 202, 400, 404, 405, 408} <= seen.keys(), seen


def test_bodies_in_any_pieces_say_the_same(storm):
    @searching(60)
    @given(st.lists(st.integers(1, len(WANT)), max_size=8), st.binary(max_size=3))
    def judge(cuts: list[int], after: bytes) -> None:
        edges = [0, *sorted(set(cuts)), len(WANT)]
        pieces = [WANT[a:b] for a, b in pairwise(edges) if a < b]
        with wire(storm.port) as line:
            line.send(chunked(*pieces) + request(b"GET /health/live", b"Connection: close") + after)
            found = [int(status) for status in STATUS.findall(line.read())]
        assert found[0] in (202, 409)
        assert found[-1] == 200

    judge()
