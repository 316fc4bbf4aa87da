"""`event set` and `event waiting`: the terms of a sale, and who waits for what."""

from __future__ import annotations

import json

import psycopg
import pytest

from store.waiting_overview import GROUPS_MAX, in_words
from tests.onsale.test_event_command import event as event
from tests.onsale.test_event_command import told

PAIR = {"best": {"quantity": 2}, "waitlist": True}
FOUR = {
    "best": {"quantity": 4, "section": "Stalls"},
    "fallbacks": [{"areas": {"floor": 4}}],
    "waitlist": True,
}


def wait(conn, position, want=PAIR, *, event_id=1, buyer="ann", state="waiting", hold=""):
    """An entry of the list; `hold`: the state of what was offered to it."""
    hold_id = 900 + position if hold else None
    conn.execute(
        "INSERT INTO waiting VALUES (%s, %s, %s, %s, %s, %s)",
        (event_id, 1 << 16 | position, buyer, f"r{position}", "offered" if hold else state, hold_id),
    )
    conn.execute(
        "INSERT INTO ledger (event_id, batch_no, position, kind, buyer, request_id, input, outcome, result)"
        " VALUES (%s, 1, %s, 'request', %s, %s, %s, 'waitlisted', '{}')",
        (event_id, position, buyer, f"r{position}", json.dumps(want)),
    )
    if hold:
        conn.execute(
            "INSERT INTO hold (event_id, hold_id, buyer, request_id, state, quantity, expires_at, paid_at)"
            " VALUES (%s, %s, %s, 'r', %s, 1, now(), CASE WHEN %s IN ('paid', 'refunded') THEN now() END)",
            (event_id, hold_id, buyer, hold, hold),
        )


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def test_who_waits_for_what_since_when_and_what_became_of_offers(event, conn):
    for slug in ("gig", "other"):
        event("create", slug, "--venue", "arena", "--open")
    conn.execute(
        "INSERT INTO ledger_batch VALUES (1, 1, 1, '2030-05-01 08:00:00+00', '1-1', 1, '', ''),"
        " (2, 1, 1, '1999-05-01 08:00:00+00', '1-1', 1, '', '')"
    )
    for position, want in enumerate((PAIR, FOUR, FOUR)):
        wait(conn, position, want, buyer=("ann", "bob", "ann")[position])
    wait(conn, 3, state="left")
    offers = ("active", "paid", "refunded", "released", "expired", "expired", "expired")
    for position, hold in enumerate(offers):
        wait(conn, 10 + position, hold=hold)
    wait(conn, 0, event_id=2)
    wait(conn, 1, event_id=2, hold="paid")
    shown = told(event, "waiting", "gig")
    assert (shown["requests"], shown["buyers"], shown["oldest"]) == (3, 2, "2030-05-01T08:00:00Z")
    assert shown["wanted"] == [{"requests": 2, "want": FOUR}, {"requests": 1, "want": PAIR}]
    assert shown["offers"] == {"open": 1, "taken": 2, "given_back": 1, "run_out": 3}
    assert shown["left"] == 1
    _, out, _ = event("waiting", "gig")
    for part in (
        "3 requests of 2 buyers wait, the first since 2030-05-01 08:00:00",
        "1 open, 2 taken, 1 given back, 3 run out",
        "1 left the list",
        "4 together in Stalls, or 4 in floor",
        "2 together",
    ):
        assert part in out


def test_an_empty_list_and_a_long_one_are_told_plainly(event, conn):
    event("create", "gig", "--venue", "arena")
    assert "Nobody waits for gig (gig)." in event("waiting", "gig")[1]
    for position in range(GROUPS_MAX + 2):
        wait(conn, position, {"seats": [f"s{position}"], "waitlist": True})
    assert len(told(event, "waiting", "gig")["wanted"]) == GROUPS_MAX
    assert "something else" in event("waiting", "gig")[1]
    assert event("waiting", "none")[0] == 1


def test_terms_are_changed_one_by_one_and_the_allocator_is_told(event, conn):
    event("create", "gig", "--venue", "arena", "--offer-ttl-seconds", "90")
    made = told(event, "set", "gig")
    assert (made["offer_ttl_seconds"], made["hold_ttl_seconds"], made["fast_gate"]) == (90, 480, True)
    conn.execute("DELETE FROM fact")
    words = (
        "--offer-ttl-seconds",
        "30",
        "--hold-ttl-seconds",
        "60",
        "--seats-per-buyer",
        "3",
        "--gate",
        "off",
    )
    event("set", "gig", *words, "--extensions", "2", "--extension-seconds", "9")
    assert conn.execute("SELECT kind FROM fact").fetchall() == [("policy",)]
    _, out, _ = event("show", "gig")
    for part in ("Holds last 60 s, 3 seats a buyer, fast gate off", "2 times, by 9 s each", "is kept 30 s"):
        assert part in out
    exit_code, _, err = event("set", "gig", "--offer-ttl-seconds", "0")
    assert (exit_code, "offer_ttl_seconds must be" in err) == (1, True)


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ({"best": {"quantity": 1}}, "1 seat"),
        ({"best": {"quantity": 3, "apart": True, "accessible": 1}}, "3 apart (1 accessible)"),
        ({"best": [{"quantity": 2}, {"quantity": 2}], "up_to": True}, "up to 2 together and 2 together"),
        (
            {"best": {"quantity": 2, "category": "A", "price_max": 90}},
            "2 together at the A price for 0 to 90",
        ),
        ({"best": {"quantity": 2, "price_min": 90}}, "2 together for 90 to any price"),
        ({"seats": ["a", "b", "c", "d", "e"], "areas": {"f": 2}}, "a, b, c, d … with 2 in f"),
        ({"beast": 1}, '{"beast":1}'),
    ],
)
def test_wishes_in_words(want, said):
    assert in_words(want) == said
