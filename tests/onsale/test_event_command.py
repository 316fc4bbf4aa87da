"""`event`: what an operator types, and what is said back."""

from __future__ import annotations

import json
import re

import psycopg
import pytest
import redis
from typer.testing import CliRunner

from onsale.commands.event import app
from store.venues.make import make
from store.venues.rows import save_venue
from store.wire import stream_key


@pytest.fixture
def event(engine_urls, monkeypatch):
    """Runs `event …` on the test's engines: (exit code, stdout, stderr)."""
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    monkeypatch.setenv("COLUMNS", "200")
    with psycopg.connect(engine_urls.database_url) as conn:
        save_venue(conn, "arena", make("arena", 60, standing=100))

    def run(*words):
        result = CliRunner().invoke(app, words, catch_exceptions=False)
        return result.exit_code, result.stdout, result.stderr

    return run


def told(event, *words):
    code, out, _ = event(*words, "--json")
    assert code == 0, out
    return json.loads(out)


def test_an_event_is_made_and_says_what_to_do_next(event):
    code, out, _ = event("create", "gig", "--venue", "arena", "--name", "The gig")
    assert code == 0
    assert "The gig (gig): 60 seats and 100 standing places" in out
    assert "./run event open gig" in out


def test_an_event_with_a_time_says_that_it_opens_by_itself(event):
    _, out, _ = event("create", "gig", "--venue", "arena", "--opens-at", "2030-05-01T10:00+02:00")
    assert "It opens by itself at 2030-05-01 08:00+00:00. Sooner: Open it with: ./run event open gig" in out


def test_an_event_says_when_its_lobby_opens_by_itself_until_that_is_taken_away(event):
    when = ("--lobby-opens-at", "2030-05-01T09:00+02:00", "--opens-at", "2030-05-01T10:00+02:00")
    _, out, _ = event("create", "gig", "--venue", "arena", *when)
    assert (
        "Its lobby opens by itself at 2030-05-01 07:00+00:00. It opens by itself at 2030-05-01 08:00" in out
    )
    assert "2030-05-01 07:00+00:00" in event("list")[1]
    later = told(event, "set", "gig", "--lobby-opens-at", "2030-05-01T07:30Z")
    assert (later["lobby_opens_at"], later["opens_at"]) == ("2030-05-01T07:30:00Z", "2030-05-01T08:00:00Z")
    _, out, _ = event("set", "gig", "--lobby-opens-at", "by-hand")
    assert "Its lobby" not in out
    assert told(event, "set", "gig", "--opens-at", "by-hand")["opens_at"] is None


def test_every_option_reaches_the_event(event):
    words = ("--hold-ttl-seconds", "90", "--seats-per-buyer", "4", "--gate", "off", "--open")
    when = ("--opens-at", "2030-05-01T10:00+02:00")
    made = told(event, "create", "gig", "--venue", "arena", *words, *when)
    assert (made["state"], made["hold_ttl_seconds"], made["seats_per_buyer_max"]) == ("open", 90, 4)
    assert (made["fast_gate"], made["name"], made["opens_at"]) == (False, "gig", "2030-05-01T08:00:00Z")


def test_limits_are_set_told_all_and_taken_away(event):
    told(event, "create", "gig", "--venue", "arena", "--limit", "A=2")
    assert told(event, "set", "gig", "--limit", "A=3", "--limit", "B=0")["limits"] == {"A": 3, "B": 0}
    assert told(event, "set", "gig", "--seats-per-buyer", "6")["limits"] == {"A": 3, "B": 0}
    code, _, said = event("set", "gig", "--limit", "A=3", "--no-limits")
    assert (code, "either --limit or --no-limits" in said) == (1, True)
    assert told(event, "set", "gig", "--no-limits")["limits"] == {}


def test_how_holds_are_bought_is_said_and_settled_when_the_sale_begins(event):
    made = told(event, "create", "gig", "--venue", "arena")
    assert (made["payment"], made["late_payment"]) == ("none", "refund")
    changed = told(event, "set", "gig", "--payment", "required", "--late-payment", "reacquire")
    assert (changed["payment"], changed["late_payment"]) == ("required", "reacquire")
    _, out, _ = event("show", "gig")
    assert "bought by paying for it. Money that comes too late is used for the same seats" in out
    event("open", "gig")
    code, _, said = event("set", "gig", "--payment", "none")
    assert (code, "it stays" in said) == (1, True)
    assert told(event, "set", "gig", "--late-payment", "refund")["late_payment"] == "refund"
    again = told(event, "create", "gala", "--venue", "arena", "--payment", "required", "--open")
    assert (again["payment"], again["state"]) == ("required", "open")


