"""How somebody came: by https, and from which page."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from gateway.origins import came_by_https, from_own_page

PROXIES = (ip_network("10.0.0.0/8"),)
HOST = (b"host", b"Tickets.example.org")


@pytest.mark.parametrize(
    ("scheme", "peer", "said", "https"),
    [
        ("https", "203.0.113.7", None, True),
        ("wss", "203.0.113.7", None, True),
        ("http", "203.0.113.7", None, False),
        ("http", "10.0.0.1", None, False),
        ("http", "10.0.0.1", b"https", True),
        ("http", "10.0.0.1", b"HTTPS, http", True),
        ("http", "10.0.0.1", b"http, https", False),
        ("http", "203.0.113.7", b"https", False),
    ],
)
def test_only_our_proxies_are_believed_about_https(scheme, peer, said, https):
    headers = [] if said is None else [(b"x-forwarded-proto", said)]
    assert came_by_https(scheme, (peer, 1), headers, PROXIES) is https
    assert came_by_https("http", None, headers, PROXIES) is False


@pytest.mark.parametrize(
    ("headers", "https", "own"),
    [
        ([], True, None),
        ([(b"origin", b"https://tickets.example.org")], True, True),
        ([(b"origin", b"https://tickets.example.org")], False, True),  # a proxy that is not named to us
        ([(b"origin", b"http://tickets.example.org")], False, True),
        ([(b"origin", b"http://tickets.example.org")], True, False),
        ([(b"origin", b"https://tickets.example.org:8443")], True, False),
        ([(b"origin", b"https://example.org")], True, False),
        ([(b"origin", b"https://tickets.example.org.evil.example")], True, False),
        ([(b"origin", b"null")], True, False),
        ([(b"origin", b"")], True, False),
        ([(b"sec-fetch-site", b"same-origin")], True, True),
        ([(b"sec-fetch-site", b"same-site")], True, False),
        ([(b"sec-fetch-site", b"cross-site"), (b"origin", b"https://tickets.example.org")], True, False),
        ([(b"sec-fetch-site", b"none")], True, False),
    ],
)
def test_a_page_of_this_origin_is_told_from_others(headers, https, own):
    assert from_own_page([HOST, *headers], https=https) is own


def test_without_a_host_nothing_is_our_own():
    assert from_own_page([(b"origin", b"https://")], https=True) is False
