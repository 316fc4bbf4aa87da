"""Any frames on the websocket: every one is answered or ends the connection, and nothing is left of it."""

from __future__ import annotations

import itertools
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mutations import NASTY, damaged, disturbed
from tests.fuzz.wire import BINARY, CLOSE, CONTINUED, PING, PONG, TEXT, Wire, frame, wire
from tests.gateway.rig import EVENT, token
from tests.profiles import searching

ANN = token("ann", seconds=3_600)
HELLO = {"type": "hello", "event": EVENT, "token": ANN, "watch": True}
FRAMES = [
    {"type": "request", "id": "r1", "seats": ["A-1"]},
    {"type": "request", "id": "r2", "best": {"quantity": 2, "section": "Stalls", "category": "Gold"}},
    {"type": "request", "id": "r3", "areas": {"floor": 2}, "again": True},
    {"type": "resume", "ids": ["r1", "r2"]},
    {"type": "release", "hold": "65536"},
    {"type": "confirm", "hold": "65536"},
    {"type": "waiting"},
    {"type": "leave", "id": "r1"},
    {"type": "join", "code": "c1", "proof": "p1", "human": "h1", "email": "ann@example.org"},
    {"type": "begin"},
    {"type": "leave_line"},
    {"type": "wish", "want": {"best": {"quantity": 2}}},
    HELLO,
]
KINDS = {
    "welcome",
    "accepted",
    "decision",
    "not_queued",
    "unknown",
    "delayed",
    "hold",
    "seats",
    "event",
    "error",
    "waiting",
    "left",
    "offer",
}
texts = damaged([json.dumps(one).encode() for one in FRAMES]) | disturbed(FRAMES).map(
    lambda value: json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass")
)
_names = itertools.count()


def greeted(line: Wire) -> None:
    assert line.upgrade().startswith(b"HTTP/1.1 101")
    line.send(frame(TEXT, json.dumps(HELLO).encode()))


def answered(line: Wire, *, whole: bool = True) -> set[str]:
    """Ask what only this test asks: what comes before the answer is what the frames were answered with.

    Without the answer the connection must have ended. Where a frame may be half, the gateway rightly waits
    for the rest: it is told that none will come.
    """
    name = f"fence-{next(_names)}"
    line.send(frame(TEXT, json.dumps({"type": "resume", "ids": [name]}).encode()))
    if not whole:
        line.end()
    said = set()
    for told in line.until_answered(name):
        assert told["type"] in KINDS
        if told["type"] == "error":
            assert told["message"]
            assert told["code"] != "internal"
        said.add(str(told.get("code", told["type"])))
    return said


def test_damaged_frames_are_answered(storm):
    said: set[str] = set()

    @searching(250)
    @given(st.lists(texts, min_size=1, max_size=6))
    def judge(payloads: list[bytes]) -> None:
        with wire(storm.port) as line:
            greeted(line)
            line.send(b"".join(frame(TEXT, payload) for payload in payloads))
            said.update(answered(line))

    judge()
    with wire(storm.port) as line:  # the list is looked at for all who ask together, and so a little later
        greeted(line)
        line.send(frame(TEXT, b'{"type": "waiting"}'))
        while "waiting" not in said:
            said.update(answered(line))
    assert said >= {
        "welcome",
        "unknown",
        "bad_frame",
        "decision",
        "hold_not_found",
        "not_waiting",
        "waiting",
    }


def test_damaged_greetings_are_answered_or_closed(storm):
    hellos = damaged([json.dumps(HELLO).encode()]) | disturbed([HELLO]).map(lambda v: json.dumps(v).encode())

    said: set[str] = set()

    @searching(150)
    @given(hellos, st.booleans())
    def judge(payload: bytes, as_text: bool) -> None:
        with wire(storm.port) as line:
            assert line.upgrade().startswith(b"HTTP/1.1 101")
            line.send(frame(TEXT if as_text else BINARY, payload))
            said.update(answered(line))

    judge()
    assert said >= {"welcome", "unknown", "bad_frame"}


pieces = st.one_of(
    st.builds(frame, st.sampled_from((TEXT, BINARY, CONTINUED, PING, PONG)), st.sampled_from(NASTY)),
    st.builds(frame, st.sampled_from((TEXT, CONTINUED)), st.sampled_from(NASTY), last=st.just(False)),
    st.builds(frame, st.integers(0, 15), st.binary(max_size=130), last=st.booleans(), bits=st.integers(0, 7)),
    st.builds(frame, st.just(TEXT), texts, masked=st.just(False)),
    st.builds(frame, st.just(TEXT), st.just(b"x" * 70_000)),
    st.builds(frame, st.just(CLOSE), st.binary(max_size=3)),
    st.just(b"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff"),
    st.just(b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff" + bytes(40)),
    st.just(frame(TEXT, b"", last=False) + frame(CONTINUED, b"", last=False) * 3_000),
    st.just(frame(TEXT, b'{"type":', last=False) + frame(PING) + frame(CONTINUED, b'"resume","ids":[]}')),
    st.just(frame(PING, b"x" * 125) * 500),
    st.binary(max_size=40),
)


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
def test_frames_that_break_the_websocket_protocol_end_the_connection_and_no_other(storm):
    @searching(200)
    @given(st.booleans(), st.lists(pieces, min_size=1, max_size=4))
    def judge(greet: bool, raws: list[bytes]) -> None:
        with wire(storm.port) as line:
            if greet:
                greeted(line)
            else:
                assert line.upgrade().startswith(b"HTTP/1.1 101")
            line.send(b"".join(raws))
            answered(line, whole=False)

    judge()


def test_who_leaves_in_the_middle_leaves_nothing(storm):
    """Gone after the upgrade, in a frame, with answers unread: whatever was asked is decided all the same."""

    @searching(60)
    @given(st.lists(texts, max_size=3), st.integers(0, 200), st.booleans())
    def judge(payloads: list[bytes], cut: int, greet: bool) -> None:
        with wire(storm.port) as line:
            assert line.upgrade().startswith(b"HTTP/1.1 101")
            raw = b"".join(frame(TEXT, one) for one in [json.dumps(HELLO).encode()][: int(greet)] + payloads)
            line.send(raw[: max(0, len(raw) - cut)])

    judge()


def test_a_flood_of_requests_from_one_buyer_ends_at_the_bound(storm):
    flood = (json.dumps({"type": "request", "id": f"f{n}", "seats": ["A-1"]}) for n in range(5_000))
    with wire(storm.port) as line:
        greeted(line)
        line.send(b"".join(frame(TEXT, one.encode()) for one in flood))
        line.end()
        codes = [struct.unpack(">H", raw[:2])[0] for opcode, raw in line.frames() if opcode == CLOSE]
        assert codes in ([4429], [1000], [])