def test_the_levers_change_the_state(event):
    event("create", "gig", "--venue", "arena")
    for lever, state in (("open", "open"), ("pause", "paused"), ("resume", "open"), ("close", "closed")):
        assert told(event, lever, "gig")["state"] == state


def test_a_lever_wakes_the_allocator(event, redis_url):
    event("create", "gig", "--venue", "arena")
    with redis.Redis.from_url(redis_url) as client:
        assert not client.exists(stream_key("gig"))
        client.xadd(stream_key("gig"), {"c": "1"})
        event("open", "gig")
        assert [list(fields) for _, fields in client.xrange(stream_key("gig"))] == [[b"c"], [b"p"]]


def test_show_tells_how_the_sale_stands(event, redis_url):
    event("create", "gig", "--venue", "arena", "--open")
    with redis.Redis.from_url(redis_url) as client:
        client.xadd(stream_key("gig"), {"r": "1"})
    _, out, _ = event("show", "gig")
    for part in (
        "gig (gig) is open.",
        "free",
        "60",
        "100",
        "No request was decided yet",
        "1 requests wait",
        "Nobody",
    ):
        assert part in out
    shown = told(event, "show", "gig")
    assert shown["seats"]["available"] == 60
    assert shown["progress"]["batch_no"] == 0
    assert shown["undecided"] == 1


def test_show_counts_what_was_decided_and_says_sold_out(event, database_url):
    event("create", "gig", "--venue", "arena", "--open")
    with psycopg.connect(database_url) as conn:
        conn.execute("UPDATE seat SET state = 'sold', hold_id = 1")
        conn.execute("UPDATE area SET sold = 98, held = 2")
        conn.execute(
            "INSERT INTO ledger (event_id, batch_no, position, kind, input, outcome, result)"
            " SELECT 1, 1, n, 'request', '{}', CASE WHEN n < 3 THEN 'held' ELSE 'taken' END, '{}'"
            " FROM generate_series(0, 4) AS n"
        )
        conn.execute("UPDATE lease SET worker = 'host:7', renewed_at = clock_timestamp() - interval '300 s'")
    _, out, _ = event("show", "gig")
    for part in ("sold out; 2 on hold", "3 held, 2 taken", "host:7"):
        assert part in out
    assert re.search(r"heard of 3\d\d s ago", out)


def test_a_stream_that_is_away_hides_nothing_else(event, monkeypatch):
    event("create", "gig", "--venue", "arena")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    assert told(event, "open", "gig")["state"] == "open"
    _, out, _ = event("show", "gig")
    assert "the stream does not answer" in out


def test_the_list_shows_every_event_and_an_empty_one_what_to_do(event):
    assert "./run event create" in event("list")[1]
    event("create", "gig", "--venue", "arena", "--name", "[red]The gig[/red]")
    assert "[red]The gig[/red]" in event("list")[1]
    assert [one["slug"] for one in told(event, "list")] == ["gig"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("open", "none"), "unknown_event", "no event 'none'"),
        (("create", "gig", "--venue", "none"), "unknown_venue", "There are: arena"),
        (("create", "A B", "--venue", "arena"), "invalid_event", "slug must be"),
        (
            ("create", "gig", "--venue", "arena", "--opens-at", "2030-05-01"),
            "invalid_event",
            "offset from UTC",
        ),
        (("create", "gig", "--venue", "arena", "--opens-at", "soon"), "invalid_event", "'soon'"),
        (("set", "there", "--lobby-opens-at", "soon"), "invalid_event", "--lobby-opens-at must be a time"),
        (("create", "there", "--venue", "arena"), "event_exists", "'there' already"),
        (("pause", "there"), "event_state", "it can become lobby or open"),
        (("resume", "there"), "event_state", "is draft, not paused"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_exit_code_1(event, words, code, said):
    event("create", "there", "--venue", "arena")
    exit_code, out, err = event(*words)
    assert (exit_code, out) == (1, "")
    assert said in err
    exit_code, out, err = event(*words, "--json")
    assert (exit_code, err) == (1, "")
    assert json.loads(out)["code"] == code


def test_a_creation_that_fails_at_opening_leaves_nothing(event, monkeypatch):
    def refuse(*_args, **_more):
        raise psycopg.OperationalError("the server closed the connection")

    monkeypatch.setattr("store.events.set_state", refuse)
    assert event("create", "gig", "--venue", "arena", "--open")[0] == 1
    assert told(event, "list") == []
