"""What lets into the priority lane: typed codes, and invitations by whom the gateway trusts."""

from __future__ import annotations

import time
from typing import Any

import jwt
import pytest

from gateway.buyers.decode import TOKEN_LENGTH_MAX
from gateway.buyers.tokens import Tokens
from gateway.problems import Unauthorized
from gateway.room import invitations
from gateway.settings import Settings
from store.errors import BadRequest
from store.room import codes
from store.settings import EngineUrls
from tests.gateway.rig import SECRET, scenario, token

TOKENS = Tokens(Settings(engines=EngineUrls("", ""), token_secret=SECRET))


def invitation(*, seconds: int = 600, secret: str = SECRET, **other: Any) -> str:
    claims = {"event": "gig", "lane": "priority", "jti": "j-1", "exp": int(time.time()) + seconds} | other
    return jwt.encode({name: value for name, value in claims.items() if value is not None}, secret)


@scenario
async def test_an_invitation_is_known_by_its_id_and_a_code_by_its_letters():
    assert await invitations.read(TOKENS, "gig", invitation()) == codes.invitation("j-1")
    assert await invitations.read(TOKENS, "gig", f" {invitation(jti='j-2')} ") == codes.invitation("j-2")
    assert invitations.is_signed(invitation())
    assert not invitations.is_signed("01ab-cdef-0123-4567")


@pytest.mark.parametrize(
    "shown",
    [
        invitation(seconds=-60),
        invitation(secret="another secret, and as long as it must be"),
        invitation(event="other"),
        invitation(event=None),
        invitation(lane="ordinary"),
        invitation(lane=None),
        invitation(jti=None),
        invitation(jti=""),
        invitation(jti="x" * 201),
        invitation(exp=None),
        invitation(sub="ann"),
        invitation()[:-3] + "AAA",
        invitation(more="x" * TOKEN_LENGTH_MAX),
        token("ann"),
        jwt.encode({"event": "gig", "lane": "priority", "jti": "j", "exp": 2_000_000_000}, "", "none"),
        "a.b.c",
        "..",
    ],
)
@scenario
async def test_what_is_forged_foreign_or_over_lets_nobody_in(shown):
    with pytest.raises(BadRequest) as refusal:
        await invitations.read(TOKENS, "gig", shown)
    assert refusal.value.code == "invitation_not_valid"


@scenario
async def test_an_invitation_is_nobodys_token():
    with pytest.raises(Unauthorized):
        await TOKENS.verify(invitation())
