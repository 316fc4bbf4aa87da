"""`event block`, `unblock`, `release-hold`, `audit`, and `verify`: what is typed and what is answered."""

from __future__ import annotations

import getpass
import json

import psycopg
import pytest
import redis
import typer
from typer.testing import CliRunner

from onsale.commands.event import app
from onsale.commands.verify import verify
from store import events
from store.venues.rows import save_venue
from store.wire import stream_key
from store.words import EventState
from tests.store.test_holds import HOLD, PLAN, hold

GUID = [seat.guid for seat in PLAN.seats]
FLOOR = PLAN.areas[0].guid
WHY = ("--why", "a broken chair", "--who", "Olga")
verifying = typer.Typer()
verifying.command()(verify)


@pytest.fixture
def conn(engine_urls, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    monkeypatch.setenv("COLUMNS", "200")
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        number = events.create_event(conn, "gig", "The gig", save_venue(conn, "arena", PLAN), PLAN)
        events.set_state(conn, "gig", EventState.OPEN)
        hold(conn, number)
        yield conn


@pytest.fixture
def event(conn):
    """Runs `event …` on the test's engines: (exit code, stdout, stderr)."""
    return lambda *words: run(app, *words)


def run(command, *words):
    result = CliRunner().invoke(command, words, catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def told(event, *words):
    code, out, _ = event(*words, "--json")
    assert code == 0, out
    return json.loads(out)


def test_seats_and_places_are_blocked_and_unblocked_and_said_to_be(event):
    code, out, _ = event("block", "gig", GUID[0], GUID[1], "--area", f"{FLOOR}=5", *WHY)
    assert (code, out) == (0, f"block {GUID[0]}, {GUID[1]} and {FLOOR} 5: off sale.\n")
    code, out, _ = event("unblock", "gig", GUID[1], *WHY)
    assert (code, out) == (0, f"unblock {GUID[1]}: on sale again.\n")
    shown = told(event, "show", "gig")
    assert (shown["seats"]["blocked"], shown["areas"][0]["blocked"]) == (1, 5)


def test_scripts_get_what_is_kept_and_the_list_of_all_changes(event):
    made = told(event, "block", "gig", GUID[0], *WHY)
    assert (made["who"], made["why"], made["what"]["seats"]) == ("Olga", "a broken chair", [GUID[0]])
    event("release-hold", "gig", str(HOLD), *WHY)
    released, blocked = told(event, "audit", "gig")
    assert blocked == made
    assert (released["what"]["change"], released["what"]["buyer"]) == ("release", "ann")
    assert len(told(event, "audit", "gig", "--limit", "1")) == 1


def test_a_hold_is_taken_away_and_said_to_be(event):
    assert event("release-hold", "gig", str(HOLD), *WHY)[:2] == (0, f"Hold {HOLD} of ann is released.\n")
    assert told(event, "release-hold", "gig", str(HOLD), *WHY) == {"hold": str(HOLD), "state": "released"}


def test_people_read_who_changed_what_and_why(event):
    assert "Nobody has changed anything by hand." in event("audit", "gig")[1]
    event("block", "gig", *GUID[10:30], "--why", "[red]house[/red]", "--who", "Olga")
    event("release-hold", "gig", str(HOLD), *WHY)
    _, out, _ = event("audit", "gig")
    for part in ("Olga", "[red]house[/red]", "and 8 more seats", f"(hold {HOLD} of ann)", "a broken chair"):
        assert part in out
    assert out.index("a broken chair") < out.index("house")


def test_without_a_name_it_is_who_is_logged_in(event, monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "pat")
    assert told(event, "block", "gig", GUID[0], "--why", "broken")["who"] == "pat"

    def nobody():
        raise OSError("No username set in the environment")

    monkeypatch.setattr(getpass, "getuser", nobody)
    code, _, err = event("block", "gig", GUID[1], "--why", "broken")
    assert code == 1
    assert "Say who you are" in err


def test_each_change_wakes_the_allocator(event, redis_url):
    with redis.Redis.from_url(redis_url) as client:
        client.xadd(stream_key("gig"), {"c": "1"})
        event("block", "gig", GUID[0], *WHY)
        event("unblock", "gig", GUID[0], *WHY)
        event("release-hold", "gig", str(HOLD), *WHY)
        fields = [list(entry) for _, entry in client.xrange(stream_key("gig"))]
    assert fields == [[b"c"], [b"p"], [b"p"], [b"p"]]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("block", "gig", GUID[3], *WHY), "seats_not_free", f"{GUID[3]} (held by hold {HOLD})"),
        (("unblock", "gig", GUID[1], *WHY), "seats_not_blocked", f"{GUID[1]} (available)"),
        (("block", "gig", "nowhere", *WHY), "unknown_seat", "nowhere"),
        (("block", "gig", *WHY), "nothing_asked", "at least one"),
        (("block", "gig", "--area", FLOOR, *WHY), "invalid_places", "such as floor=20"),
        (("block", "gig", "--area", f"{FLOOR}=x", *WHY), "invalid_places", "such as floor=20"),
        (
            ("block", "gig", "--area", f"{FLOOR}=1", "--area", f"{FLOOR}=2", *WHY),
            "invalid_places",
            "an area once",
        ),
        (("block", "gig", "--area", f"{FLOOR}=49", *WHY), "places_not_free", "has 48 free places, not 49"),
        (("block", "gig", GUID[0], "--why", "", "--who", "Olga"), "why_required", "Say why"),
        (("block", "none", GUID[0], *WHY), "unknown_event", "no event 'none'"),
        (("release-hold", "gig", "77", *WHY), "hold_not_found", "no such hold"),
        (("audit", "none"), "unknown_event", "no event 'none'"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_exit_code_1(event, words, code, said):
    exit_code, out, err = event(*words)
    assert (exit_code, out) == (1, "")
    assert said in err
    exit_code, out, err = event(*words, "--json")
    assert (exit_code, err) == (1, "")
    assert json.loads(out)["code"] == code


# --- verify ---


@pytest.fixture
def without_ledger(conn):
    """The hold above was not decided by anybody; here nothing was."""
    with conn.transaction():
        conn.execute("SET LOCAL session_replication_role = replica")
        conn.execute("DELETE FROM ledger")


def test_verify_says_that_everything_adds_up(conn, without_ledger):
    code, out, _ = run(verifying, "gig")
    assert code == 0
    assert "held + sold + blocked + free = capacity" in out
    code, out, _ = run(verifying, "gig", "--json")
    assert (code, json.loads(out)["mismatches"]) == (0, [])


def test_verify_fails_with_the_rows_that_do_not_add_up(conn, without_ledger):
    conn.execute("UPDATE area SET sold = 3")
    code, out, _ = run(verifying, "gig")
    assert code == 1
    assert "area number 0 counts 2 held + 3 sold + 0 blocked of 50; its holds keep 2 held, 0 sold" in out
    assert "Nothing was repaired" in out
    code, out, _ = run(verifying, "gig", "--json")
    assert code == 1
    assert [(one["what"], one["number"]) for one in json.loads(out)["mismatches"]] == [("area", 0)]
    assert json.loads(out)["findings"] == []
    assert conn.execute("SELECT sold FROM area").fetchone() == (3,)
