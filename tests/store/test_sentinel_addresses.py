"""Addresses of a primary behind Sentinels."""

from __future__ import annotations

import pytest

from store.stream.sentinel import PORT, AddressNotValid, SentinelAddress, read_address


def test_an_address_that_names_a_server_is_none():
    assert read_address("redis://:secret@valkey:6379/0") is None
    assert read_address("rediss://valkey") is None


def test_hosts_name_and_logins_are_read():
    address = read_address(
        "redis+sentinel://ann:p%40ss@one,two:26380,[::1]:7/tickets/3?sentinel_user=s&sentinel_password=q"
    )
    assert address == SentinelAddress(
        sentinels=(("one", PORT), ("two", 26380), ("::1", 7)),
        name="tickets",
        database=3,
        user="ann",
        password="p@ss",
        sentinel_user="s",
        sentinel_password="q",
    )
    assert address.of_primary() == {"db": 3, "username": "ann", "password": "p@ss"}


def test_tls_is_for_the_primary_and_its_sentinels():
    address = read_address("rediss+sentinel://one/tickets")
    assert address is not None
    assert address.of_primary()["ssl"] is True
    assert address.of_sentinels()["ssl"] is True


@pytest.mark.parametrize(
    "url",
    [
        "redis+sentinel://one",
        "redis+sentinel:///tickets",
        "redis+sentinel://one,/tickets",
        "redis+sentinel://one:port/tickets",
        "redis+sentinel://one/tickets/zero",
        "redis+sentinel://one/tickets?password=q",
    ],
)
def test_what_cannot_be_read_is_refused_with_how_it_is_written(url):
    with pytest.raises(AddressNotValid, match=r"redis\+sentinel://:password@host1:26379"):
        read_address(url)
