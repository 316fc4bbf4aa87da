"""What operators do with subscribers."""

from __future__ import annotations

import base64
import threading

import psycopg
import pytest

from store import audit, events, outbox
from store.errors import BadRequest, Conflicted, NotFound, Unavailable
from store.outbox import Told
from store.subscribers import edit, show
from store.venues.make import make
from store.venues.rows import save_venue
from tests.allocator.waiting import WAITING

SAID = audit.said("Olga", "they asked for it")
URL = "https://example.org/hook"
SET_ASIDE = """
INSERT INTO delivery (subscriber_id, outbox_id, event_id, kind, payload, state, attempts, next_at)
VALUES (%s, %s, 1, 'order.paid', '{}', %s, 11, clock_timestamp() + interval '1 day')
"""


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def event(conn):
    plan = make("arena", 100)
    return events.create_event(conn, "gig", "The gig", save_venue(conn, "arena", plan), plan)


@pytest.fixture
def number(conn):
    return int(edit.add(conn, URL, SAID).subscriber.id)


def changes(conn, number):
    """What was done, and by whom."""
    return [(row.who, row.why, row.what["change"]) for row in show.show(conn, number).audit]


def test_a_subscriber_is_added_with_a_secret_that_is_told_once(conn, event):
    made = edit.add(conn, URL, SAID, event="gig", kinds=["order.paid", "order.refunded", "order.paid"])
    assert len(base64.b64decode(made.secret.removeprefix("whsec_"))) == edit.SECRET_BYTES
    assert made.secret not in str(show.show(conn, int(made.subscriber.id)))
    shown = show.get(conn, int(made.subscriber.id))
    assert (shown.url, shown.event, shown.kinds) == (URL, "gig", ["order.paid", "order.refunded"])
    assert (shown.state, shown.waiting, shown.dead, shown.delivered_at) == ("active", 0, 0, None)
    assert changes(conn, 1) == [("Olga", "they asked for it", "add")]
    assert edit.add(conn, URL, SAID).secret != made.secret
    assert [one.id for one in show.list_all(conn)] == ["2", "1"]


@pytest.mark.parametrize(
    ("url", "terms", "kind", "code"),
    [
        ("http://127.0.0.1", {}, BadRequest, "invalid_url"),
        (URL, {"event": "none"}, NotFound, "unknown_event"),
        (URL, {"kinds": ["order.payed"]}, BadRequest, "unknown_kind"),
    ],
)
def test_what_cannot_be_subscribed_is_refused(conn, url, terms, kind, code):
    with pytest.raises(kind) as refused:
        edit.add(conn, url, SAID, **terms)
    assert refused.value.code == code
    assert show.list_all(conn) == []


def test_there_are_only_so_many_also_when_two_are_added_at_once(conn, database_url, monkeypatch):
    monkeypatch.setattr(edit, "SUBSCRIBERS_MAX", 1)
    refused = []

    def add():
        with psycopg.connect(database_url, autocommit=True) as own:
            try:
                edit.add(own, URL, SAID)
            except Conflicted as error:
                refused.append(error.code)

    with psycopg.connect(database_url) as first:
        with first.transaction():
            edit.add(first, URL, SAID)
            adding = threading.Thread(target=add)
            adding.start()
            while conn.execute(WAITING).fetchone() == (0,):
                assert adding.is_alive()
        adding.join()
    assert refused == ["too_many_subscribers"]


def test_a_rotation_keeps_the_secret_before_for_a_while(conn, number):
    first = conn.execute("SELECT secret FROM subscriber").fetchone()
    made = edit.rotate(conn, number, SAID, overlap_hours=2)
    assert made.subscriber.previous_secret_until is not None
    read = (
        "SELECT secret, previous_secret, previous_until > clock_timestamp() + interval '119 minutes'"
        " FROM subscriber"
    )
    assert conn.execute(read).fetchone() == (made.secret, *first, True)
    assert edit.rotate(conn, number, SAID, overlap_hours=0).subscriber.previous_secret_until is None
    assert changes(conn, number)[:2] == [("Olga", "they asked for it", "rotate")] * 2
    for hours in (-1, edit.OVERLAP_HOURS_MAX + 1):
        with pytest.raises(BadRequest, match="hours"):
            edit.rotate(conn, number, SAID, overlap_hours=hours)


def test_disabling_and_enabling_twice_changes_nothing_the_second_time(conn, number):
    for _ in range(2):
        disabled = edit.disable(conn, number, SAID)
        assert (disabled.state, disabled.disabled_why) == ("disabled", edit.BY_OPERATOR)
    for _ in range(2):
        enabled = edit.enable(conn, number, SAID)
        assert (enabled.state, enabled.disabled_why) == ("active", None)
    assert [change for *_, change in changes(conn, number)] == ["enable", "disable", "add"]


