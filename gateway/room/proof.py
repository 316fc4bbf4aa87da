"""Proof of work: whoever joins a busy room shows that a computer worked for it, by ALTCHA's protocol.

A challenge is drawn for one buyer at one event and ends after a while; it is signed, so a gateway remembers
none of them, only those that were used. A solution costs its finder up to `proof_tries_max` key derivations
(PBKDF2, which browsers have), and the gateway one for the challenge and none to check it. It is good once
at a gateway, and for nobody but its buyer, who has one place however many gateways they ask.

`altcha` (altcha.org) makes and verifies; the pages and clients find solutions themselves.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from typing import Any, Final

import altcha

from gateway.buyers.decode import PROOF_LENGTH_MAX
from gateway.room.used import USED_MAX, Used
from store.errors import BadRequest
from store.room.refused import Reason

ALGORITHM: Final = "PBKDF2/SHA-256"
ITERATIONS: Final = 200
"""Of one try: enough that a browser works and does not wait for itself, few enough to draw thousands a
second."""
VALID_SECONDS: Final = 600


class ProofRefused(BadRequest):
    """The proof of work is missing or not good."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(reason.value, message)
        self.reason = reason


_NEW: Final = "Get a new challenge from …/room/challenge, solve it, and join with the solution."


class Proofs:
    """One gateway's. `secret` is the same for all gateways of which one gives what another is told."""

    def __init__(
        self,
        secret: bytes,
        tries_max: int,
        clock: Callable[[], float] = time.time,
        used_max: int = USED_MAX,
    ) -> None:
        self._signs = hmac.digest(secret, b"challenge", "sha256")
        self._signs_keys = hmac.digest(secret, b"solution", "sha256")
        self._names = hmac.digest(secret, b"buyer", "sha256")
        self._tries_max = tries_max
        self._clock = clock
        self._used = Used(used_max)

    def challenge(self, event: str, buyer: str) -> dict[str, Any]:
        """A challenge as ALTCHA has it (version 2), for this buyer at this event."""
        least = self._tries_max // 2
        made = altcha.create_challenge(
            ALGORITHM,
            ITERATIONS,
            counter=least + secrets.randbelow(self._tries_max - least),
            expires_at=int(self._clock()) + VALID_SECONDS,
            data={"event": event, "buyer": self._name(buyer)},
            hmac_secret=self._signs,
            hmac_key_secret=self._signs_keys,
        )
        found: dict[str, Any] = made.to_dict()
        return found

    def check(self, event: str, buyer: str, proof: str | None) -> None:
        """Use a solution up; raises `ProofRefused` saying why not, and `Busy` (too_many_proofs)."""
        if not proof:
            raise ProofRefused(Reason.PROOF_REQUIRED, f"Many people join now. {_NEW}")
        payload = _read(proof)
        verdict = altcha.verify_solution(payload, self._signs, hmac_key_secret=self._signs_keys)
        if verdict.expired:
            raise ProofRefused(Reason.PROOF_EXPIRED, f"The proof of work is too old. {_NEW}")
        if not verdict.verified:
            raise ProofRefused(Reason.PROOF_NOT_VALID, f"The proof of work is not right. {_NEW}")
        said = payload.challenge.parameters  # signed by us
        if said.data["event"] != event or said.data["buyer"] != self._name(buyer):
            raise ProofRefused(
                Reason.PROOF_NOT_VALID, f"The proof of work is for another buyer or event. {_NEW}"
            )
        if not self._used.use(payload.challenge.signature, said.expires_at, self._clock()):
            raise ProofRefused(Reason.PROOF_USED, f"The proof of work was used before. {_NEW}")

    def _name(self, buyer: str) -> str:
        """A buyer's, which tells nobody who they are."""
        return hmac.digest(self._names, buyer.encode(), "sha256")[:16].hex()


def _read(proof: str) -> Any:
    """A payload as clients send it, in Base64; raises `ProofRefused`."""
    try:
        if len(proof) <= PROOF_LENGTH_MAX:
            return altcha.Payload.from_base64(proof)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise ProofRefused(Reason.PROOF_NOT_VALID, f"The proof of work cannot be read. {_NEW}")
