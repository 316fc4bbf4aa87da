"""Proof of work: good once, for one buyer at one event, for a while, and for nobody who did not work."""

from __future__ import annotations

import base64
import json
import time

import altcha
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.buyers.decode import PROOF_LENGTH_MAX
from gateway.problems import Busy, status_of
from gateway.room.proof import VALID_SECONDS, ProofRefused, Proofs
from store.room.refused import Reason

SECRET = b"s" * 32


def proofs_of(**options):
    return Proofs(options.pop("secret", SECRET), options.pop("tries_max", 40), **options)


def solved(challenge) -> str:
    return solution_of(altcha.Challenge.from_dict(challenge)).to_base64()


def solution_of(challenge) -> altcha.Payload:
    found = altcha.solve_challenge(challenge)
    assert found is not None
    return altcha.Payload(challenge, found)


def refused(proofs, proof, *, event="gig", buyer="ann") -> Reason:
    with pytest.raises(ProofRefused) as caught:
        proofs.check(event, buyer, proof)
    assert status_of(caught.value) == 400
    assert "room/challenge" in str(caught.value)
    return caught.value.reason


def changed(proof: str, change) -> str:
    told = json.loads(base64.b64decode(proof))
    change(told)
    return base64.b64encode(json.dumps(told).encode()).decode()


def test_who_solved_it_may_join_once():
    proofs = proofs_of()
    proof = solved(proofs.challenge("gig", "ann"))
    proofs.check("gig", "ann", proof)
    assert refused(proofs, proof) is Reason.PROOF_USED


def test_it_is_good_at_every_gateway_with_the_same_key_and_at_no_other():
    proof = solved(proofs_of().challenge("gig", "ann"))
    assert refused(proofs_of(secret=b"t" * 32), proof) is Reason.PROOF_NOT_VALID
    proofs_of().check("gig", "ann", proof)


@pytest.mark.parametrize("told", [{"event": "other"}, {"buyer": "bob"}])
def test_it_is_for_one_buyer_at_one_event(told):
    proofs = proofs_of()
    proof = solved(proofs.challenge("gig", "ann"))
    assert refused(proofs, proof, **told) is Reason.PROOF_NOT_VALID
    proofs.check("gig", "ann", proof)


def test_it_ends():
    before = proofs_of(clock=lambda: time.time() - VALID_SECONDS - 2)
    assert refused(proofs_of(), solved(before.challenge("gig", "ann"))) is Reason.PROOF_EXPIRED


def test_none_is_none():
    assert refused(proofs_of(), None) is refused(proofs_of(), "") is Reason.PROOF_REQUIRED


@pytest.mark.parametrize(
    "change",
    [
        lambda told: told["solution"].update(derivedKey="00" * 32),
        lambda told: told["solution"].update(derivedKey=None),
        lambda told: told["challenge"]["parameters"].update(expiresAt=2**40),
        lambda told: told["challenge"]["parameters"].update(cost=1),
        lambda told: told["challenge"]["parameters"].update(keySignature=None),
        lambda told: told["challenge"]["parameters"].update(data=None),
        lambda told: told["challenge"].update(signature="0" * 64),
        lambda told: told["challenge"].update(signature=None),
        lambda told: told["challenge"].pop("parameters"),
        lambda told: told.update(solution=[]),
    ],
)
def test_what_was_changed_is_no_proof(change):
    proofs = proofs_of()
    proof = solved(proofs.challenge("gig", "ann"))
    assert refused(proofs, changed(proof, change)) is Reason.PROOF_NOT_VALID


def test_one_of_ones_own_making_is_no_proof():
    own = altcha.create_challenge("SHA-256", 1, key_prefix="", data={"event": "gig", "buyer": "ann"})
    assert refused(proofs_of(), solved(own.to_dict())) is Reason.PROOF_NOT_VALID


@given(st.one_of(st.text(), st.binary().map(lambda raw: base64.b64encode(raw).decode())))
def test_anything_else_is_refused_and_harms_nothing(text):
    assert refused(proofs_of(), text or "x") is Reason.PROOF_NOT_VALID


NAMES = st.sampled_from(["challenge", "solution", "parameters", "signature", "algorithm", "data"])
VALUES = st.none() | st.integers() | st.text()


@given(st.recursive(VALUES, lambda inner: st.dictionaries(NAMES, inner)))
def test_json_of_another_shape_is_refused(told):
    proof = base64.b64encode(json.dumps(told).encode()).decode()
    assert refused(proofs_of(), proof) is Reason.PROOF_NOT_VALID


def test_a_very_long_one_is_not_looked_at():
    proofs = proofs_of()
    proof = solved(proofs.challenge("gig", "ann"))
    padded = changed(proof, lambda told: told.update(more="x" * PROOF_LENGTH_MAX))
    assert refused(proofs, padded) is Reason.PROOF_NOT_VALID


def test_work_has_a_bound_and_is_never_little():
    found = set()
    proofs = proofs_of(tries_max=10)
    for _ in range(100):
        challenge = altcha.Challenge.from_dict(proofs.challenge("gig", "ann"))
        found.add(solution_of(challenge).solution.counter)
    assert found <= set(range(5, 10))
    assert len(found) > 1, "the counter can be guessed"


def test_what_was_used_is_remembered_until_it_ends_and_in_bounded_memory():
    class Clock:
        now = time.time()

        def __call__(self):
            return self.now

    clock = Clock()
    proofs = proofs_of(clock=clock, used_max=2, tries_max=1)
    for buyer in ("ann", "bob"):
        proofs.check("gig", buyer, solved(proofs.challenge("gig", buyer)))
    with pytest.raises(Busy, match="minute"):
        proofs.check("gig", "eve", solved(proofs.challenge("gig", "eve")))
    clock.now += VALID_SECONDS + 1
    proofs.check("gig", "eve", solved(proofs.challenge("gig", "eve")))


def test_a_challenge_does_not_name_its_buyer():
    assert "ann@example.org" not in json.dumps(proofs_of().challenge("gig", "ann@example.org"))
