"""From which address somebody comes, behind proxies too, for HTTP and websockets alike. Pure.

Who connects is known; whatever stands in X-Forwarded-For was written by somebody. So it is read from the
right, and only as far as the one who wrote it is a proxy of ours (`Settings.trusted_proxies`): what a
client writes there itself stands to the left of what the first trusted proxy saw, and is never read. With
no proxies named the header is never read at all. uvicorn's own reading of it is off (`gateway.app`).
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, NewType

from gateway.environment import Network

Address = NewType("Address", str)
"""As limits count it: one of IPv4, and of IPv6 the network of 64 bits that a household is given."""
NOBODY_KNOWS: Final = Address("unknown")
Headers = Sequence[tuple[bytes, bytes]]
HOPS_MAX: Final = 10
"""Proxies in a row that are believed."""
IPV6_PREFIX_BITS: Final = 64


Peer = tuple[str, int] | None
"""Who connected, as ASGI has it in a scope's `client`."""


def address_of(client: Peer, headers: Headers, trusted: Sequence[Network]) -> Address:
    """The address of who asks."""
    peer = None if client is None else _read(client[0])
    if peer is None:
        return NOBODY_KNOWS
    if trusted and _is_in(peer, trusted):
        peer = _behind(peer, headers, trusted)
    return counted(peer)


def is_one_of(client: Peer, trusted: Sequence[Network]) -> bool:
    """Whether who connects is one of our proxies."""
    peer = None if client is None else _read(client[0])
    return peer is not None and _is_in(peer, trusted)


def counted(address: IPv4Address | IPv6Address) -> Address:
    """What an address is counted as."""
    if isinstance(address, IPv4Address):
        return Address(str(address))
    return Address(str(ip_network((int(address), IPV6_PREFIX_BITS), strict=False)))


def _behind(
    peer: IPv4Address | IPv6Address, headers: Headers, trusted: Sequence[Network]
) -> IPv4Address | IPv6Address:
    written = b",".join([value for name, value in headers if name == b"x-forwarded-for"])
    for hop in reversed(written.decode("latin-1").rsplit(",", HOPS_MAX)[-HOPS_MAX:]):
        seen = _read(hop.strip())
        if seen is None:  # whoever wrote that is the last one that is known
            return peer
        peer = seen
        if not _is_in(peer, trusted):
            return peer
    return peer


def _read(text: str) -> IPv4Address | IPv6Address | None:
    """An address as proxies write it: with or without a port, IPv6 in brackets then, or mapped IPv4."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _is_in(address: IPv4Address | IPv6Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)
