"""Who bought something for an event that is called off reads what becomes of it: once, and to the cent."""

from __future__ import annotations

import functools
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from notifier import letters
from notifier import mail as messages
from notifier.letters import About, letter
from onsale.chores.mail import mail
from onsale.chores.settings import ChoreSettingNotValid, ChoreSettings
from store import events, outbox, sales
from store.calling_off import begin
from store.outbox import Told
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import HoldKind
from tests.onsale.chores.doings import doing
from tests.onsale.chores.test_mail import bought, part
from tests.store.calling_off.calling import GUID, SAID, to_the_end
from tests.store.payments.paying import begun, notice, told
from tests.store.payments.test_refunds import give_all
from tests.store.test_holds import HOLD, PLAN, hold

WAS, WILL_BE = datetime(2030, 5, 1, 18, 0, tzinfo=UTC), datetime(2030, 6, 2, 18, 30, tzinfo=UTC)
ANN, BOB, EVE = "ann@example.org", "bob@example.org", "eve@example.org"


class Read:
    """A mail server that keeps what was written: (to, subject, text)."""

    def __init__(self) -> None:
        self.mails: list[tuple[str, str, str]] = []

    def send(self, message, sender, to) -> None:
        self.mails.append((to, message["Subject"], part(message, "plain")))

    def close(self) -> None:
        """Nothing is open."""

    def of(self, address: str) -> dict[str, str]:
        """Subject → text; each subject once."""
        its = [(subject, text) for to, subject, text in self.mails if to == address]
        assert len(dict(its)) == len(its), "the same was told twice"
        return dict(its)


@pytest.fixture
def dated(conn, event):
    events.set_policy(conn, "gig", starts_at=WAS)
    return event


def sent(conn, database_url, steps):
    """What buyers read of these steps."""
    doing(database_url, functools.partial(mail, carrier=Read()))
    steps()
    carrier = Read()
    doing(database_url, functools.partial(mail, carrier=carrier))
    return carrier


def new_date(conn, **terms):
    plan = make("arena", 100, standing=50, name="The hall")
    return events.create_event(conn, "new", "The new gig", save_venue(conn, "hall", plan), plan, **terms)


def paragraphs(text):
    return text.strip().split("\n\n")


def begins_to_pay(conn, event, **what):
    hold(conn, event, **what)
    payment = begun(conn, event)
    conn.execute("UPDATE payment SET email = %s", (ANN,))
    return payment


def test_of_a_canceled_event_each_buyer_reads_once_how_much_comes_back(conn, dated, database_url):
    first, second = bought(conn, dated, 0, ANN), bought(conn, dated, 1, ANN)
    other = bought(conn, dated, 2, BOB)
    bought(conn, dated, 3, EVE)
    sales.take_back(conn, dated, PLAN, HOLD + 3, SAID)

    def canceled():
        begin.cancel(conn, "gig", SAID)
        to_the_end(conn)

    found = sent(conn, database_url, canceled)
    assert found.of(EVE) == {}, "who had everything back before is not told that something comes back"
    [(subject, text)] = found.of(ANN).items()
    assert subject == "The gig is canceled"
    back = letters.money(first.amount_minor + second.amount_minor, "EUR")
    assert paragraphs(text) == [
        "We are sorry: The gig does not take place, and your tickets are no longer valid.",
        "It was to be: Wednesday, 1 May 2030, 18:00 UTC",
        "Place: Arena 100",
        f"All that you paid for it and have not got back yet, {back}, goes back to where it came from.",
        (
            "You need not do anything. We write again as soon as it is on its way."
            " From then on your bank may take some days to show it."
        ),
        "More about it: http://on.sale/e/gig",
    ]
    assert letters.money(other.amount_minor, "EUR") in found.of(BOB)["The gig is canceled"]
    found = sent(conn, database_url, lambda: give_all(conn))
    assert list(found.of(BOB)) == ["Your refund for The gig is on its way"]


def test_what_went_back_before_the_event_was_canceled_is_not_told_again(conn, dated, database_url):
    payment = begins_to_pay(conn, dated)
    told(conn, notice(payment))
    sales.take_back(conn, dated, PLAN, HOLD, SAID, seats=[GUID[4]])
    costs = {line.seat: line.total_minor for line in payment.lines}
    found = sent(conn, database_url, lambda: begin.cancel(conn, "gig", SAID))
    assert letters.money(payment.amount_minor - costs[4], "EUR") in found.of(ANN)["The gig is canceled"]


def test_who_paid_after_the_event_was_canceled_reads_that_the_order_is_taken_back(conn, dated, database_url):
    payment = begins_to_pay(conn, dated, seats=(7,), places=0)
    begin.cancel(conn, "gig", SAID)
    told(conn, notice(payment))
    found = sent(conn, database_url, lambda: to_the_end(conn)).of(ANN)
    assert list(found) == ["Your order for The gig was taken back"]
    assert "This event is canceled" in found["Your order for The gig was taken back"]
    assert letters.money(payment.amount_minor, "EUR") in found["Your order for The gig was taken back"]


