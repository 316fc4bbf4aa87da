"""`event export`, `buyer` and `erase`: what is typed and what is answered."""

from __future__ import annotations

import json

import psycopg
import pytest
import typer

from onsale.commands import erase as erasing
from onsale.commands.buyer import app as buyers
from onsale.commands.event import app
from store.events import set_state
from store.words import EventState
from tests.onsale.test_event_seats_command import run
from tests.store.calling_off.calling import paid_event, sold

eraser = typer.Typer()
eraser.command()(erasing.erase)


@pytest.fixture
def conn(engine_urls, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    monkeypatch.setenv("COLUMNS", "200")
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        sold(conn, paid_event(conn))
        yield conn


def test_a_sale_is_written_to_a_file(conn, tmp_path):
    file = tmp_path / "orders.json"
    code, _, _ = run(app, "export", "gig", "--what", "orders", "--format", "json", "--out", str(file))
    assert code == 0
    assert [order["kind"] for order in json.loads(file.read_text())] == ["buyer", "complimentary"]
    code, _, err = run(app, "export", "gig", "--what", "orders", "--out", str(tmp_path / "no" / "such"))
    assert code == 1
    assert "cannot be written" in err.replace("\n", " ")
    code, _, err = run(app, "export", "nowhere", "--what", "seats")
    assert code == 1
    assert "nowhere" in err


def test_a_buyer_is_found_and_their_story_told(conn):
    [(order, buyer)] = conn.execute(
        "SELECT hold_id, buyer FROM hold WHERE kind = 'buyer' AND state = 'paid' LIMIT 1"
    ).fetchall()
    code, out, _ = run(buyers, "find", "gig", str(order))
    assert (code, out.splitlines()[0]) == (0, f"{buyer}  (by order)")
    code, out, _ = run(buyers, "find", "gig", buyer, "--json")
    assert {one["buyer"] for one in json.loads(out)["found"]} >= {buyer}
    code, out, _ = run(buyers, "show", "gig", buyer)
    assert code == 0
    assert out.startswith(f"{buyer} at gig\n")
    assert f"Hold {order} (paid)" in out
    code, out, _ = run(buyers, "show", "gig", buyer, "--json")
    assert [hold["hold"] for hold in json.loads(out)["holds"]] == [str(order)]
    code, _, err = run(buyers, "show", "gig", "nobody-of-that-name")
    assert code == 1
    assert "Nothing is known of that buyer" in err.replace("\n", " ")
    code, out, _ = run(buyers, "find", "gig", "zzzz")
    assert (code, out[:6]) == (0, "Nobody")


def test_a_buyer_is_erased_once_the_sale_is_closed(conn):
    buyer = conn.execute("SELECT buyer FROM hold WHERE kind = 'complimentary'").fetchone()[0]
    code, _, err = run(eraser, buyer, "--why", "asked for it", "--yes")
    assert code == 1
    assert "is not closed" in err.replace("\n", " ")
    set_state(conn, "gig", EventState.CLOSED)
    conn.execute("DELETE FROM fact")
    code, out, _ = run(eraser, buyer, "--why", "asked for it", "--yes")
    assert code == 0
    assert out.startswith("Erased, at gig: ")
    code, _, err = run(eraser, buyer, "--yes")
    assert code == 1
    assert "Say why" in err
