"""A buyer is found by what they can say, and their story says why each request was answered so."""

from __future__ import annotations

import psycopg
import pytest
from msgspec.structs import replace

from store.console import find as finding
from store.console import story
from store.console import story_sql as sql
from store.console.find import find
from store.errors import BadRequest, NotFound
from store.lookups import PLAN_BY_KEY
from tests.allocator.house import best, entry, owner_of, plan_of, seats


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def owner(database_url, redis_url):
    with owner_of(database_url, redis_url, plan_of(2, 4, 10), seats_per_buyer_max=4) as owner:
        yield owner


def told(conn, owner, buyer, **more):
    return story.read(conn, owner.event_id, owner.slug, buyer, **more)


def reasons(conn, owner, buyer):
    return {one["id"]: one["why"] for one in told(conn, owner, buyer)["requests"]}


def test_each_answer_says_why_and_nobody_else_is_named(conn, owner):
    owner.ask(entry("anna", "r1", seats("A-1")))
    owner.block("A-4")
    owner.ask(
        entry("bob", "r1", seats("A-1")), entry("bob", "r2", seats("A-4")), entry("bob", "r3", seats("A-2"))
    )
    owner.ask(entry("bob", "r4", seats("A-2")), entry("bob", "r5", best(4)), entry("bob", "r6", seats("Z-9")))
    why = reasons(conn, owner, "bob")
    assert why["r1"].startswith("A-1 went to another buyer, whose request arrived ")
    assert why["r1"].endswith(", position 0).")
    assert why["r2"] == "A-4 was off sale, or sold by hand, by an operator."
    assert why["r3"].startswith("Given A-2 as hold ")
    assert why["r4"] == "A-2 was the buyer's own by then."
    assert why["r5"] == "It is more than one buyer may have: 4."
    assert why["r6"].startswith("It could not be decided: ")
    assert "anna" not in str(told(conn, owner, "bob"))


def test_who_waits_and_is_offered_something_is_told_so(conn, owner):
    owner.ask(entry("anna", "r1", best(4)), entry("eve", "r1", best(4)))
    owner.ask(entry("bob", "r1", replace(best(4), waitlist=True)))
    assert reasons(conn, owner, "bob")["r1"].endswith("It waits for what comes back, at place 1 of the list.")
    owner.release("anna")
    owner.poke()
    owner.loop.turn()
    whole = told(conn, owner, "bob")
    [hold] = whole["holds"]
    assert whole["offers"] == [{"request": "r1", "hold": hold["hold"]}]
    assert (whole["waiting"][0]["state"], hold["state"], len(hold["seats"])) == ("offered", "active", 4)


def test_holds_orders_payments_and_mails_are_the_buyers_own(conn, owner):
    owner.ask(entry("anna", "r1", best(2)), entry("bob", "r1", best(1)))
    owner.confirm("anna")
    by_hand = owner.sell("anna", "B-1")
    hold = owner.query("SELECT min(hold_id) FROM hold WHERE buyer = 'anna'")[0][0]
    conn.execute(
        """
        INSERT INTO payment (event_id, hold_id, order_id, buyer, email, provider, intent, state, currency,
                             amount_minor, fee_minor, tax_minor, charged, quantity, seats, succeeded_at)
        VALUES (%s, %s, %s, 'anna', 'Anna@example.com', 'stripe', 'pi_1', 'succeeded', 'EUR', 5, 0, 0, '{}',
                2, '{}', now())""",
        (owner.event_id, hold, hold),
    )
    refund = "INSERT INTO refund (payment_id, event_id, amount_minor, reason) VALUES (1, %s, 5, 'x')"
    conn.execute(refund, (owner.event_id,))
    mail = (
        "INSERT INTO mail (event_id, address, kind, body) VALUES (%s, 'anna@example.com', 'order.paid', '{}')"
    )
    conn.execute(mail, (owner.event_id,))
    whole = told(conn, owner, "anna")
    assert {(one["hold"], one["state"], one["kind"]) for one in whole["holds"]} == {
        (str(hold), "paid", "buyer"), (str(by_hand), "paid", "box_office"),
    }  # fmt: skip
    assert {tuple(one["seats"]) for one in whole["holds"]} >= {("B-1",)}
    [payment] = whole["payments"]
    assert (payment["payment"], payment["intent"], payment["refunds"][0]["state"]) == (1, "pi_1", "due")
    assert [mail["kind"] for mail in whole["mails"]] == ["order.paid"]
    assert whole["mail"] == ["Anna@example.com"]
    event = owner.event_id
    for text, by in (
        ("ann", "buyer"), ("ANNA@example.com", "mail"), (str(hold), "order"), ("1", "payment"), ("r1", None),
    ):  # fmt: skip
        if by is None:
            with pytest.raises(BadRequest) as refused:
                find(conn, event, text)
            assert refused.value.code == "find_too_short"
        else:
            assert [(one.buyer, one.by) for one in find(conn, event, text).found] == [("anna", by)]


def test_requests_are_told_in_pages(conn, owner, monkeypatch):
    monkeypatch.setattr(story, "REQUESTS_MAX", 2)
    for number in range(5):
        owner.ask(entry("anna", f"r-{number}", seats("Z-9")))
    seen, before = [], None
    while True:
        page = told(conn, owner, "anna", before=before)
        seen += [one["id"] for one in page["requests"]]
        before = page["requests_more"]
        if before is None:
            break
    assert seen == [f"r-{number}" for number in (4, 3, 2, 1, 0)]
    assert [(one.buyer, one.by) for one in find(conn, owner.event_id, "r-3").found] == [("anna", "request")]


def test_buyers_are_found_by_how_their_ids_begin_each_once_and_bounded(conn, owner):
    names = [f"guest-{number:02}" for number in range(9)]
    owner.ask(*[entry(name, request, seats("Z-9")) for name in names for request in ("r1", "r2")])
    found = find(conn, owner.event_id, "guest", 5)
    assert [one.buyer for one in found.found] == names[:5]
    assert found.more
    assert [one.buyer for one in find(conn, owner.event_id, "guest-08").found] == ["guest-08"]
    assert find(conn, owner.event_id, "guest%").found == []


def test_of_whom_nothing_is_known_there_is_no_story(conn, owner):
    with pytest.raises(NotFound) as refused:
        told(conn, owner, "nobody")
    assert refused.value.code == "unknown_buyer"


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (sql.REQUESTS, "ledger_key"),
        (sql.RIVALS, "ledger_pkey"),
        (sql.HAD, "seat_history_seat"),
        (sql.HOLDS, "hold_pkey"),
        (sql.WAITING, "waiting_buyer"),
        (finding.BEGINS, "ledger_key"),
        (finding.BY_REQUEST, "ledger_key"),
        (finding.BY_MAIL, "payment_email"),
    ],
    ids=["requests", "rivals", "seats", "holds", "waiting", "find by beginning", "by request", "by mail"],
)
def test_a_statement_finds_its_rows_by_index(conn, statement, index):
    conn.execute(PLAN_BY_KEY)
    values = {"event": 1, "buyer": "anna", "before": 9, "limit": 9, "seats": [1], "holds": [1], "text": "ann"}
    plan = "\n".join(line for (line,) in conn.execute("EXPLAIN " + statement, values).fetchall())
    assert index in plan
    assert "Seq Scan on ledger" not in plan
