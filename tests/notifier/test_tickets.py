"""A token of ours is read as the ticket it is, under any key that is known; nothing else is a ticket."""

from __future__ import annotations

import base64

import msgspec
import pytest
import segno
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from notifier.tickets import (
    KnownKeys,
    NotATicket,
    PublicKey,
    Revocations,
    Said,
    Ticket,
    TicketKeys,
    TicketKeysNotValid,
    judge,
)
from store.tickets.items import SEAT, Item
from store.tickets.revoked import Revoked

FIRST, SECOND = "the first ticket key of these tests", "the second ticket key of these tests"
KEYS = TicketKeys(FIRST)
KNOWN = KnownKeys(KEYS.public)
TICKET = Ticket("nightfall-2026-05-01", 7 << 16 | 12, Item(SEAT, 1204), 1)

tickets = st.builds(
    Ticket,
    st.from_regex(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?", fullmatch=True),
    st.integers(1, (1 << 63) - 1),
    st.builds(Item, st.integers(SEAT, 999_999), st.integers(0, 999_999_999)),
    st.integers(1, (1 << 31) - 1),
)


@given(tickets)
def test_a_token_says_the_ticket_it_was_made_of(ticket):
    token = KEYS.sign(ticket)
    assert KNOWN.read(token) == ticket
    assert KEYS.sign(ticket) == token, "always the same"


def test_a_token_can_be_typed_in_small_letters_and_with_spaces_around_it():
    assert KNOWN.read(f"  {KEYS.sign(TICKET).lower()}\n") == TICKET


def test_a_usual_token_fits_a_small_code():
    code = segno.make(KEYS.sign(TICKET), error="m", micro=False)
    assert code.mode == "alphanumeric"
    assert int(code.version) <= 7, "45 by 45 modules"


@given(tickets, st.data())
def test_a_token_that_was_changed_anywhere_is_no_ticket(ticket, data):
    token = KEYS.sign(ticket)
    at = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(
        st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567").filter(lambda one: one != token[at])
    )
    with pytest.raises(NotATicket):
        KNOWN.read(token[:at] + other + token[at + 1 :])


@pytest.mark.parametrize("slug", ["a", "ab", "abc", "abcd", "abcde"])
def test_a_token_has_one_text(slug):
    """The last letter may say more bits than there are: those are nothing, and must be so."""
    token = KEYS.sign(Ticket(slug, 1, Item(SEAT, 1)))
    for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567":
        if last != token[-1]:
            with pytest.raises(NotATicket):
                KNOWN.read(token[:-1] + last)


@given(tickets, st.integers(0, 150))
def test_a_token_that_was_cut_off_is_no_ticket(ticket, length):
    token = KEYS.sign(ticket)
    with pytest.raises(NotATicket):
        KNOWN.read(token[: min(length, len(token) - 1)])


@given(st.text(max_size=400) | st.binary(max_size=200).map(lambda raw: base64.b32encode(raw).decode()))
def test_anything_else_is_no_ticket(text):
    with pytest.raises(NotATicket):
        KNOWN.read(text)


def test_who_signs_with_another_key_of_the_same_id_forges_nothing():
    """The id is only to find the key: the signature must be of that very key."""
    forged = TicketKeys(SECOND).sign(TICKET)
    raw = base64.b32decode(forged + "=" * (-len(forged) % 8))
    ours = bytes.fromhex(KEYS.published[0].kid)
    pretends = base64.b32encode(raw[:1] + ours + raw[5:]).decode().rstrip("=")
    for token in (forged, pretends):
        with pytest.raises(NotATicket):
            KNOWN.read(token)


def test_a_signature_for_anything_but_a_ticket_is_none():
    key = Ed25519PrivateKey.generate()
    known = KnownKeys([key.public_key()])
    signed = TicketKeys(FIRST).sign(TICKET)
    raw = base64.b32decode(signed + "=" * (-len(signed) % 8))[:-64]
    key_id = next(iter(known._keys))
    payload = raw[:1] + key_id + raw[5:]
    token = base64.b32encode(payload + key.sign(payload)).decode().rstrip("=")
    with pytest.raises(NotATicket, match="signature"):
        known.read(token)
    right = base64.b32encode(payload + key.sign(b"onsale ticket\x00" + payload)).decode().rstrip("=")
    assert known.read(right) == TICKET


# --- keys ---


def test_after_keys_were_changed_older_tokens_stay_good_while_their_key_is_known():
    old = KEYS.sign(TICKET)
    both = TicketKeys(f"{SECOND}, {FIRST}")
    assert both.sign(TICKET) != old
    known = KnownKeys.of_published(both.published)
    assert known.read(old) == known.read(both.sign(TICKET)) == TICKET
    with pytest.raises(NotATicket, match="No key that is known"):
        KnownKeys(TicketKeys(SECOND).public).read(old)


def test_published_keys_are_read_as_those_that_verify():
    text = msgspec.json.encode(KEYS.published)
    known = KnownKeys.of_published(msgspec.json.decode(text, type=list[PublicKey]))
    assert known.read(KEYS.sign(TICKET)) == TICKET
    assert FIRST.encode() not in text


@pytest.mark.parametrize(
    "key",
    [PublicKey("a", "AAAA"), PublicKey("a", "é"), PublicKey("a", "A" * 43, kty="RSA"), PublicKey("a", "")],
)
def test_what_is_no_key_is_refused(key):
    with pytest.raises(TicketKeysNotValid):
        KnownKeys.of_published([key])


@pytest.mark.parametrize("text", ["", " , ", "short", f"{FIRST},short"])
def test_a_key_that_could_be_guessed_is_refused(text):
    with pytest.raises(TicketKeysNotValid, match="32 characters"):
        TicketKeys(text)


# --- at a door that is cut off ---


def test_a_door_says_what_it_can_know():
    token = KEYS.sign(TICKET)
    said = judge(token, KNOWN, event=TICKET.event)
    assert (said.said, said.ticket) == (Said.VALID, TICKET)
    other = judge(token, KNOWN, event="another")
    assert (other.said, other.ticket) == (Said.NOT_OF_THIS_EVENT, TICKET)
    assert "nightfall-2026-05-01" in other.why
    assert judge(token[:-9], KNOWN).said is Said.NOT_VALID


@pytest.mark.parametrize(
    ("revoked", "has"),
    [
        (Revoked(str(TICKET.order)), True),
        (Revoked(str(TICKET.order), "1204"), True),
        (Revoked(str(TICKET.order), "1204", 2), True),
        (Revoked(str(TICKET.order), "1204", 1), False),
        (Revoked(str(TICKET.order), "0-1204"), False),
        (Revoked(str(TICKET.order), "1205"), False),
        (Revoked(str(TICKET.order + 1)), False),
    ],
)
def test_what_is_revoked_is_told_by_order_ticket_and_serial(revoked, has):
    said = judge(KEYS.sign(TICKET), KNOWN, revoked=Revocations([revoked]))
    assert (said.said is Said.REVOKED) is has
