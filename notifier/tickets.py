"""Tickets as tokens: what a QR code carries, signed with Ed25519, judged without a database. Pure.

A token is Base32 text (capital letters and 2 to 7, which a QR code packs tightly) of the ticket and a
signature over it. It says the event, the order, which seat or place, its serial, and which key signed it; it
says nothing about the buyer. The same ticket under the same key is the same token, always.

Whoever has the public keys can tell a token of ours from any other. That a ticket was returned, taken back or
given on is not in the token: a door asks the gateway, or looks into what was exported (`Revocations`).

Several keys may be known at once: tokens are signed with the first, and those of the others stay good.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec import Struct

from store.tickets.items import Item
from store.tickets.revoked import Revoked

VERSION: Final = 1
KEY_ID_BYTES: Final = 4
SIGNATURE_BYTES: Final = 64
TOKEN_LENGTH_MAX: Final = 300
SLUG_BYTES_MAX: Final = 64
SECRET_LENGTH_MIN: Final = 32
"""Of the text a key is made from, in characters."""
_ALL: Final = 1 << 31
"""No serial is as high."""
_CONTEXT: Final = b"onsale ticket\x00"
"""Before what is signed: a signature for anything else is none for a ticket."""
_SEED: Final = b"onsale ticket key\x00"


class TicketKeysNotValid(Exception):
    """The text that should be ticket keys is none."""


class NotATicket(Exception):
    """This is no ticket of ours."""


class Ticket(Struct, frozen=True):
    """What a token says."""

    event: str
    """Its slug."""
    order: int
    item: Item
    serial: int = 1


class PublicKey(Struct, frozen=True):
    """A public key as published (RFC 8037); `x` is base64url."""

    kid: str
    x: str
    kty: str = "OKP"
    crv: str = "Ed25519"
    alg: str = "EdDSA"
    use: str = "sig"


class TicketKeys:
    """The keys that are known, and the secret of the one that signs."""

    def __init__(self, secrets: str) -> None:
        """`secrets`: one or several, parted by commas; the first signs. Raises `TicketKeysNotValid`."""
        texts = [text.strip() for text in secrets.split(",") if text.strip()]
        if not texts or any(len(text) < SECRET_LENGTH_MIN for text in texts):
            raise TicketKeysNotValid(
                f"A ticket key is {SECRET_LENGTH_MIN} characters or more, several are parted by commas; "
                "make one with: openssl rand -hex 32"
            )
        private = [_private_key(text) for text in texts]
        self._private = private[0]
        self.public: list[Ed25519PublicKey] = [key.public_key() for key in private]

    @property
    def published(self) -> list[PublicKey]:
        """All public keys, the one that signs first."""
        return [_published(key) for key in self.public]

    def sign(self, ticket: Ticket) -> str:
        """The ticket's token."""
        payload = _encode(ticket, _key_id(self.public[0]))
        signature = self._private.sign(_CONTEXT + payload)
        return base64.b32encode(payload + signature).decode().rstrip("=")


class KnownKeys:
    """Public keys by their ids: enough to tell a ticket of ours."""

    def __init__(self, keys: Iterable[Ed25519PublicKey]) -> None:
        self._keys = {_key_id(key): key for key in keys}

    @classmethod
    def of_published(cls, keys: Iterable[PublicKey]) -> KnownKeys:
        """Raises `TicketKeysNotValid` for one that is no Ed25519 key."""
        return cls([_public_key(key) for key in keys])

    def read(self, token: str) -> Ticket:
        """What a token of ours says; raises `NotATicket`, saying why."""
        raw = _decode_base32(token)
        payload, signature = raw[:-SIGNATURE_BYTES], raw[-SIGNATURE_BYTES:]
        if len(payload) < 1 + KEY_ID_BYTES or payload[0] != VERSION:
            raise NotATicket("This is no ticket. Scan the code again, or look at the ticket's page.")
        key = self._keys.get(payload[1 : 1 + KEY_ID_BYTES])
        if key is None:
            raise NotATicket("No key that is known signed this. Get the keys again if they were changed.")
        try:
            key.verify(signature, _CONTEXT + payload)
        except InvalidSignature:
            raise NotATicket("This ticket was made up or changed: its signature is not ours.") from None
        return _decode(payload)


