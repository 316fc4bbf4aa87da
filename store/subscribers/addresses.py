"""Which addresses subscribers may have: webhooks must not be a way into the network that onsale stands in.

Pure. A URL is looked at when somebody subscribes; whoever connects looks at each address again, when it
connects to it, for a name's addresses can change at any time (`notifier.outgoing`).
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from store.errors import BadRequest

URL_LENGTH_MAX: Final = 2_000
ALLOW_PRIVATE: Final = "ONSALE_WEBHOOKS_ALLOW_PRIVATE"
"""1: subscribers may be anywhere, in this machine too. For tests, and for who hosts both."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE: Final = ipaddress.ip_network("::/96")
_NOT_ANYWHERE: Final = [
    ipaddress.ip_network(net)
    for net in ("192.0.0.0/24", "192.88.99.0/24", "64:ff9b:1::/48", "100::/64", "2001::/23", "3fff::/20",
                "5f00::/16", "fec0::/10")
]  # fmt: skip
"""Special networks (RFC 6890 and its registries) that not every Python knows of, or not as a whole: at
192.0.0.192 a cloud has its metadata."""


def private_allowed(environ: Mapping[str, str] | None = None) -> bool:
    """Whether `ALLOW_PRIVATE` is set."""
    return (os.environ if environ is None else environ).get(ALLOW_PRIVATE, "") == "1"


def is_public(address: str) -> bool:
    """Whether an address, in numbers, is one of the public internet, and of one host."""
    try:
        parsed: Address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(_is_global(one) for one in (parsed, *_carried(parsed)))


def check_url(url: str, *, allow_private: bool) -> str:
    """The URL; raises `BadRequest` (invalid_url) for one that nothing could or may be sent to."""
    if len(url) > URL_LENGTH_MAX or not url.isascii() or not url.isprintable() or " " in url:
        raise _refused(f"has at most {URL_LENGTH_MAX} printable ASCII characters and no spaces")
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError:
        raise _refused("cannot be read") from None
    if parts.scheme not in ("http", "https") or not host or port == 0:
        raise _refused("begins with https:// or http:// and names a host")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise _refused("has no user, no password and no #fragment")
    if not allow_private and _is_not_public(host):
        raise _refused("is on the public internet; this address is not")
    return url


def _is_not_public(host: str) -> bool:
    """Whether a host can be told to be in a private network without asking anybody."""
    if host.rstrip(".") == "localhost" or host.rstrip(".").endswith((".localhost", ".internal", ".local")):
        return True
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host.rstrip(".").rpartition(".")[2][:1].isdigit()  # 2130706433, 127.1, 0x7f.1: no name ends so
    return not is_public(host)


def _is_global(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and _carried(address):
        return True  # judged by what it carries
    special = address.is_multicast or address.is_reserved or address.is_loopback or address.is_unspecified
    named = any(address in net for net in _NOT_ANYWHERE if net.version == address.version)
    return address.is_global and not special and not named


def _carried(address: Address) -> list[ipaddress.IPv4Address]:
    """IPv4 addresses that an IPv6 address leads to: mapped, compatible, 6to4, Teredo's two ends, NAT64."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address.sixtofour is not None:
        return [address.sixtofour]
    if address.teredo is not None:
        return list(address.teredo)
    if address in _NAT64 or address in _COMPATIBLE:
        return [ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)]
    return []


def _refused(must: str) -> BadRequest:
    return BadRequest("invalid_url", f"A subscriber's URL {must}. Give another one.")
