"""Buyers are told by mail: once for each row of the outbox, again where it is not sure, never in the way."""

from __future__ import annotations

import email
import email.policy
import functools
import threading
from datetime import UTC, datetime

import msgspec
import pytest

from notifier import letters
from notifier import mail as messages
from notifier.letters import About
from notifier.mail import FileSink, NeverSent, Smtp
from onsale.chores.mail import carrier_of, mail
from store import mail as rows
from store import outbox
from store.errors import Unavailable
from store.outbox import Told
from tests.onsale.chores.doings import Killed, doing, settings_of
from tests.store.payments.paying import begun, notice, told
from tests.store.test_holds import HOLD, hold

NOW = datetime(2026, 5, 1, tzinfo=UTC)
ABOUT = About("Gig", "http://x/e/gig")


class Carried:
    """A mail server that keeps what it is given."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []
        self.fails: dict[str, Exception] = {}
        self.then = lambda: None

    def send(self, message, sender, to) -> None:
        if to in self.fails:
            raise self.fails[to]
        self.messages.append((to, str(message["Message-ID"])))
        self.then()

    def close(self) -> None:
        self.then = lambda: None


@pytest.fixture
def carrier():
    return Carried()


def bought(conn, event, number=0, address="ann@example.org"):
    hold(conn, event, hold_id=HOLD + number, buyer=f"b{number}", seats=(number,), places=0)
    payment = begun(conn, event, HOLD + number, f"b{number}")
    conn.execute("UPDATE payment SET email = %s WHERE id = %s", (address, payment.id))
    told(conn, notice(payment))
    return payment


def send(conn, database_url, carrier, **how):
    return doing(database_url, functools.partial(mail, carrier=carrier), **how)


def states(conn):
    return conn.execute("SELECT state, attempts FROM mail ORDER BY id").fetchall()


def part(message, kind):
    """The text of a mail's part."""
    found = message.get_body((kind,))
    assert found is not None, "a mail has both"
    return found.get_content()


def come_again(conn):
    conn.execute("UPDATE mail SET next_at = clock_timestamp()")


def test_an_order_is_told_once_to_its_buyer(conn, event, database_url, carrier):
    bought(conn, event)
    assert send(conn, database_url, carrier).done == 1
    assert send(conn, database_url, carrier).done == 0
    assert [to for to, _ in carrier.messages] == ["ann@example.org"]
    assert states(conn) == [("sent", 1)]


def test_who_gave_no_address_is_told_nothing_by_mail(conn, event, database_url, carrier):
    bought(conn, event, address=None)
    assert send(conn, database_url, carrier).done == 0
    assert states(conn) == []


def test_what_came_late_and_what_became_of_it_is_told(conn, event, database_url, carrier):
    payment = bought(conn, event)
    body = {"payment": payment.id, "amount_minor": 5, "currency": "EUR", "reason": "late"}
    for kind in (Told.PAYMENT_LATE, Told.PAYMENT_REFUND_DUE, Told.PAYMENT_REFUNDED):
        outbox.write(conn, event, kind, body)
    for kind in (Told.ORDER_CHANGED, Told.ORDER_REFUNDED):
        outbox.write(conn, event, kind, {"order": str(HOLD), "buyer": "b0"})
    assert send(conn, database_url, carrier).done == 6


def test_all_who_bought_are_told_once_of_an_event_that_is_canceled(conn, event, database_url, carrier):
    for number in range(3):
        bought(conn, event, number, address="ann@example.org" if number < 2 else "bob@example.org")
    send(conn, database_url, carrier)
    carrier.messages.clear()
    outbox.write(conn, event, Told.EVENT_CANCELED, {"event": "gig"})
    send(conn, database_url, carrier)
    assert sorted(to for to, _ in carrier.messages) == ["ann@example.org", "bob@example.org"]


def test_rows_that_mails_say_nothing_of_are_passed_over(conn, event, database_url, carrier):
    payment = bought(conn, event)
    outbox.write(conn, event, Told.TICKET_TRANSFERRED, {"payment": payment.id, "order": str(HOLD)})
    assert send(conn, database_url, carrier).done == 1
    assert conn.execute("SELECT number FROM mail_position").fetchall() == [(2,)]


def test_who_is_killed_after_sending_sends_it_again_under_the_same_name(conn, event, database_url, carrier):
    bought(conn, event)

    def killed():
        raise Killed

    carrier.then = killed
    with pytest.raises(Killed):
        send(conn, database_url, carrier)
    assert send(conn, database_url, carrier).done == 0, "it is somebody's for a while"
    come_again(conn)
    assert send(conn, database_url, carrier).done == 1
    [(_, first), (_, second)] = carrier.messages
    assert first == second
    assert states(conn) == [("sent", 2)]


def test_one_that_cannot_be_sent_waits_longer_each_time_and_stops_nobody(conn, event, database_url, carrier):
    bought(conn, event, 0, "full@example.org")
    bought(conn, event, 1, "ann@example.org")
    carrier.fails["full@example.org"] = Unavailable("The box is full.")
    run = send(conn, database_url, carrier)
    assert (run.done, "The box is full." in run.told()) == (1, True)
    pause = "SELECT extract(epoch FROM next_at - clock_timestamp()) FROM mail WHERE state = 'due'"
    [(first,)] = conn.execute(pause).fetchall()
    come_again(conn)
    send(conn, database_url, carrier)
    [(second,)] = conn.execute(pause).fetchall()
    assert 20 < first < 40 < second < 80
    conn.execute("UPDATE mail SET attempts = 12")
    come_again(conn)
    send(conn, database_url, carrier)
    assert sorted(state for state, _ in states(conn)) == ["given_up", "sent"]


