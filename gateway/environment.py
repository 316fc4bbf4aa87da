"""How settings are read from the environment: each is checked before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network

Network = IPv4Network | IPv6Network


class SettingNotValid(Exception):
    """A setting of the gateway has a value it cannot work with."""


def whole(source: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    """A whole number within bounds."""
    text = source.get(name) or str(default)
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise SettingNotValid(f"{name} is {text!r}; it must be a whole number from {least} to {most}.")
    return int(text)


def address(source: Mapping[str, str], name: str) -> str:
    """An address on the web, without a slash at its end; empty where none is given."""
    text = source.get(name, "").strip().rstrip("/")
    if text and not text.startswith(("https://", "http://")):
        raise SettingNotValid(f"{name} is {text!r}; write an address like https://tickets.example.org")
    return text


def origins(source: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Origins that are separated by commas, in their order and in small letters, as browsers write them."""
    given = source.get(name, "").lower().split(",")
    found = [origin.strip().rstrip("/") for origin in given if origin.strip()]
    for origin in found:
        if not origin.startswith(("https://", "http://")) or origin.count("/") != 2:
            raise SettingNotValid(
                f"{name} names {origin!r}; write origins like https://tickets.example.org, "
                "separated by commas."
            )
    return tuple(found)


def networks(source: Mapping[str, str], name: str) -> tuple[Network, ...]:
    """Networks (or single addresses) that are separated by commas."""
    found: list[Network] = []
    for text in source.get(name, "").split(","):
        if not text.strip():
            continue
        try:
            found.append(ip_network(text.strip()))
        except ValueError as error:
            raise SettingNotValid(
                f"{name} names {text.strip()!r}: {error}. Write networks like 10.0.0.0/8 or 2001:db8::/32, "
                "separated by commas."
            ) from None
    return tuple(found)
