"""Whatever is sent as a token names a buyer because it is right, or is refused. Nothing else happens."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from typing import Any

import jwt
from hypothesis import given
from hypothesis import strategies as st

from gateway.buyers.tokens import KEPT_MAX, LEEWAY_SECONDS, Buyer, Tokens, subject_ok
from gateway.problems import Unauthorized
from gateway.settings import Settings
from store.errors import Unavailable
from store.settings import EngineUrls
from tests.fuzz.mutations import damaged, nasty
from tests.gateway.rig import SECRET, token
from tests.profiles import searching

URLS = EngineUrls("postgresql://nowhere", "redis://nowhere")
VALID = [token("ann").encode(), token("bob", seconds=1, kid="k").encode(), token("cem", aud="x").encode()]
ALGORITHMS = (
    "none",
    "None",
    "NONE",
    "HS256",
    "hs256",
    "HS384",
    "HS512",
    "RS256",
    "ES256",
    "EdDSA",
    "dir",
    "",
)


def verify(tokens: Tokens, raw: str) -> Buyer | None:
    try:
        return asyncio.run(tokens.verify(raw))
    except Unauthorized:
        return None


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_a_damaged_token_is_the_same_token_or_none():
    tokens = Tokens(Settings(engines=URLS, token_secret=SECRET))

    @searching(250)
    @given(damaged(VALID))
    def judge(raw: bytes) -> None:
        buyer = verify(tokens, raw.decode("latin-1"))
        if buyer is not None:
            claims = jwt.decode(raw, options={"verify_signature": False})
            assert claims["sub"] == buyer.id
            assert buyer.id in ("ann", "bob", "cem"), "nobody else was ever signed"

    judge()
    assert len(tokens._kept) <= KEPT_MAX


def test_no_header_makes_a_signature_right_that_is_not():
    """Algorithm `none`, other algorithms, a key of one's own in the header: all refused."""
    tokens = Tokens(Settings(engines=URLS, token_secret=SECRET))
    both = Tokens(Settings(engines=URLS, token_secret=SECRET, jwks_url="http://127.0.0.1:1/keys"))
    extra = {
        "kid": nasty,
        "jwk": nasty,
        "jku": nasty,
        "typ": nasty,
        "crit": nasty,
        "b64": nasty,
        "zip": nasty,
    }

    @searching(250)
    @given(
        st.fixed_dictionaries({"alg": st.sampled_from(ALGORITHMS) | nasty}, optional=extra),
        st.sampled_from(("", "AA", "x" * 43, "é")),
    )
    def judge(header: dict[str, Any], signature: str) -> None:
        raw = f"{part(header)}.{part({'sub': 'ann', 'exp': int(time.time()) + 60})}.{signature}"
        assert verify(tokens, raw) is None
        try:
            assert verify(both, raw) is None
        except Unavailable:  # it names a key, and who has the keys cannot be asked
            assert header["alg"] in ("RS256", "ES256", "EdDSA")

    judge()


def test_signed_claims_of_any_kind_name_a_buyer_only_if_they_are_right():
    tokens = Tokens(Settings(engines=URLS, token_secret=SECRET))
    now = int(time.time())
    times = (
        st.sampled_from((now + 60, now - 60, now - LEEWAY_SECONDS + 2, now + 0.5, str(now + 60), 1e20))
        | nasty
    )
    names = st.sampled_from(("ann", "a" * 128, "a" * 129, 'a"b', "a\\b", "émile", "a b", "😀")) | nasty

    @searching(250)
    @given(
        st.fixed_dictionaries(
            {}, optional={"sub": names, "exp": times, "nbf": times, "iat": times, "aud": names, "iss": names}
        )
    )
    def judge(claims: dict[str, Any]) -> None:
        raw = part({"alg": "HS256", "typ": "JWT"}) + "." + part(claims)
        signature = jwt.get_algorithm_by_name("HS256").sign(raw.encode(), SECRET.encode())
        signed = f"{raw}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
        buyer = verify(tokens, signed)
        if buyer is None:
            return
        assert buyer.id == claims["sub"]
        assert subject_ok(buyer.id)
        assert float(claims["exp"]) >= now - LEEWAY_SECONDS
        buyer.id.encode()
        json.dumps({"buyer": buyer.id}).encode()

    judge()
