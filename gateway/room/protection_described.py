"""The calls about protecting a waiting room, for the published description."""

from __future__ import annotations

from msgspec import Struct

from gateway.calls import Call
from gateway.room.admission_tokens import Admission, KeySet
from store.room.refused import Refused


class ChallengeData(Struct):
    event: str
    buyer: str
    """A name that tells nobody who they are."""


class ChallengeParameters(Struct, rename="camel"):
    """ALTCHA's, version 2."""

    algorithm: str
    cost: int
    key_length: int
    key_prefix: str
    key_signature: str
    nonce: str
    salt: str
    expires_at: int
    """In seconds."""
    data: ChallengeData


class Challenge(Struct):
    parameters: ChallengeParameters
    signature: str


class RefusedRows(Struct):
    refused: list[Refused]


CALLS: dict[tuple[str, str], Call] = {
    ("get", "/v1/events/{event}/room/challenge"): Call(
        {200: ("To be solved within ten minutes.", Challenge)}, (400, 401, 404, 503), "buyer"
    ),
    ("get", "/v1/events/{event}/room/admission"): Call(
        {200: ("Good until `expires_at`.", Admission)}, (400, 401, 403, 404, 409, 503), "buyer"
    ),
    ("get", "/.well-known/jwks.json"): Call({200: ("The first signs.", KeySet)}, (404,)),
    ("get", "/v1/operator/events/{event}/room/refused"): Call(
        {200: ("Newest first.", RefusedRows)}, (400, 404, 503), "operator"
    ),
}