def test_what_was_taken_and_not_tried_is_due_as_before(conn, event, database_url, carrier):
    stop = threading.Event()
    for number in range(3):
        bought(conn, event, number)
    carrier.then = stop.set
    run = send(conn, database_url, carrier, stop=stop)
    assert (run.done, run.more) == (1, True)
    assert sorted(states(conn)) == [("due", 0), ("due", 0), ("sent", 1)]
    assert send(conn, database_url, carrier).done == 2


def test_an_event_whose_rows_cannot_be_read_stops_no_others_mails(
    conn, event, database_url, carrier, monkeypatch
):
    write_down = rows.write_down

    async def broken(connection, number):
        return 1 // 0 if number == -1 else await write_down(connection, number)

    monkeypatch.setattr(rows, "write_down", broken)
    outbox.write(conn, -1, Told.EVENT_MOVED, {})
    bought(conn, event)
    run = send(conn, database_url, carrier)
    assert run.done == 1
    assert "mails of event -1" in run.told()


def test_an_address_nobody_has_is_given_up_at_once(conn, event, database_url, carrier):
    bought(conn, event, 0, "gone@example.org")
    bought(conn, event, 1, "no address at all")
    carrier.fails["gone@example.org"] = NeverSent("550 nobody")
    run = send(conn, database_url, carrier)
    assert run.told() is None
    assert [state for state, _ in states(conn)] == ["given_up", "given_up"]
    assert carrier.messages == []


def test_without_a_mail_server_mails_are_files(conn, event, database_url, tmp_path):
    payment = bought(conn, event)
    doing(database_url, mail, settings=settings_of(database_url, folder=tmp_path / "mail"))
    [file] = list((tmp_path / "mail").iterdir())
    message = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
    assert message["To"] == "ann@example.org"
    plain = part(message, "plain")
    assert f"http://on.sale/e/gig/tickets/{payment.hold_id}" in plain
    assert letters.money(payment.amount_minor, payment.currency) in plain
    assert "<p>" in part(message, "html")


def test_the_same_mail_again_is_the_same_file(tmp_path):
    says = letters.letter(Told.PAYMENT_LATE, {"amount_minor": 1, "currency": "EUR"}, ABOUT)
    assert says is not None
    name = messages.message_id(7, "ann@example.org", "shop@example.org")
    sink = FileSink(tmp_path)
    for _ in range(2):
        sink.send(messages.message(says, "shop@example.org", "ann@example.org", name, NOW), "", "")
    assert len(list(tmp_path.iterdir())) == 1
    assert messages.message_id(7, "bob@example.org", "shop@example.org") != name


@pytest.mark.parametrize("kind", [*rows.OF_PAYMENT, *rows.OF_ORDER, Told.EVENT_CANCELED, Told.EVENT_MOVED])
def test_every_kind_that_is_mailed_has_words_and_no_markup_of_others(kind):
    body = {"order": "65536", "amount_minor": 1_234, "currency": "EUR", "reason": "seats_gone"}
    says = letters.letter(kind, body, ABOUT)
    assert says is not None
    assert "Gig" in says.subject
    named = letters.Letter("s", (*says.lines, "<b>Gig</b>"), 'http://x/"><b>', "<b>")
    message = messages.message(named, "shop@example.org", "ann@example.org", "<1@x>", NOW)
    assert "<b>" not in part(message, "html")
    assert "<b>Gig</b>" in part(message, "plain")


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ann",
        "@example.org",
        "ann@",
        "ann@example.org\nBcc: eve@example.org",
        "a b@x",
        "a" * 250 + "@x.org",
    ],
)
def test_an_address_that_is_none_is_never_written_to(address):
    says = letters.Letter("Subject", ("line",))
    with pytest.raises(NeverSent):
        messages.message(says, "shop@example.org", address, "<1@x>", NOW)


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        (1_234, "EUR", "12.34"),
        (5, "EUR", "0.05"),
        (1_234_500, "JPY", "1,234,500"),
        (1_234, "KWD", "1.234"),
    ],
)
def test_money_is_told_as_people_read_it(amount, currency, text):
    assert letters.money(amount, currency) == f"{text} {currency}"


def test_a_mail_server_that_is_away_is_tried_again(database_url):
    carrier = carrier_of(settings_of(database_url))
    assert isinstance(carrier, FileSink)
    server = Smtp("smtp://127.0.0.1:1")
    message = messages.message(
        letters.Letter("s", ("l",)), "shop@example.org", "ann@example.org", "<1@x>", NOW
    )
    with pytest.raises(Unavailable):
        server.send(message, "shop@example.org", "ann@example.org")


def test_bodies_are_read_as_they_were_told(conn, event, database_url):
    bought(conn, event)

    async def take(run):
        for number in await rows.unread(run.connection):
            await rows.write_down(run.connection, number)
        return await rows.take(run.connection)

    [one] = doing(database_url, take).done
    assert msgspec.json.decode(one.body)["order"] == str(HOLD)
    assert (one.kind, one.slug, one.event_name, one.attempts) == (Told.ORDER_PAID, "gig", "The gig", 1)


def test_a_row_is_known_to_be_unread_until_it_was_made_a_mail_of(conn, event, database_url, carrier):
    unread = f"SELECT id FROM outbox AS o WHERE {rows.YET_TO_READ} ORDER BY id"
    bought(conn, event)
    assert conn.execute(unread).fetchall() == [(1,)]
    send(conn, database_url, carrier)
    outbox.write(conn, event, Told.EVENT_MOVED, {})
    assert conn.execute(unread).fetchall() == [(2,)]
