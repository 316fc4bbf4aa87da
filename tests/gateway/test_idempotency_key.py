"""How an Idempotency-Key reads, and which calls take one."""

from __future__ import annotations

import re

import pytest

from gateway.idempotency_key import CHANGING, SECRETS, key_in, needs_key, parameter, takes_key
from gateway.openapi import CALLS
from store.errors import BadRequest


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ([b'"8e03978e-40d5-43e8-bc93-6894a57f9324"'], "8e03978e-40d5-43e8-bc93-6894a57f9324"),
        ([b"8e03978e-40d5-43e8-bc93-6894a57f9324"], "8e03978e-40d5-43e8-bc93-6894a57f9324"),
        ([b'"order: 12/5, the second"'], "order: 12/5, the second"),
        ([rb'"a \"b\" \\ c"'], r'a "b" \ c'),
        ([b' "k" '], "k"),
        ([b'"k";a=1;b'], "k"),
        ([b'"' + b"x" * 255 + b'"'], "x" * 255),
        ([b"x" * 64], "x" * 64),
    ],
)
def test_a_string_is_a_key_and_so_is_a_bare_word(said, key):
    assert key_in(said) == key


@pytest.mark.parametrize(
    "said",
    [
        [b""],
        [b'""'],
        [b'"open'],
        [b'open"'],
        [b"two words"],
        [b'"bad \\escape"'],
        ['"ü"'.encode()],
        [b'"\x01"'],
        [b'"a", "b"'],
        [b"a", b"a"],
        [b'"' + b"x" * 256 + b'"'],
        [b"x" * 65],
        [b'"k";'],
        [b":aGVsbG8=:"],
    ],
)
def test_what_is_no_string_is_refused(said):
    with pytest.raises(BadRequest) as refused:
        key_in(said)
    assert refused.value.code == "idempotency_key_not_valid"


def test_changes_of_buyers_and_operators_take_a_key_and_nothing_else_does():
    for method, path in (
        ("POST", "/v1/events/gig/holds/1/release"),
        ("post", "/v1/events/{event}/holds/{hold}/payment"),
        ("DELETE", "/v1/operator/events/gig"),
        ("PUT", "/v1/operator/events/gig/prices"),
        ("PATCH", "/v1/operator/events/gig/policy"),
        ("POST", "/v1/tickets/claim"),
    ):
        assert takes_key(method, path)
    for method, path in (
        ("GET", "/v1/events/gig/holds/1/payment"),
        ("POST", "/v1/events/gig/requests"),
        ("POST", "/v1/payments/notices/stripe"),
        ("POST", "/v1/demo/token"),
        ("POST", "/health/live"),
    ):
        assert not takes_key(method, path)


def test_every_call_that_changes_something_takes_a_key_or_has_one_of_its_own():
    """Requests are named by theirs, notices by their provider's id, a place by its buyer; the demo's calls
    change nothing, plans and launches are kept under a slug, and presale codes are kept nowhere, so neither
    is the answer that tells them, nor any that lets an operator in."""
    own = {"/v1/events/{event}/requests", "/v1/payments/notices/{provider}"}
    demo = {"/v1/demo/token", "/v1/demo/stampede"}
    without = {path for method, path in CALLS if method.upper() in CHANGING and not takes_key(method, path)}
    in_rooms = {"/v1/operator/events/{event}/room/codes", "/v1/events/{event}/room/join"}
    letting_in = {path for path in without if path.startswith(SECRETS)}
    plans = {path for path in without if path.startswith("/v1/operator/venues")}
    assert plans == {f"/v1/operator/venues{end}" for end in ("", "/preview", "/make", "/make/preview")}
    assert without == own | demo | in_rooms | letting_in | plans | {"/v1/operator/launches"}


def test_what_counts_up_needs_a_key():
    needed = ("/v1/operator/events/gig/blocks", "/v1/operator/events/{event}/unblock")
    assert all(needs_key(path) and parameter(path)["required"] for path in needed)
    for path in ("/v1/operator/events", "/v1/operator/events/gig/blocks/1", "/v1/events/gig/blocks"):
        assert not needs_key(path)
        assert not parameter(path)["required"]


def test_the_described_pattern_allows_what_is_read():
    pattern = re.compile(parameter("/v1/operator/events")["schema"]["pattern"])
    for key in ("r1", '"r1"', '"a b"', r'"a \" b"'):
        assert pattern.match(key)
        assert key_in([key.encode()])
    for key in ("a b", '""', '"', "ü"):
        assert not pattern.match(key)


@pytest.mark.parametrize("path", ["session", "keys", "keys/1/rotate", "keys/1/revoke"])
def test_what_lets_somebody_in_is_kept_nowhere(path):
    assert not takes_key("POST", f"/v1/operator/{path}")
    assert takes_key("POST", "/v1/operator/webhooks/1/rotate")
