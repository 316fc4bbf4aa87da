"""What is taken away of a sale: every row, in stable columns, harmless to spreadsheets, little at a time."""

from __future__ import annotations

import csv
import io
import json

import psycopg
import pytest

from store.console import export as exporting
from store.console.export import COLUMNS, PERSONAL, Format, What, export
from store.plan import encode
from tests.allocator.house import best, entry, owner_of, plan_of, seats

FORMULA = "=HYPERLINK(1)"


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def owner(database_url, redis_url):
    with owner_of(database_url, redis_url, plan_of(2, 4, 10)) as owner:
        owner.ask(entry("anna", "r1", seats("A-1")), entry("anna", "r2", best(2)))
        owner.ask(entry(FORMULA, "r1", best(1)))
        owner.ask(entry("bob", "r1", seats("A-1")))
        owner.confirm(FORMULA)
        owner.sell("carl", "B-1", places=2)
        yield owner


def table(conn, owner, what):
    text = b"".join(export(conn, owner.event_id, what, Format.CSV)).decode()
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert tuple(head) == COLUMNS[what]
    return [dict(zip(head, row, strict=True)) for row in rows]


def objects(conn, owner, what):
    return json.loads(b"".join(export(conn, owner.event_id, what, Format.JSON)))


def test_orders_have_their_seats_and_places_by_name(conn, owner):
    rows = {row["buyer"]: row for row in objects(conn, owner, What.ORDERS)}
    assert rows.keys() == {FORMULA, "carl"}
    assert (rows["carl"]["seats"], rows["carl"]["areas"]) == ("B-1", "floor:2")
    assert rows["carl"]["kind"] == "box_office"
    assert rows["carl"]["paid_at"].endswith("+00:00")


def test_decisions_are_all_there_in_order_and_name_nobody(conn, owner):
    rows = objects(conn, owner, What.DECISIONS)
    assert [row["outcome"] for row in rows] == ["held", "held", "held", "taken"]
    assert not {"anna", "bob"} & set(str(rows).replace("'", " ").split())
    assert {What.ORDERS, What.BUYERS} == PERSONAL


def test_buyers_are_told_once_each_with_what_they_did(conn, owner):
    place = "INSERT INTO place (event_id, buyer, in_draw, email) VALUES (%s, 'max', true, 'm@x.de')"
    conn.execute(place, (owner.event_id,))
    rows = {row["buyer"]: row for row in objects(conn, owner, What.BUYERS)}
    assert rows.keys() == {"anna", "bob", "carl", "max", FORMULA}
    assert (rows["anna"]["requests"], rows["anna"]["held"], rows["anna"]["orders"]) == (2, 2, 0)
    assert (rows["carl"]["requests"], rows["carl"]["orders"], rows["carl"]["quantity"]) == (0, 1, 3)
    assert (rows["max"]["place"], rows["max"]["email"], rows["bob"]["held"]) == ("waiting", "m@x.de", 0)


def test_seats_and_their_history_are_named(conn, owner):
    rows = {row["seat"]: row for row in table(conn, owner, What.SEATS)}
    assert len(rows) == 8
    last = rows["B-1"]
    assert (last["state"], last["section"], last["category"]) == ("sold", "Stalls", "Silver")
    history = [row for row in table(conn, owner, What.HISTORY) if row["seat"] == "B-1"]
    assert [(row["state"], row["by"]) for row in history] == [("blocked", "Olga"), ("sold", "Olga")]


def test_no_text_is_a_formula_to_a_spreadsheet(conn, owner):
    assert {row["buyer"] for row in table(conn, owner, What.ORDERS)} == {f"'{FORMULA}", "carl"}
    for text in ("=1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1"):
        assert exporting._harmless(text) == f"'{text}"
    assert [exporting._harmless(one) for one in ("a=1", -5, None, "")] == ["a=1", -5, None, ""]


def test_it_is_read_some_rows_at_a_time(conn, owner, monkeypatch):
    monkeypatch.setattr(exporting, "ROWS_AT_A_TIME", 3)
    pieces = list(export(conn, owner.event_id, What.SEATS, Format.CSV))
    assert [piece.count(b"\r\n") for piece in pieces] == [1, 3, 3, 2]
    assert len(objects(conn, owner, What.SEATS)) == 8


@pytest.mark.parametrize("what", list(What))
def test_of_a_sale_in_which_nothing_happened_there_is_a_header_or_an_empty_array(conn, what):
    conn.execute("INSERT INTO venue (slug, name, plan, plan_sha256) VALUES ('v', 'v', %s, 'x')", (_plan(),))
    conn.execute("INSERT INTO event (slug, name, venue_id) VALUES ('e', 'e', 1)")
    assert b"".join(export(conn, 1, what, Format.CSV)).decode() == ",".join(COLUMNS[what]) + "\r\n"
    assert json.loads(b"".join(export(conn, 1, what, Format.JSON))) == []


def _plan():
    return encode(plan_of(1, 1, 0)).decode()