class Revocations:
    """Tickets whose tokens are worthless, as exported."""

    def __init__(self, revoked: Iterable[Revoked]) -> None:
        self._below = {(one.order, one.ticket): one.below or _ALL for one in revoked}

    def has(self, ticket: Ticket) -> bool:
        """Whether this ticket, of this serial, is among them."""
        order = str(ticket.order)
        return (order, None) in self._below or ticket.serial < self._below.get((order, ticket.item.name), 0)


class Said(StrEnum):
    """What a door that is cut off can say."""

    VALID = "valid"
    NOT_VALID = "not_valid"
    NOT_OF_THIS_EVENT = "not_of_this_event"
    REVOKED = "revoked"


class Verdict(Struct, frozen=True):
    """What is said of a token, why, and what it says itself where it is ours."""

    said: Said
    why: str
    ticket: Ticket | None = None


def judge(
    token: str, keys: KnownKeys, *, event: str | None = None, revoked: Revocations | None = None
) -> Verdict:
    """What a door says by what it has with it; who came in already it does not know."""
    try:
        ticket = keys.read(token)
    except NotATicket as error:
        return Verdict(Said.NOT_VALID, str(error))
    if event is not None and ticket.event != event:
        return Verdict(Said.NOT_OF_THIS_EVENT, f"It is for {ticket.event}, not for {event}.", ticket)
    if revoked is not None and revoked.has(ticket):
        why = "It was returned, taken back, or given to somebody who has a newer one."
        return Verdict(Said.REVOKED, why, ticket)
    return Verdict(Said.VALID, "Signed by us.", ticket)


# --- keys ---


def _private_key(text: str) -> Ed25519PrivateKey:
    """Of a secret that was drawn by chance: hashed, because a key is 32 bytes and the text any."""
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(_SEED + text.encode()).digest())


def _raw(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _key_id(key: Ed25519PublicKey) -> bytes:
    return hashlib.sha256(_raw(key)).digest()[:KEY_ID_BYTES]


def _published(key: Ed25519PublicKey) -> PublicKey:
    return PublicKey(_key_id(key).hex(), base64.urlsafe_b64encode(_raw(key)).decode().rstrip("="))


def _public_key(published: PublicKey) -> Ed25519PublicKey:
    try:
        if (published.kty, published.crv) != ("OKP", "Ed25519"):
            raise ValueError("another kind of key")
        return Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(published.x + "=="))
    except ValueError as error:
        raise TicketKeysNotValid(
            f"{published.kid!r} is no Ed25519 key: {error}. Export them again."
        ) from None


# --- bytes ---


def _encode(ticket: Ticket, key_id: bytes) -> bytes:
    slug = ticket.event.encode("ascii")
    assert 0 < len(slug) <= SLUG_BYTES_MAX, "an event's slug has 1 to 64 characters"
    # an area's number is at least -1 (`SEAT`)
    numbers = (ticket.order, ticket.item.area + 1, ticket.item.number, ticket.serial)
    head = bytes([VERSION]) + key_id + bytes([len(slug)]) + slug
    return head + b"".join([_varint(number) for number in numbers])


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; all but the last have the high bit set (LEB128)."""
    assert 0 <= number < 1 << 63, "ids are positive numbers of 63 bits"
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _decode(payload: bytes) -> Ticket:
    """What we signed, so it is as `_encode` wrote it."""
    at = 1 + KEY_ID_BYTES
    length = payload[at]
    slug, rest = payload[at + 1 : at + 1 + length], payload[at + 1 + length :]
    numbers: list[int] = []
    value = shift = 0
    for byte in rest:
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            numbers.append(value)
            value = shift = 0
    assert len(numbers) == 4, "signed by us, so written by us"
    order, area, number, serial = numbers
    return Ticket(slug.decode("ascii"), order, Item(area - 1, number), serial)


def _decode_base32(token: str) -> bytes:
    """Raises `NotATicket`; one text for each token, so letters may only be smaller, and spaces around it."""
    text = token.strip().upper()
    if not text or len(text) > TOKEN_LENGTH_MAX or not text.isascii():
        raise NotATicket("This is no ticket: it is empty, too long, or has characters no ticket has.")
    try:
        raw = base64.b32decode(text + "=" * (-len(text) % 8))
    except ValueError:
        raise NotATicket("This is no ticket: it has characters no ticket has.") from None
    if len(raw) <= SIGNATURE_BYTES or base64.b32encode(raw).decode().rstrip("=") != text:
        raise NotATicket("This is no ticket: it is cut off or was changed.")
    return raw
