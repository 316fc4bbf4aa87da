"""Where subscribers may be."""

from __future__ import annotations

import pytest

from store.errors import BadRequest
from store.subscribers.addresses import URL_LENGTH_MAX, check_url, is_public, private_allowed

PUBLIC = [
    "93.184.215.14",
    "8.8.8.8",
    "2606:2800:21f:cb07:6820:80da:af6b:8b2c",
    "::ffff:8.8.8.8",
    "2002:808:808::1",
    "64:ff9b::808:808",
]
NOT_PUBLIC = [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255",
    "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.127.255.255", "192.0.0.1", "192.0.2.1", "198.18.0.1",
    "198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
    "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254",
    "ff02::1", "2001:db8::1", "100::1", "5f00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    "::ffff:169.254.169.254", "::127.0.0.1", "::a00:1", "2002:7f00:1::1", "2002:a9fe:a9fe::",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "2001:0:7f00:1::f7f7:f7f7",
    "192.0.0.192", "192.0.0.9", "3fff::1", "::ffff:192.0.0.192",
    "2001:0:808:808::80ff:fffe", "localhost", "2130706433", "127.1", "", "8.8.8.8:80",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_internet_is_public(address):
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_every_other_address_is_not_however_it_is_carried(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org",
        "http://example.org:8080/a/b?c=d",
        "https://8.8.8.8/hook",
        "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/",
        f"https://example.org/{'x' * (URL_LENGTH_MAX - 20)}",
    ],
)
def test_a_url_that_may_be_asked_stays_as_it_is(url):
    assert check_url(url, allow_private=False) == url


@pytest.mark.parametrize(
    "url",
    [
        "", "example.org", "ftp://example.org", "file:///etc/passwd", "gopher://example.org", "https://",
        "https:///path", "https://user@example.org", "https://user:secret@example.org", "https://example.org/#a",
        "https://example.org:99999", "https://example.org:0", "https://exa mple.org", "https://example.org/\n",
        "https://exämple.org", "https://[::1", "https://[fe80::1%25eth0]/", f"https://e.org/{'x' * 2000}",
        "http://localhost", "http://LOCALHOST./", "http://a.localhost", "http://metadata.google.internal",
        "http://printer.local", "http://127.0.0.1", "http://127.1", "http://2130706433", "http://0x7f.1",
        "http://0177.0.0.1", "http://0", "http://[::1]", "http://[::ffff:10.0.0.1]", "http://169.254.169.254/latest",
        "http://127.0.0.1.",
    ],
)  # fmt: skip
def test_a_url_that_may_not_is_refused_with_what_to_do(url):
    with pytest.raises(BadRequest, match="Give another one") as refused:
        check_url(url, allow_private=False)
    assert refused.value.code == "invalid_url"


def test_who_hosts_both_may_allow_private_addresses():
    assert check_url("http://127.0.0.1:9/hook", allow_private=True)
    with pytest.raises(BadRequest):
        check_url("ftp://127.0.0.1", allow_private=True)
    assert [private_allowed({"ONSALE_WEBHOOKS_ALLOW_PRIVATE": told}) for told in ("1", "0", "", "yes")] == [
        True,
        False,
        False,
        False,
    ]
    assert not private_allowed({})