def test_all_dead_letters_are_replayed_or_one_message_that_waits_or_is_dead(conn, number):
    for outbox_id, state in ((1, "dead"), (2, "dead"), (3, "waiting")):
        conn.execute(SET_ASIDE, [number, outbox_id, state])
    assert edit.replay(conn, number, SAID, message="msg_3").messages == ["msg_3"]
    assert edit.replay(conn, number, SAID).messages == ["msg_1", "msg_2"]
    assert edit.replay(conn, number, SAID).messages == []
    due = "SELECT DISTINCT state, attempts, next_at <= clock_timestamp() FROM delivery"
    assert conn.execute(due).fetchall() == [("waiting", 0, True)]
    assert [row.what.get("messages") for row in show.show(conn, number).audit] == [2, 1, None]


def test_a_replay_touches_no_other_subscriber(conn, number):
    other = int(edit.add(conn, URL, SAID).subscriber.id)
    conn.execute(SET_ASIDE, [other, 1, "dead"])
    assert edit.replay(conn, number, SAID).messages == []
    with pytest.raises(NotFound, match="msg_1"):
        edit.replay(conn, number, SAID, message="msg_1")
    assert show.get(conn, other).dead == 1


@pytest.mark.parametrize("message", ["msg_9", "9", "msg_", "msg_x", "msg_-1", "msg_" + "9" * 30])
def test_what_does_not_wait_cannot_be_replayed(conn, number, message):
    with pytest.raises(NotFound) as refused:
        edit.replay(conn, number, SAID, message=message)
    assert refused.value.code == "unknown_message"


def test_a_test_message_has_a_number_that_no_other_message_gets(conn, number, event):
    message = edit.send_test(conn, number, SAID)
    outbox.write(conn, event, Told.ORDER_PAID, {})
    assert (message, conn.execute("SELECT id FROM outbox").fetchone()) == ("msg_1", (2,))
    assert show.get(conn, number).waiting == 1


def test_who_is_disabled_is_neither_replayed_nor_tested(conn, number):
    edit.disable(conn, number, SAID)
    for change in (edit.replay, edit.send_test):
        with pytest.raises(Conflicted) as refused:
            change(conn, number, SAID)
        assert refused.value.code == "subscriber_disabled"


def test_removing_leaves_nothing_but_who_did_it(conn, number, event):
    other = int(edit.add(conn, URL, SAID).subscriber.id)
    for one in (number, other):
        conn.execute(SET_ASIDE, [one, 1, "dead"])
        conn.execute("INSERT INTO subscriber_position VALUES (%s, 1, 1)", [one])
        conn.execute(
            "INSERT INTO delivery_log (subscriber_id, message, kind, attempt, outcome, took_ms)"
            " VALUES (%s, 'msg_1', 'order.paid', 1, 'dead', 1)",
            [one],
        )
    edit.remove(conn, number, SAID)
    for table in ("subscriber_position", "delivery", "delivery_log"):
        assert conn.execute(f"SELECT subscriber_id FROM {table}").fetchall() == [(other,)]
    assert [one.id for one in show.list_all(conn)] == [str(other)]
    what = conn.execute(
        "SELECT what FROM subscriber_audit WHERE subscriber_id = %s ORDER BY id DESC", [number]
    )
    assert what.fetchone() == ({"change": "remove", "url": URL},)


@pytest.mark.parametrize(
    "change", [edit.rotate, edit.disable, edit.enable, edit.replay, edit.send_test, edit.remove]
)
def test_nobody_of_that_number_is_not_found(conn, change):
    with pytest.raises(NotFound) as refused:
        change(conn, 7, SAID)
    assert refused.value.code == "unknown_subscriber"


def test_a_change_waits_only_so_long_for_another(conn, database_url, number, monkeypatch):
    monkeypatch.setattr(edit, "LOCK_WAIT_MS_MAX", 10)
    with psycopg.connect(database_url) as other:
        other.execute("SELECT 1 FROM subscriber FOR UPDATE")
        with pytest.raises(Unavailable, match="Try again"):
            edit.disable(conn, number, SAID)
    assert show.get(conn, number).state == "active"


@pytest.mark.parametrize("change", ["UPDATE {} SET who = 'x'", "DELETE FROM {}", "TRUNCATE {}"])
def test_who_did_what_cannot_be_changed(conn, number, change):
    with pytest.raises(psycopg.errors.RestrictViolation, match="append-only"):
        conn.execute(change.format("subscriber_audit"))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE subscriber SET state = 'gone'",
        "UPDATE subscriber SET state = 'disabled'",
        "UPDATE subscriber SET disabled_why = 'x'",
        "UPDATE subscriber SET previous_secret = 'x'",
        "INSERT INTO subscriber_position VALUES (1, 1, 0, 0, now(), NULL, now())",
        "INSERT INTO delivery VALUES (1, 1, 1, 'k', '{}', 'sent', 1)",
        "INSERT INTO delivery VALUES (1, 1, 1, 'k', '{}', 'dead', -1)",
    ],
)
def test_tables_hold_only_what_can_be(conn, number, change):
    with pytest.raises(psycopg.errors.CheckViolation):
        conn.execute(change)