def test_of_a_moved_event_each_buyer_reads_both_dates_and_then_of_the_new_order(conn, dated, database_url):
    bought(conn, dated, 0, ANN)
    bought(conn, dated, 1, BOB)
    there = new_date(conn, starts_at=WILL_BE)
    sales.sell(conn, there, PLAN, [GUID[1]], {}, "zoe", HoldKind.BOX_OFFICE, SAID)  # Bob's seat is gone there

    def moved():
        begin.move(conn, "gig", "new", SAID)
        to_the_end(conn)

    found = sent(conn, database_url, moved)
    ann = found.of(ANN)
    assert sorted(ann) == ["The gig was moved", "Your new tickets for The new gig"]
    assert paragraphs(ann["The gig was moved"]) == [
        "The gig does not take place as planned: it was moved.",
        "Old date: Wednesday, 1 May 2030, 18:00 UTC",
        "New date: Sunday, 2 June 2030, 18:30 UTC",
        "Place: The hall (it was Arena 100)",
        "It is now called: The new gig",
        "Your order goes along: the same places, at the price you paid. You need not do anything.",
        "We write again with your new tickets; those you have are no longer valid then.",
        "If your places cannot be had at the new date, all that you paid goes back to where it came from.",
        "See what changed: http://on.sale/e/new",
    ]
    [(order,)] = conn.execute("SELECT to_order_id FROM rebooked").fetchall()
    assert paragraphs(ann["Your new tickets for The new gig"]) == [
        f"Your order {HOLD} was moved: the same places, nothing to pay.",
        "Date: Sunday, 2 June 2030, 18:30 UTC",
        "Place: The hall",
        f"Your new order number: {order}",
        "The tickets you had are no longer valid. Please take the new ones with you.",
        f"See your new tickets: http://on.sale/e/new/tickets/{order}",
    ]
    bob = found.of(BOB)
    assert sorted(bob) == ["The gig was moved", "Your order for The gig was taken back"]
    [(amount,)] = conn.execute("SELECT amount_minor FROM payment WHERE email = %s", (BOB,)).fetchall()
    assert letters.money(amount, "EUR") in bob["Your order for The gig was taken back"]
    assert "cannot be had at the new date" in bob["Your order for The gig was taken back"]


def test_a_refund_that_was_under_way_when_its_order_moved_is_told_all_the_same(conn, dated, database_url):
    payment = bought(conn, dated, 0, ANN)
    body = {"payment": payment.id, "amount_minor": 5, "currency": "EUR", "order": None, "reason": "x"}

    def moved_first():
        outbox.write(conn, dated, Told.PAYMENT_REFUNDED, body)
        conn.execute("UPDATE payment SET event_id = 99")

    assert list(sent(conn, database_url, moved_first).of(ANN)) == ["Your refund for The gig is on its way"]


def test_a_new_date_that_nobody_knows_yet_is_said_to_be_unknown():
    body = {"to": "new", "to_name": "Gig", "venue": "Hall", "to_venue": "Hall", "starts_at": None}
    says = letter(Told.EVENT_MOVED, body, About("Gig", "http://x/e/gig"))
    assert says is not None
    assert says.lines[1:3] == ("New date: not known yet; see the page below", "Place: Hall")


def test_dates_are_told_in_the_zone_that_is_set():
    about = About("Gig", "http://x/e/gig", "Hall", WAS, ZoneInfo("Europe/Berlin"))
    says = letter(Told.ORDER_PAID, {"order": "1"}, about)
    assert says is not None
    assert says.lines[1:3] == ("Date: Wednesday, 1 May 2030, 20:00 CEST", "Place: Hall")
    urls = {"DATABASE_URL": "postgresql://x/y", "REDIS_URL": "redis://x"}
    assert ChoreSettings.from_env(urls).time_zone is UTC
    assert ChoreSettings.from_env(urls | {"ONSALE_TIME_ZONE": "Europe/Berlin"}).time_zone == about.zone
    for name in ("../etc/passwd", "Nowhere/At all"):
        with pytest.raises(ChoreSettingNotValid, match="ONSALE_TIME_ZONE"):
            ChoreSettings.from_env(urls | {"ONSALE_TIME_ZONE": name})


NAME = "Gig\r\nBcc: eve@example.org\r\n\r\n<script>alert(1)</script>\u2028\u202e & co"


@pytest.mark.parametrize(
    "kind", [Told.EVENT_CANCELED, Told.EVENT_MOVED, Told.ORDER_PAID, Told.ORDER_REFUNDED]
)
def test_what_an_event_is_called_begins_no_header_no_line_and_no_markup(kind):
    body: dict[str, object] = {
        "order": "1",
        "to": "new",
        "to_name": NAME,
        "venue": NAME,
        "to_venue": NAME + "2",
    }
    body |= {"amount_minor": 5, "refund_minor": 5, "currency": "EUR", "starts_at": WAS.isoformat()}
    says = letter(kind, body, About(NAME, "http://x/e/gig", NAME, WAS))
    assert says is not None
    assert all(line.isprintable() for line in (says.subject, *says.lines))
    message = messages.message(says, "shop@example.org", ANN, "<1@x>", WAS)
    assert sorted(name.lower() for name in message) == [
        "auto-submitted", "content-type", "date", "from", "message-id", "mime-version", "subject", "to",
    ]  # fmt: skip
    assert "<script>" not in part(message, "html")
    lines = part(message, "plain").splitlines()
    assert [line for line in lines if line.startswith(("Bcc:", "<script>"))] == []
