"""Who comes from where: what our own proxies saw counts, and what a client writes itself does not."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.addresses import HOPS_MAX, NOBODY_KNOWS, address_of
from gateway.app import Gateway
from gateway.environment import SettingNotValid, networks
from tests.gateway.rig import gateway, make_event, scenario

OURS = tuple(map(ip_network, ("10.0.0.0/8", "2001:db8:ffff::/48")))


def seen_from(peer: str | None, *forwarded: str, trusted=OURS):
    headers = [(b"x-forwarded-for", value.encode("latin-1")) for value in forwarded]
    return address_of(None if peer is None else (peer, 1234), [(b"host", b"x"), *headers], trusted)


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("203.0.113.7", [], "203.0.113.7"),
        ("203.0.113.7", ["198.51.100.1"], "203.0.113.7"),  # not one of ours: what it says is nothing
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["192.0.2.9, 198.51.100.1"], "198.51.100.1"),  # the first was written by the client
        ("10.0.0.1", ["192.0.2.9", "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", ["192.0.2.9, 198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", ["198.51.100.1:5000"], "198.51.100.1"),
        ("10.0.0.1", ["[2001:db8::1]:443"], "2001:db8::/64"),
        ("10.0.0.1", ["2001:db8::1"], "2001:db8::/64"),
        ("10.0.0.1", ["::ffff:198.51.100.1"], "198.51.100.1"),
        ("::ffff:10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1, unknown"], "10.0.0.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("2001:db8:ffff::1", ["2001:db8:1:2:3:4:5:6"], "2001:db8:1:2::/64"),
        ("fe80::1%eth0", [], "fe80::/64"),
        (None, ["198.51.100.1"], NOBODY_KNOWS),
    ],
)
def test_it_is_read_from_the_right_as_far_as_proxies_of_ours_wrote_it(peer, forwarded, address):
    assert seen_from(peer, *forwarded) == address


def test_with_no_proxies_named_the_header_is_never_read():
    assert seen_from("127.0.0.1", "198.51.100.1", trusted=()) == "127.0.0.1"


def test_of_a_long_header_only_the_last_hops_are_read():
    hops = ["198.51.100.1"] + ["10.0.0.2"] * HOPS_MAX
    assert seen_from("10.0.0.1", ", ".join(hops)) == "10.0.0.2"
    assert seen_from("10.0.0.1", ", ".join(hops[:HOPS_MAX])) == "198.51.100.1"


def test_a_household_is_one_address():
    assert seen_from("2001:db8:1:2::a", trusted=()) == seen_from("2001:db8:1:2:ffff::b", trusted=())
    assert seen_from("2001:db8:1:2::a", trusted=()) != seen_from("2001:db8:1:3::a", trusted=())


@given(st.text(st.characters(max_codepoint=255), max_size=300), st.ip_addresses(v=4))
def test_whatever_a_client_writes_its_address_is_what_our_proxy_saw(forged, client):
    seen = f"{forged.replace(',', ', ')}, {client}"
    expected = seen_from("10.0.0.1", str(client))
    if not any(client in network for network in OURS if network.version == 4):
        assert seen_from("10.0.0.1", seen) == expected


def test_proxies_are_networks():
    assert networks({"X": "10.0.0.0/8, 2001:db8::1"}, "X") == (
        ip_network("10.0.0.0/8"),
        ip_network("2001:db8::1/128"),
    )
    with pytest.raises(SettingNotValid, match="host bits"):
        networks({"X": "10.0.0.1/8"}, "X")


@scenario
async def test_the_server_itself_believes_no_header_neither_of_http_nor_of_sockets(engine_urls, monkeypatch):
    make_event(engine_urls.database_url)
    seen = {}
    serve = Gateway.__call__

    async def look(self, scope, receive, send):
        if scope["type"] != "lifespan":
            who = scope["client"], scope["headers"]
            seen[scope["type"]] = address_of(*who, ()), address_of(*who, (ip_network("127.0.0.1"),))
        await serve(self, scope, receive, send)

    monkeypatch.setattr(Gateway, "__call__", look)
    forged = {"X-Forwarded-For": "192.0.2.1, 198.51.100.1"}
    async with gateway(engine_urls) as served:
        await served.http("GET", "/health/live", headers=forged)
        async with served.socket(additional_headers=forged):
            assert seen["http"] == seen["websocket"] == ("127.0.0.1", "198.51.100.1")
