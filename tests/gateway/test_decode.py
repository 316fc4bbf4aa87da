"""What is understood is the same on the socket and over HTTP, and what the published schema says."""

from __future__ import annotations

import json
from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gateway.buyers.decode import (
    PaymentBody,
    Request,
    body_from_json,
    frame_from_json,
    request_from_json,
    request_schema,
    want_of,
)
from store.errors import BadRequest, OnsaleError
from store.wire import canonical_want
from store.words import Best, Want

NAMES = st.text(max_size=3) | st.sampled_from(["a", "b", "x" * 64, "x" * 65, 1, None])
QUANTITIES = st.integers(-1, 52) | st.sampled_from([1, 2, "2", 1.5, None, True])
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "seats": st.lists(NAMES, max_size=4) | st.sampled_from([None, {}, [f"s{n}" for n in range(51)]]),
        "best": st.none()
        | st.fixed_dictionaries({}, optional={"quantity": QUANTITIES, "section": NAMES, "row": NAMES}),
        "areas": st.dictionaries(st.text(max_size=2), QUANTITIES, max_size=3) | st.none(),
        "price": st.just(1),
        "move": st.sampled_from(["1", "0", "9" * 19, "9" * 20, "1\n", "x", 1, None]),
        "waitlist": st.sampled_from([True, False, None]),
    },
)


def understood(decode, *args):
    try:
        return decode(*args)
    except OnsaleError:
        return None


def schema():
    root, components = request_schema()
    return {**root, "components": {"schemas": components}}


VALIDATOR = Draft202012Validator(schema())


@given(BODIES)
def test_the_schema_accepts_exactly_what_the_decoder_accepts(body):
    decoded = understood(request_from_json, json.dumps(body).encode())
    assert VALIDATOR.is_valid(body) == (decoded is not None)


@given(BODIES)
def test_the_socket_accepts_exactly_what_http_accepts(body):
    text = json.dumps({"type": "request", "id": "r1"} | body)
    frame = understood(lambda: want_of(cast("Request", frame_from_json(text))))
    assert frame == understood(request_from_json, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "bad_body"),
        (b"\xff", "bad_body"),
        (b'"\xff"', "bad_body"),
        (b"[" * 10_000, "bad_body"),
        (b"{}", "nothing_asked"),
        (b'{"seats":["a","a"]}', "seat_twice"),
        (b'{"seats":["\\ud800"]}', "bad_body"),
        (b" " * 20_000, "body_too_large"),
    ],
)
def test_a_body_that_breaks_the_rules_is_refused_by_its_code(body, code):
    with pytest.raises(OnsaleError) as refusal:
        request_from_json(body)
    assert refusal.value.code == code  # type: ignore[attr-defined]


def test_the_same_content_is_the_same_text_however_it_is_written():
    one = request_from_json(b'{"seats":["b","a"],"areas":{"y":1,"x":2},"best":{"quantity":1,"section":null}}')
    other = request_from_json(b'{ "best":{"quantity":1}, "areas":{"x":2,"y":1}, "seats":["a","b"] }')
    assert canonical_want(one) == canonical_want(other)
    assert request_from_json(canonical_want(one)) == Want(("a", "b"), Best(1), {"x": 2, "y": 1})


def test_a_request_that_would_wait_moves_no_hold():
    for body in ({"waitlist": True}, {"move": "7"}):
        request_from_json(json.dumps({"seats": ["a"]} | body).encode())
    with pytest.raises(BadRequest) as refusal:
        request_from_json(b'{"seats":["a"],"waitlist":true,"move":"7"}')
    assert refusal.value.code == "waitlist_with_move"


ADDRESSES = ["ann@example.org", "a.b+c@x.museum", "o'neil@a-b.example", "a@localhost", "a" * 64 + "@b.de"]
NO_ADDRESSES = [
    "ann", "@b.de", "a@", "a b@c.de", "a@b.de\n", "a,c@b.de", ":;@b.de", "a(b@c.de", "<a@b.de", "a@-",
    "a@b..de", "a@b_c.de", "a" * 65 + "@b.de", "a@" + "b" * 64 + ".de", "a@" + "b.de" * 70,
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_one_mail_address_is_taken(address):
    assert body_from_json(msgspec.json.encode({"email": address}), PaymentBody).email == address


@pytest.mark.parametrize("address", NO_ADDRESSES)
def test_what_is_not_one_mail_address_is_refused(address):
    with pytest.raises(BadRequest):
        body_from_json(msgspec.json.encode({"email": address}), PaymentBody)
