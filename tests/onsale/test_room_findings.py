"""What the doctor finds about waiting rooms: gateways without a key in common, where a room needs one."""

from __future__ import annotations

import psycopg
import pytest

from onsale.doctor import examine
from onsale.findings import Level
from onsale.room_findings import rooms
from store import events
from store.words import EventState
from tests.onsale.test_doctor import findings
from tests.store.room.rooming import make_room

KEY = "a key for the waiting rooms of these tests"
GATEWAY = {"ONSALE_TOKEN_SECRET": "a secret of a gateway, long enough for these tests"}


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def found(conn, runs=False, **environ):
    return [(one.level, one.found, one.remedy) for one in rooms(conn, environ, runs=runs)]


def test_without_a_room_nobody_needs_a_key(conn):
    make_room(conn)
    events.set_state(conn, "gig", EventState.OPEN)
    events.set_state(conn, "gig", EventState.CLOSED)
    assert found(conn, **GATEWAY) == []


def test_a_gateway_without_a_key_is_found_where_an_event_has_a_room(conn):
    make_room(conn)
    [(level, told, remedy)] = found(conn, **GATEWAY)
    assert level is Level.WARN
    assert "gig: ONSALE_ROOM_KEY is not set" in told
    assert "the same for every gateway" in remedy
    assert [level for level, *_ in found(conn, **GATEWAY, ONSALE_ROOM_KEY=KEY)] == [Level.OK]


def test_a_key_that_is_none_is_found_and_not_shown(conn):
    make_room(conn)
    [(level, told, _)] = found(conn, **GATEWAY, ONSALE_ROOM_KEY="short one")
    assert level is Level.BAD
    assert "ONSALE_ROOM_KEY" in told
    assert "short one" not in told


def test_in_another_environment_nothing_is_known_of_gateways(conn):
    make_room(conn)
    [(level, told, _)] = found(conn)
    assert (level, "no gateway's environment" in told) == (Level.NOTE, True)
    assert [level for level, *_ in found(conn, runs=True)] == [Level.OK], "./run up made one"


def test_many_rooms_are_named_in_part(conn):
    for number in range(8):
        make_room(conn, f"gig-{number}")
    [(_, told, _)] = found(conn, **GATEWAY)
    assert "gig-7, gig-6, gig-5, gig-4, gig-3 and 3 more" in told


def test_the_doctor_tells_it(engine_urls, conn, tmp_path, monkeypatch):
    for name, value in (engine_urls.as_env() | GATEWAY).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("ONSALE_ROOM_KEY", raising=False)
    assert findings(examine(tmp_path), "waiting rooms") == []
    make_room(conn)
    [(level, _)] = findings(examine(tmp_path), "waiting rooms")
    assert level is Level.WARN
