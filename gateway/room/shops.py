"""Which addresses a buyer may be sent back to: those of shops that are named in ONSALE_SHOPS. Pure.

An address is a shop's when it begins with the shop's origin and goes on with a path, a query or nothing.
Behind those letters nobody who reads addresses, however they do it, finds another host, a port or a user.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote_plus

from msgspec import Struct

from gateway.room.settings import RoomSettings

ADDRESS_LENGTH_MAX: Final = 2_000
QUERY: Final = "onsale_admission"
"""Where an admission token stands in an address; as in `clients/python/onsale_client/middleware.py`."""


class Return(Struct, frozen=True):
    """Where a buyer goes when it is their turn."""

    shop: str
    """Its origin."""
    address: str

    @property
    def host(self) -> str:
        """As people read it."""
        return self.shop.partition("://")[2]


def returning(settings: RoomSettings, address: str) -> Return | None:
    """None: the address is no shop's, or this gateway gives no tokens for shops."""
    if not settings.key or len(address) > ADDRESS_LENGTH_MAX or not _is_plain(address):
        return None
    for shop in settings.shops:
        begins, rest = address[: len(shop)], address[len(shop) :]
        if begins.lower() == shop and rest[:1] in ("", "/", "?", "#"):
            return Return(shop, shop + rest)
    return None


def with_admission(address: str, token: str) -> str:
    """The address with the token in its query, in place of any that was there; as in `core/returning.js`."""
    whole, mark, fragment = address.partition("#")
    path, _, query = whole.partition("?")
    kept = [part for part in query.split("&") if part and unquote_plus(part.partition("=")[0]) != QUERY]
    return f"{path}?{'&'.join([*kept, f'{QUERY}={token}'])}{mark}{fragment}"


def _is_plain(address: str) -> bool:
    """Whether it is written as addresses are sent: what is left out of an address by some and read by others
    (spaces, line breaks, backslashes, other alphabets) is in none."""
    return all("!" <= letter <= "~" for letter in address) and "\\" not in address
