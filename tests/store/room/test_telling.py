""" "It is your turn" by mail: to who left an address, in the transaction that admits, and to nobody else."""

from __future__ import annotations

import email
import email.policy
from datetime import UTC, datetime

import psycopg
import pytest

from notifier import letters
from notifier.letters import About
from onsale.chores.mail import mail
from store.mail import Alone
from store.room import admitting, telling
from store.room.admitting import Change, Orders
from store.room.joining import Joining
from store.room.words import Lane, RoomPolicy
from store.words import EventState
from tests.onsale.chores.doings import doing, settings_of
from tests.store.room.rooming import ADMITTED, join, make_room, set_place


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def mails(conn):
    return conn.execute("SELECT address, kind, state FROM mail ORDER BY address").fetchall()


def admit(conn, event, *buyers):
    for buyer in buyers:
        set_place(conn, event, buyer, **ADMITTED)
    rows = conn.execute("SELECT id FROM place WHERE buyer = ANY (%s)", (list(buyers),)).fetchall()
    return telling.write_mails(conn, [place for (place,) in rows])


def test_who_left_an_address_is_written_to_and_nobody_else(conn):
    event = make_room(conn)
    join(conn, event, Joining("ann", email="ann@example.org"), "bob", Joining("eve", email="eve@x.org"))
    assert admit(conn, event, "ann", "bob") == 1
    assert mails(conn) == [("ann@example.org", Alone.PLACE_ADMITTED, "due")]


def test_who_joins_again_may_name_another_address_and_keeps_it_by_naming_none(conn):
    event = make_room(conn)
    first = join(conn, event, Joining("ann", email="old@example.org"), "bob")
    again = join(conn, event, Joining("ann", email="new@example.org"), Joining("bob", email="bob@x.org"))
    assert again == first
    join(conn, event, "ann")
    admit(conn, event, "ann", "bob")
    assert [address for address, *_ in mails(conn)] == ["bob@x.org", "new@example.org"]


def test_what_is_rolled_back_writes_no_mail(conn):
    event = make_room(conn)
    join(conn, event, Joining("ann", email="ann@example.org"))
    with conn.transaction(force_rollback=True):
        assert admit(conn, event, "ann") == 1
    assert mails(conn) == []


def test_who_is_called_again_is_written_to_again(conn):
    event = make_room(conn)
    join(conn, event, Joining("ann", email="ann@example.org"))
    assert admit(conn, event, "ann") + admit(conn, event, "ann") == 2
    assert len(mails(conn)) == 2


def test_an_admission_writes_to_whom_it_admits(conn):
    event = make_room(conn, policy=RoomPolicy.FIFO, state=EventState.OPEN)
    join(conn, event, *[Joining(f"b{n}", email=f"b{n}@example.org") for n in range(3)])
    standing = admitting.read(conn, event)
    assert standing is not None
    called, through = admitting.next_of(conn, event, standing, Lane.ORDINARY, 2)
    change = Change(
        called=called,
        serving=through,
        serving_priority=0,
        credit=0,
        factor=1,
        rate=None,
        reason=None,
        orders=Orders(0),
    )
    admitting.write(conn, event, standing, change)
    assert [address for address, *_ in mails(conn)] == ["b0@example.org", "b1@example.org"]


def test_the_chore_sends_it_with_until_when_to_begin_and_where(conn, database_url, tmp_path):
    event = make_room(conn)
    join(conn, event, Joining("ann", email="ann@example.org"))
    admit(conn, event, "ann")
    admit(conn, event, "ann")
    doing(database_url, mail, settings=settings_of(database_url, folder=tmp_path / "mail"))
    files = list((tmp_path / "mail").iterdir())
    assert len(files) == 2, "each is a mail of its own"
    message = email.message_from_bytes(files[0].read_bytes(), policy=email.policy.default)
    assert (message["To"], message["Subject"]) == ("ann@example.org", "It is your turn: The gig")
    for kind in ("plain", "html"):
        part = message.get_body((kind,))
        assert part is not None
        assert "http://on.sale/e/gig" in part.get_content()
        assert "Please begin by: " in part.get_content()
    assert {state for *_, state in mails(conn)} == {"sent"}


def test_its_words_are_plain_and_know_no_markup():
    about = About("<b>Gig</b>\r\nBcc: x", "http://on.sale/e/gig")
    body = {"place": "1", "begin_by": datetime(2026, 5, 1, 18, 3, tzinfo=UTC).isoformat()}
    says = letters.letter(Alone.PLACE_ADMITTED, body, about)
    assert says is not None
    assert says.subject == "It is your turn: <b>Gig</b> Bcc: x"
    assert "Please begin by: Friday, 1 May 2026, 18:03 UTC" in says.lines


def test_it_is_work_for_the_chore(conn):
    from tests.onsale.chores.test_work import there_is

    event = make_room(conn)
    join(conn, event, Joining("ann", email="ann@example.org"))
    admit(conn, event, "ann")
    assert there_is(conn, "mail")
