"""Only a token of the right issuer, algorithm, audience, time and subject names a buyer."""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm
from jwt.utils import base64url_encode

from gateway.buyers.tokens import Tokens, subject_ok
from gateway.problems import Unauthorized
from gateway.settings import SettingNotValid, Settings
from store.errors import Unavailable
from store.settings import EngineUrls
from tests.gateway.rig import SECRET, token

URLS = EngineUrls("postgresql://nowhere", "redis://nowhere")


def settings(**given: Any):
    return Settings(**{"engines": URLS, "token_secret": SECRET, **given})


def verify(raw, *, keys=None, **given):
    tokens = Tokens(settings(**given))
    if keys is not None:
        assert tokens._key_set is not None
        tokens._key_set._client.fetch_data = keys  # type: ignore[method-assign]
    return asyncio.run(tokens.verify(raw))


@pytest.fixture(scope="module")
def issuer():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def key_set(issuer):
    key = json.loads(RSAAlgorithm.to_jwk(issuer.public_key())) | {"kid": "k1", "alg": "RS256", "use": "sig"}
    return lambda: {"keys": [key]}


def claims(**more):
    return {"sub": "ann", "exp": int(time.time()) + 60} | more


def test_a_token_signed_with_the_secret_names_its_buyer():
    assert verify(token("ann")).id == "ann"


NOT_VALID = {
    "empty": "",
    "not a token": "a.b.c",
    "too long": "x" * 5000,
    "run out": token(seconds=-60),
    "another secret": token(secret="another secret, also of 32 bytes or more"),
    "no end": jwt.encode({"sub": "ann"}, SECRET, algorithm="HS256"),
    "no subject": jwt.encode({"exp": 1 << 40}, SECRET, algorithm="HS256"),
    "another algorithm": jwt.encode(claims(), SECRET + SECRET, algorithm="HS512"),
    "not signed": jwt.encode(claims(), "", algorithm="none"),
    "backslash": token("a\\b"),
    "quote": token('a"b'),
    "line break": token("a\nb"),
    "nobody": token(""),
    "long name": token("x" * 129),
    "not yet": token(nbf=int(time.time()) + 600),
}


@pytest.mark.parametrize("raw", list(NOT_VALID.values()), ids=list(NOT_VALID))
def test_any_other_token_is_refused(raw):
    with pytest.raises(Unauthorized):
        verify(raw)


def test_an_audience_is_demanded_where_one_is_set():
    assert verify(token(aud="onsale"), token_audience="onsale").id == "ann"
    assert verify(token(aud="other")).id == "ann"
    for raw in (token(), token(aud="other")):
        with pytest.raises(Unauthorized):
            verify(raw, token_audience="onsale")


def test_a_token_of_the_issuers_key_names_its_buyer(issuer, key_set):
    raw = jwt.encode(claims(), issuer, algorithm="RS256", headers={"kid": "k1"})
    assert verify(raw, keys=key_set, jwks_url="https://issuer.example/keys", token_secret="").id == "ann"


def test_a_public_key_is_never_taken_for_a_secret(issuer, key_set):
    public = issuer.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = (
        base64url_encode(b'{"alg":"HS256","kid":"k1"}')
        + b"."
        + base64url_encode(json.dumps(claims()).encode())
    )
    signature = hmac.digest(public, head, "sha256")
    raw = (head + b"." + base64url_encode(signature)).decode()
    for secret in ("", SECRET):
        with pytest.raises(Unauthorized):
            verify(raw, keys=key_set, jwks_url="https://issuer.example/keys", token_secret=secret)


def test_an_issuer_is_not_asked_again_for_every_unknown_key(issuer, key_set):
    asked = 0

    def counted():
        nonlocal asked
        asked += 1
        return key_set()

    tokens = Tokens(settings(jwks_url="https://issuer.example/keys"))
    assert tokens._key_set is not None
    tokens._key_set._client.fetch_data = counted  # type: ignore[method-assign]

    async def many():
        for n in range(20):
            raw = jwt.encode(claims(), issuer, algorithm="RS256", headers={"kid": f"other {n}"})
            with pytest.raises(Unauthorized):
                await tokens.verify(raw)

    asyncio.run(many())
    assert asked == 1


def test_an_issuer_that_cannot_be_asked_is_not_the_buyers_fault(issuer):
    def away():
        raise OSError("away")

    raw = jwt.encode(claims(), issuer, algorithm="RS256", headers={"kid": "k1"})
    with pytest.raises(Unavailable):
        verify(raw, keys=away, jwks_url="https://issuer.example/keys")


def test_a_verified_token_is_kept_until_it_runs_out():
    now = time.time()
    tokens = Tokens(settings(), clock=lambda: now)
    raw = token(seconds=60)
    assert tokens.known(raw) is None
    asyncio.run(tokens.verify(raw))
    assert tokens.known(raw) is not None
    now += 61
    assert tokens.known(raw) is None


@pytest.mark.parametrize("subject", ["a", "x" * 128, "Zoë", "auth0|62f", "a b"])
def test_subjects_that_can_travel_as_they_are(subject):
    assert subject_ok(subject)


@pytest.mark.parametrize("subject", ["", "x" * 129, "\t", "a\u2028b", "\x7f", "\ud800", 7, None, "a\\", '"'])
def test_subjects_that_cannot(subject):
    assert not subject_ok(subject)


def test_a_demo_gives_tokens_it_takes():
    tokens = Tokens(settings(demo=True, token_audience="onsale"))
    raw, buyer = tokens.demo_token()
    assert asyncio.run(tokens.verify(raw)).id == buyer


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"ONSALE_TOKEN_SECRET": "short"},
        {"ONSALE_TOKEN_SECRET": SECRET, "ONSALE_PORT": "99999"},
        {"ONSALE_TOKEN_SECRET": SECRET, "ONSALE_ORIGINS": "tickets.example"},
        {"ONSALE_JWKS_URL": "https://issuer.example/keys", "ONSALE_DEMO": "1"},
        {"ONSALE_TOKEN_SECRET": SECRET, "REDIS_URL": "redis+sentinel://one/tickets"},
    ],
)
def test_settings_that_cannot_work_are_refused_with_what_to_do(environ):
    with pytest.raises(SettingNotValid):
        Settings.from_env({"DATABASE_URL": "a", "REDIS_URL": "b"} | environ)


def test_settings_come_from_the_environment():
    environ = {
        "DATABASE_URL": "a", "REDIS_URL": "b", "ONSALE_TOKEN_SECRET": SECRET, "ONSALE_SOCKETS_MAX": "7",
        "ONSALE_ORIGINS": "https://a.example/, https://b.example",
    }  # fmt: skip
    read = Settings.from_env(environ)
    assert read.bounds.sockets_max == 7
    assert read.origins == {"https://a.example", "https://b.example"}
