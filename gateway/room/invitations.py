"""What somebody shows to be let into the priority lane: a code they typed, or an invitation.

An invitation is a JWT of whom this gateway trusts for buyers' tokens, and says for which event and lane
it is (`event`, `lane`), until when (`exp`), and its own id (`jti`), for it lets one buyer in. It says no
`sub`, so it is nobody's token, and a buyer's token, which says no `jti` and `lane`, is no invitation. Whether
it was used is Postgres' matter, in the transaction that makes the place (`store.room.codes`).
"""

from __future__ import annotations

from typing import Final

from gateway.buyers.tokens import Tokens
from gateway.problems import Unauthorized
from store.errors import BadRequest
from store.room import codes
from store.room.codes import Code
from store.room.words import Lane

ID_LENGTH_MAX: Final = 200
_DOTS: Final = 2
"""Of a JWT; a code has none."""


def is_signed(shown: str) -> bool:
    """Whether it looks like an invitation, not like a code."""
    return shown.count(".") == _DOTS


async def read(tokens: Tokens, event: str, shown: str) -> Code:
    """An invitation that is shown; raises `BadRequest` (invitation_not_valid), `Unavailable`."""
    try:
        claims = await tokens.claims(shown.strip(), "exp", "event", "lane", "jti")
    except Unauthorized:
        raise _not_valid("it was changed, has run out, or is not by the organiser") from None
    jti = claims["jti"]
    if claims["event"] != event:
        raise _not_valid("it is for another event")
    if claims["lane"] != Lane.PRIORITY or "sub" in claims:
        raise _not_valid("it is none for the priority lane")
    if not isinstance(jti, str) or not 0 < len(jti) <= ID_LENGTH_MAX:
        raise _not_valid("its id (jti) is missing or too long")
    return codes.invitation(jti)


def _not_valid(why: str) -> BadRequest:
    story = f"This invitation is not valid: {why}. Ask who sent it, or join without it."
    return BadRequest("invitation_not_valid", story)
