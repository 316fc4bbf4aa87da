"""The waiting rooms of events that share: one thread keeps all that are owned, each apart from the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import psycopg
import pytest

from allocator.cold import rooms
from allocator.cold.event import ColdEvent
from allocator.cold.rooms import Rooms
from allocator.keeper import Steps
from allocator.lease import Owned
from store.room import rooms as room_rows
from store.room.words import RoomTerms
from store.settings import EngineUrls
from tests.allocator.kept import Kept, keeping

WAIT_SECONDS_MAX = 30
KEEPERS = """
SELECT pid FROM pg_stat_activity
 WHERE application_name = 'onsale keeper cold' AND datname = current_database()
"""


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def kept(conn, engine_urls):
    with keeping(conn, engine_urls) as make:
        yield make


class Owner:
    """What is owned here, and the thread that keeps its rooms."""

    def __init__(self, urls: EngineUrls) -> None:
        self.events: dict[int, Any] = {}
        self.rooms = Rooms(
            urls.database_url, urls.redis_url, lambda: cast("list[ColdEvent]", list(self.events.values()))
        )

    def own(self, line: Kept, epoch: int = 1) -> None:
        """Take this one."""
        right = Owned(epoch, uuid4())
        self.events[line.event] = SimpleNamespace(event_id=line.event, slug=line.slug, owned=right)

    def until(self, true: Callable[[], object], what: str) -> None:
        give_up_at = time.monotonic() + WAIT_SECONDS_MAX
        while not true():
            assert time.monotonic() < give_up_at, f"in vain until {what}"
            self.rooms.join(0.02)

    def close(self) -> None:
        self.rooms.stop()
        self.rooms.join(WAIT_SECONDS_MAX)
        assert not self.rooms.is_alive()


@pytest.fixture
def owner(engine_urls, monkeypatch):
    monkeypatch.setattr(rooms, "LOOK_SECONDS", 0.1)
    with closing(Owner(engine_urls)) as made:
        yield made


@pytest.fixture
def stepped(monkeypatch) -> list[int]:
    """The events whose rooms had a step, each time."""
    seen: list[int] = []
    step = Steps.step

    def count(self: Steps) -> float:
        seen.append(self._event_id)
        return step(self)

    monkeypatch.setattr(Steps, "step", count)
    return seen


def lines(kept: Any, count: int, **terms: Any) -> list[Kept]:
    made = [kept(policy="fifo", shopping_max=2, **terms) for _ in range(count)]
    for line in made:
        line.join("ann", "bob", "eve")
    return made


def test_all_rooms_are_drawn_and_admit_by_one_connection(conn, kept, owner):
    made = lines(kept, 5)
    for line in made:
        owner.own(line)
    owner.rooms.start()
    for line in made:
        line.open()
    owner.until(lambda: all(line.called() == ["ann", "bob"] for line in made), "two of each are admitted")
    assert all(line.order() == ["ann", "bob", "eve"] for line in made)
    assert len(conn.execute(KEEPERS).fetchall()) == 1


def test_what_is_not_owned_here_is_not_kept(conn, kept, owner, stepped):
    here, elsewhere = lines(kept, 2)
    owner.own(here)
    owner.rooms.start()
    elsewhere.open()
    here.open()
    owner.until(lambda: len(here.called()) == 2, "what is owned is kept")
    assert elsewhere.event not in stepped
    assert elsewhere.called() == []


def test_what_was_handed_over_has_no_further_step_and_when_it_comes_back_it_is_kept_again(
    kept, owner, stepped
):
    gone, stays = lines(kept, 2)
    for line in (gone, stays):
        line.open()
        owner.own(line)
    owner.rooms.start()
    owner.until(lambda: len(gone.called()) == len(stays.called()) == 2, "both are kept")
    del owner.events[gone.event]
    owner.until(lambda: gone.event not in owner.rooms._kept, "it is let go")
    stepped.clear()
    owner.until(lambda: stays.event in stepped, "the other one goes on")
    assert gone.event not in stepped
    owner.own(gone, epoch=3)
    owner.until(lambda: gone.event in stepped, "it is kept again")
    assert gone.admissions() == (2, 2)


def test_what_is_owned_anew_is_kept_by_steps_that_remember_nothing(kept, owner):
    (line,) = lines(kept, 1)
    line.open()
    owner.own(line)
    owner.rooms.start()
    owner.until(lambda: len(line.called()) == 2, "it is kept")
    _, before = owner.rooms._kept[line.event]
    owner.own(line, epoch=2)
    right = owner.events[line.event].owned
    owner.until(lambda: owner.rooms._kept.get(line.event, (None,))[0] == right, "by the new right")
    assert owner.rooms._kept[line.event][1] is not before
    assert line.admissions() == (2, 2)


def test_a_room_that_is_made_while_its_event_is_owned_is_found(conn, kept, owner, stepped):
    other, late = lines(kept, 2)
    conn.execute("DELETE FROM place WHERE event_id = %s", (late.event,))
    conn.execute("DELETE FROM room WHERE event_id = %s", (late.event,))
    conn.execute("UPDATE event SET state = 'draft' WHERE id = %s", (late.event,))
    for line in (other, late):
        owner.own(line)
    owner.rooms.start()
    owner.until(lambda: other.event in stepped, "who has a room is kept")
    assert late.event not in stepped
    room_rows.make(conn, late.slug, RoomTerms())
    owner.until(lambda: late.event in stepped, "the new room is kept")


def test_a_connection_that_is_cut_is_made_anew_and_nobody_is_admitted_twice(conn, kept, owner):
    made = lines(kept, 2)
    for line in made:
        line.open()
        owner.own(line)
    owner.rooms.start()
    owner.until(lambda: all(len(line.called()) == 2 for line in made), "two of each are admitted")
    ((first,),) = conn.execute(KEEPERS).fetchall()
    conn.execute("SELECT pg_terminate_backend(%s)", (first,))
    for line in made:
        line.leave("ann")
    owner.until(lambda: all(line.called() == ["bob", "eve"] for line in made), "they go on")
    assert [line.admissions() for line in made] == [(3, 3), (3, 3)]
    assert first not in [pid for (pid,) in conn.execute(KEEPERS).fetchall()]


def test_a_room_whose_step_fails_is_an_alert_and_holds_up_no_other(kept, owner, monkeypatch, caplog):
    broken, other = lines(kept, 2)
    step, fails = Steps.step, threading.Event()
    fails.set()

    def fail(self: Steps) -> float:
        if self._event_id == broken.event and fails.is_set():
            raise ValueError("a fault")
        return step(self)

    monkeypatch.setattr(Steps, "step", fail)
    for line in (broken, other):
        line.open()
        owner.own(line)
    owner.rooms.start()
    owner.until(lambda: len(other.called()) == 2, "the other one is kept")
    owner.until(lambda: f"{broken.slug}: ALERT" in caplog.text, "it is said")
    assert broken.called() == []
    fails.clear()
    owner.until(lambda: len(broken.called()) == 2, "it is tried again")


def test_where_nothing_is_owned_there_is_no_connection(conn, kept, owner):
    (line,) = lines(kept, 1)
    line.open()
    owner.own(line)
    owner.rooms.start()
    owner.until(lambda: conn.execute(KEEPERS).fetchall(), "it is kept")
    owner.events.clear()
    owner.until(lambda: not conn.execute(KEEPERS).fetchall(), "the connection ends")
    assert owner.rooms.is_alive()


def test_whatever_fails_beside_a_step_is_an_alert_and_the_rooms_are_kept_on(kept, owner, monkeypatch, caplog):
    (line,) = lines(kept, 1)
    line.open()
    owner.own(line)
    begin, fails = Rooms._begin, iter([ValueError("a fault")])

    def fail(self: Rooms, *given: Any) -> None:
        for error in fails:
            raise error
        begin(self, *given)

    monkeypatch.setattr(Rooms, "_begin", fail)
    owner.rooms.start()
    owner.until(lambda: len(line.called()) == 2, "it is kept after all")
    assert "ALERT: the keeper of rooms" in caplog.text
