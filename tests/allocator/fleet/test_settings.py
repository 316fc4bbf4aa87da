"""A host's settings: names and slots that no host can have are refused, with what to do."""

from __future__ import annotations

import pytest

from allocator.fleet.settings import HostSettingNotValid, HostSettings
from store.settings import MissingSetting

ENGINES = {"DATABASE_URL": "postgresql://db", "REDIS_URL": "redis://log"}


def test_a_host_is_named_after_its_machine_and_rq_is_where_the_stream_is(monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "hall.example")
    settings = HostSettings.from_env(ENGINES)
    assert (settings.host, settings.slots, settings.rq_url) == ("hall.example", 2, "redis://log")
    assert settings.queue == "onsale-host-hall.example"
    mine = {"ONSALE_RQ_URL": "redis://rq", "ONSALE_HOST_NAME": "attic", "ONSALE_SLOTS": "64"}
    settings = HostSettings.from_env(ENGINES | mine)
    assert (settings.host, settings.slots, settings.rq_url) == ("attic", 64, "redis://rq")


@pytest.mark.parametrize("slots", ["0", "65", "-1", "10000", "two", "1.5", "٣"])
def test_slots_out_of_bounds_are_refused(slots):
    with pytest.raises(HostSettingNotValid, match="1 to 64 slots"):
        HostSettings.from_env(ENGINES | {"ONSALE_SLOTS": slots})


@pytest.mark.parametrize("name", ["a b", "-a", "ä", "x" * 65, "a/b", "a\n"])
def test_names_that_are_none_are_refused(name):
    with pytest.raises(HostSettingNotValid, match="--name"):
        HostSettings.from_env(ENGINES | {"ONSALE_HOST_NAME": name})


def test_without_engines_there_is_no_host():
    with pytest.raises(MissingSetting, match="REDIS_URL"):
        HostSettings.from_env({"DATABASE_URL": "postgresql://db"})
