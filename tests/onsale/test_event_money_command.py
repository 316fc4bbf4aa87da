"""`event figures`, `settlement`, `cancel`, `move`, `verify`: what is typed and what is answered."""

from __future__ import annotations

import csv
import io

import psycopg
import pytest

from onsale.commands import event_off
from onsale.commands.event import app
from store import events
from store.venues.rows import save_venue
from tests.onsale.test_event_seats_command import WHY, run, told, verifying
from tests.store.calling_off.calling import paid_event, sold
from tests.store.test_holds import HOLD, PLAN


@pytest.fixture
def conn(engine_urls, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    monkeypatch.setenv("COLUMNS", "200")
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        sold(conn, paid_event(conn))
        yield conn


@pytest.fixture
def event(conn):
    """Runs `event …` on the test's engines: (exit code, stdout, stderr)."""
    return lambda *words: run(app, *words)


def test_figures_are_counted_up_to_now_and_anew(event, conn):
    shown = told(event, "figures", "gig")
    assert (shown["sold"], shown["orders"]) == (7, {"paid": 1, "by_hand": 1})
    conn.execute("UPDATE figures SET figures = '{\"sold\":99}'")
    assert told(event, "figures", "gig")["sold"] == 99  # nothing is new, so nothing is counted
    assert told(event, "figures", "gig", "--rebuild") | {"age_ms": 0} == shown | {"age_ms": 0}
    code, out, _ = event("figures", "gig")
    assert code == 0
    assert "gig: 4.6 % sold, 7 of 150." in out
    assert "Orders: 1 paid, 0 free, 1 by hand" in out


def test_a_settlement_that_balances_is_told_and_written(event, tmp_path):
    file = tmp_path / "gig.csv"
    code, out, _ = event("settlement", "gig", "--csv", str(file))
    assert code == 0
    assert "gig: orders that were paid for and stand: 1." in out
    assert "Still due to buyers: " in out
    assert "It balances" in out
    rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
    assert [row["kind"] for row in rows] == ["paid", "complimentary"]
    assert told(event, "settlement", "gig")["balances"] is True
    code, _, err = event("settlement", "gig", "--csv", str(tmp_path / "no" / "such"))
    assert code == 1
    assert "cannot be written" in err.replace("\n", " ")


def test_money_that_does_not_balance_is_named_and_is_a_failure_of_both_commands(event, conn):
    conn.execute("UPDATE payment SET fee_minor = fee_minor + 1")
    code, out, _ = event("settlement", "gig")
    assert code == 1
    assert "It does NOT balance:\n  payment 1: its lines come to" in out
    conn.execute("UPDATE payment SET fee_minor = fee_minor - 1")
    conn.execute("UPDATE payment SET order_id = 99")
    assert event("settlement", "gig", "--json")[0] == 1
    code, out, _ = run(verifying, "gig")
    assert code == 1
    assert "payment number 1 succeeded for order 99, which is not there" in out
    assert f"order number {HOLD} costs" in out


def test_an_event_is_canceled_in_one_go_and_the_same_again_says_the_same(event):
    for _ in range(2):
        code, out, _ = event("cancel", "gig", *WHY)
        assert code == 0
        assert "gig is canceled: 2 orders taken back, 1 holds ended, 1 taken off the waiting list." in out
    assert "cancel the event" in event("audit", "gig")[1]
    assert told(event, "settlement", "gig")["refund_due_minor"] > 0


def test_an_event_is_moved_in_one_go(event, conn):
    venue = save_venue(conn, "arena", PLAN)
    events.create_event(conn, "new", "The gig", venue, PLAN)
    shown = told(event, "move", "gig", "--to", "new", *WHY)
    assert (shown["to"], shown["rebooked"], shown["refunded"]) == ("new", 2, 0)
    assert shown["left"] == {"holds": 0, "waiting": 0, "orders": 0}
    assert "move its orders to new" in event("audit", "gig")[1]
    assert "gig is moved to new: 2 orders rebooked" in event("move", "gig", "--to", "new", *WHY)[1]
    code, _, err = event("cancel", "gig", *WHY)
    assert code == 1
    assert "cancel that one" in err.replace("\n", " ")


def test_who_cannot_go_on_is_told_so_and_the_same_command_goes_on_later(event, conn, monkeypatch):
    monkeypatch.setattr(event_off, "IDLE_SECONDS", 0)
    conn.execute("UPDATE hold SET quantity = 9 WHERE hold_id = %s", (HOLD,))
    code, _, err = event("cancel", "gig", *WHY)
    assert code == 1
    assert "1 are left and cannot be changed just now" in err.replace("\n", " ")
    conn.execute("UPDATE hold SET quantity = 3 WHERE hold_id = %s", (HOLD,))
    assert told(event, "cancel", "gig", *WHY)["refunded"] == 2
