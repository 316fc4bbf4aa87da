"""A chore that would find nothing is not begun, and one that would find something is."""

from __future__ import annotations

import contextlib

import pytest

from onsale.chores.catalogue import SHORT
from onsale.chores.planner import Planner
from store.calling_off import begin
from store.chores import runs, work
from tests.onsale.chores.doings import settings_of
from tests.onsale.chores.test_payments import ends, for_long
from tests.onsale.chores.test_refunds import owed
from tests.store.calling_off.calling import SAID
from tests.store.payments.paying import begun
from tests.store.payments.test_refunds import give_all, late_payment
from tests.store.test_holds import hold


def rested(conn, name, *, ended="clock_timestamp()", failures=0):
    """The chore's last run ended well in this moment, and the next is due."""
    runs.enlist(conn, [(name, 3, name == "figures")])
    conn.execute(
        f"UPDATE chore_run SET due_at = clock_timestamp(), ended_at = {ended}, failures = {failures}"
        " WHERE chore = %s",
        (name,),
    )


def there_is(conn, name):
    """Whether the chore is begun because of what there is to do."""
    rested(conn, name)
    return runs.claim(conn, [name]) == [name]


@pytest.mark.parametrize("name", sorted(work.FINDS))
def test_what_finds_nothing_is_begun_now_and_then(conn, event, name):
    assert not there_is(conn, name)
    rested(conn, name, ended=f"clock_timestamp() - interval '{runs.QUIET_SECONDS} seconds'")
    assert runs.claim(conn, [name]) == [name]


def test_what_never_ended_or_failed_is_begun_again(conn, event):
    rested(conn, "mail", ended="NULL")
    assert runs.claim(conn, ["mail"]) == ["mail"]
    rested(conn, "mail", failures=1)
    assert runs.claim(conn, ["mail"]) == ["mail"]


@pytest.mark.parametrize("name", ["sweep", "figures"])
def test_what_nobody_knows_before_it_runs_is_begun_when_it_is_due(conn, name):
    assert there_is(conn, name)


def test_chores_that_are_asked_about_are_in_the_catalogue():
    assert set(work.FINDS) <= {chore.name for chore in SHORT}


def test_payments_to_cancel_to_end_and_to_look_at_are_work(conn, event):
    hold(conn, event)
    begun(conn, event)
    assert not there_is(conn, "payments"), "its hold runs"
    for_long(conn)
    assert there_is(conn, "payments"), "nobody told us about it for long"
    conn.execute("UPDATE payment SET created_at = clock_timestamp()")
    conn.execute("UPDATE hold SET expires_at = clock_timestamp() + interval '10 seconds'")
    assert there_is(conn, "payments"), "its hold ends in a moment"
    ends(conn)
    assert there_is(conn, "payments"), "its hold is over"
    conn.execute("UPDATE payment SET state = 'canceled'")
    assert there_is(conn, "payments"), "the provider was not told"
    conn.execute("UPDATE payment SET intent_ended = true")
    assert not there_is(conn, "payments")


def test_money_that_is_due_is_work_until_it_is_given(conn, event):
    owed(conn, event)
    assert there_is(conn, "refunds")
    give_all(conn)
    assert not there_is(conn, "refunds")


def test_a_late_payment_is_work(conn, event):
    late_payment(conn, event)
    assert there_is(conn, "late")


def test_mails_to_write_and_to_send_are_work(conn, event):
    owed(conn, event)
    assert there_is(conn, "mail"), "what was told is not read"
    conn.execute(
        "INSERT INTO mail_position (event_id, number) SELECT event_id, rows FROM outbox_count"
        " ON CONFLICT (event_id) DO UPDATE SET number = excluded.number"
    )
    assert not there_is(conn, "mail")
    mail = "INSERT INTO mail (event_id, outbox_id, address, kind, body) VALUES"
    conn.execute(f"{mail} ({event}, 1, 'a@x', 'order.paid', '{{}}')")
    assert there_is(conn, "mail"), "what was written is not sent"


def test_an_event_that_is_called_off_is_work(conn, event):
    begin.cancel(conn, "gig", SAID)
    assert there_is(conn, "calling-off")


def test_work_is_looked_for_as_often_as_it_would_be_done(conn, event, database_url, redis_url, monkeypatch):
    now, asked = [100.0], []
    claim = runs.claim

    def noted(connection, names):
        asked.append(list(names))
        return claim(connection, names)

    monkeypatch.setattr(runs, "claim", noted)
    monkeypatch.setattr("onsale.chores.planner.time.monotonic", lambda: now[0])
    with contextlib.closing(Planner(settings_of(database_url, redis_url))) as planner:
        assert "refunds" in planner.turn(), "it never ran"
        for name in work.FINDS:
            rested(conn, name)
        assert planner.turn() == []
        assert sorted(asked[-1]) == sorted(work.FINDS)
        owed(conn, event)
        assert planner.turn() == []
        assert len(asked) == 2, "nothing is asked again before its time"
        now[0] += max(chore.every_seconds for chore in SHORT if chore.name in work.FINDS)
        assert sorted(planner.turn()) == ["mail", "refunds"]
