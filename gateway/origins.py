"""How somebody came: by https or not, and from a page of our own or another's. Pure.

As with addresses (`gateway.addresses`), what a header says of the way is believed only from proxies of ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.addresses import Headers, Peer, is_one_of
from gateway.environment import Network

SECURE = frozenset({"https", "wss"})


def came_by_https(scheme: str, client: Peer, headers: Headers, trusted: Sequence[Network]) -> bool:
    """Whether the browser's own connection is encrypted, as far as it is known.

    Of several proxies the first one saw the browser, so its word stands first.
    """
    if scheme in SECURE:
        return True
    if not is_one_of(client, trusted):
        return False
    written = b",".join([value for name, value in headers if name == b"x-forwarded-proto"])
    return written.partition(b",")[0].strip().lower() == b"https"


def from_own_page(headers: Headers, *, https: bool) -> bool | None:
    """Whether a page of this very origin sent it; None where no browser says anything of its origin.

    Browsers say `Sec-Fetch-Site` where the connection is safe and `Origin` with every unsafe method and
    websocket, and no page can change either.
    """
    site = _one(headers, b"sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = _one(headers, b"origin")
    if origin is None:
        return None
    scheme, _, host = origin.partition("://")
    return host != "" and host == _one(headers, b"host") and (scheme == "https" or not https)


def _one(headers: Headers, wanted: bytes) -> str | None:
    found = [value.decode("latin-1").strip().lower() for name, value in headers if name == wanted]
    return found[0] if found else None
