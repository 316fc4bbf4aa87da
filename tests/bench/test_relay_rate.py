"""The relay's benchmark: everything arrives, once."""

from __future__ import annotations

from bench.payments.relay import measure_relay


def test_what_was_measured_was_delivered(database_url):
    rate = measure_relay(database_url, messages=200, events=5, relays=2)
    assert (rate.messages, rate.events, rate.relays, rate.received) == (200, 5, 2, 200)
    assert rate.deliveries_per_second > 0
