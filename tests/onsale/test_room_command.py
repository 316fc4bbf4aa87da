"""`room`, and `event` where it has a waiting room: what is typed, what is answered, who is told."""

from __future__ import annotations

import json

import psycopg
import pytest
import redis
from typer.testing import CliRunner

from onsale.commands import event, room
from store import events
from store.room import codes
from store.room.news import encode, room_channel
from store.venues.rows import save_venue
from store.words import EventState
from tests.gateway.rig import EVENT
from tests.store.room.rooming import PLAN, begin_sale, join

WHY = ("--why", "the sale of the year", "--who", "Olga")


@pytest.fixture
def conn(engine_urls, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    monkeypatch.setenv("COLUMNS", "200")
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        save_venue(conn, "arena", PLAN)
        yield conn


@pytest.fixture
def run(conn):
    """Runs `room …` or `event …` on the test's engines: (exit code, stdout, stderr)."""

    def run(command, *words):
        app = {"room": room.app, "event": event.app}[command]
        result = CliRunner().invoke(app, words, catch_exceptions=False)
        return result.exit_code, result.stdout, result.stderr

    assert run("event", "create", "gig", "--venue", "arena")[0] == 0
    return run


def told(run, *words):
    code, out, _ = run("room", *words, *WHY, "--json")
    return code, json.loads(out)


def test_a_room_is_made_and_says_what_to_publish_and_to_do_next(run):
    code, out, _ = run("room", "make", "gig", *WHY, "--pace", "200", "--begin-seconds", "60", "--ballot")
    assert code == 0
    shown = json.loads(run("room", "show", "gig", "--json")[1])["room"]
    for words in ("drawn", "at most 200 a minute", "60 s to begin", "Wishes are filed", shown["seed_sha256"]):
        assert words in out
    assert "./run event lobby gig" in out
    assert run("event", "lobby", "gig")[:2] == (0, "gig (gig) is lobby now.\n")
    assert (shown["terms"]["pace"], shown["terms"]["ballot"], shown["seed"]) == (200, True, None)


def test_how_it_stands_is_told_in_words(run, conn):
    run("room", "make", "gig", *WHY, "--shopping-max", "40")
    run("event", "lobby", "gig")
    join(conn, 1, "ann", "bob", "cat")
    out = run("room", "show", "gig")[1]
    assert "gig is lobby; buyers join and wait for the sale to begin." in out
    assert "3 joined, 0 were admitted, 0 are choosing now" in out
    assert "Not drawn yet. SHA-256 of the seed: " in out
    begin_sale(conn, 1)
    run("room", "message", "gig", "The band is [late]", *WHY)
    out = run("room", "show", "gig")[1]
    assert "gig is open; admission is running. Edition 1." in out
    assert "The band is [late]" in out
    assert "3 places were drawn at " in out
    assert "at most 40 at a time" in out


def test_terms_change_and_limits_are_lifted(run):
    run("room", "make", "gig", *WHY, "--pace", "200", "--shopping-max", "40")
    code, changed = told(run, "change", "gig", "--no-pace", "--begin-seconds", "99", "--edition", "0")
    assert code == 0
    assert changed["terms"] | {"pace": None, "shopping_max": 40, "begin_seconds": 99} == changed["terms"]
    code, refused = told(run, "change", "gig", "--pace", "3", "--edition", "0")
    assert (code, refused["code"]) == (1, "room_changed")
    code, refused = told(run, "change", "gig", "--pace", "3", "--no-pace")
    assert (code, refused["code"]) == (1, "invalid_room")
    assert told(run, "change", "gig")[1]["code"] == "invalid_room"
    assert "(edition 2)" in run("room", "change", "gig", "--policy", "fifo", *WHY)[1]


def test_admission_is_paused_resumed_and_stopped_and_the_second_operator_is_told(run):
    run("room", "make", "gig", *WHY)
    for word, says in (("pause", "for now"), ("resume", "goes on"), ("stop", "any more")):
        code, out, _ = run("room", word, "gig", *WHY)
        assert code == 0
        assert says in out
        code, refused = told(run, word, "gig")
        assert (code, refused["code"]) == (1, "admission_state")


def test_a_message_is_told_to_all_and_taken_back(run):
    run("room", "make", "gig", *WHY)
    assert told(run, "message", "gig", "The band is late")[1]["message"] == "The band is late"
    assert told(run, "message", "gig", "--clear")[1]["message"] is None
    for words in ((), ("Hello", "--clear"), (" ",)):
        code, refused = told(run, "message", "gig", *words)
        assert (code, refused["code"]) == (1, "invalid_message")


def test_a_look_is_read_from_a_file(run, tmp_path):
    run("room", "make", "gig", *WHY)
    path = tmp_path / "look.json"
    path.write_text('{"name": "The Hall", "accent": "#2f4fc4"}')
    assert "another look now" in run("room", "look", "gig", str(path), *WHY)[1]
    assert "another look" in run("event", "audit", "gig")[1]
    path.write_text('{"colour": "#2f4fc4"}')
    assert told(run, "look", "gig", str(path))[1]["code"] == "invalid_look"
    assert told(run, "look", "gig", "no/such/file")[1]["code"] == "invalid_look"


def test_codes_are_printed_one_a_line_and_how_many_were_used_is_shown(run):
    run("room", "make", "gig", *WHY)
    code, out, err = run("room", "codes", "gig", "--count", "3", "--label", "fan club", "--uses", "2", *WHY)
    assert (code, len(out.split())) == (0, 3)
    assert {len(codes.typed(one).sha256) for one in out.split()} == {32}
    assert "not shown again" in err
    made = told(run, "codes", "gig", "--label", "press")[1]
    assert len(made["codes"]) == 1
    shown = run("room", "show", "gig")[1]
    assert "fan club" in shown
    assert out.split()[0] not in shown


def test_codes_are_listed_by_label_and_never_shown_again(run):
    run("room", "make", "gig", *WHY)
    assert "There are no codes for gig" in run("room", "codes", "gig", "--list")[1]
    made = told(run, "codes", "gig", "--count", "3", "--label", "fan club", "--uses", "2")[1]["codes"]
    told(run, "revoke", "gig", "--label", "fan club")
    told(run, "codes", "gig", "--label", "press")
    code, out, _ = run("room", "codes", "gig", "--list")
    fans, press = [line.split() for line in out.splitlines()[1:]]
    assert (code, fans[2:], press) == (0, ["3", "0", "6", "3", "6"], ["press", "1", "0", "1", "0", "0"])
    [fans, press] = json.loads(run("room", "codes", "gig", "--list", "--json")[1])["codes"]
    assert (fans["label"], fans["revoked"], press["uses_revoked"]) == ("fan club", 3, 0)
    assert not any(one in out for one in made)


def test_codes_are_revoked_by_label_or_from_a_file_or_stdin(run, tmp_path):
    run("room", "make", "gig", *WHY)
    made = told(run, "codes", "gig", "--count", "4", "--label", "fans")[1]["codes"]
    path = tmp_path / "leaked.txt"
    path.write_text(f"{made[0]}\n\n {made[1].lower()} \r\n")
    code, out, _ = run("room", "revoke", "gig", "--codes", str(path), *WHY)
    assert (code, out) == (0, "2 codes for fans let nobody in any more; 2 uses were left.\n")
    words = ["revoke", "gig", "--codes", "-", *WHY, "--json"]
    result = CliRunner().invoke(room.app, words, input=made[2] + "\n", catch_exceptions=False)
    assert json.loads(result.stdout) == {"revoked": [{"label": "fans", "codes": 1, "uses": 1}]}
    assert told(run, "revoke", "gig", "--label", "fans")[1]["revoked"][0]["codes"] == 1
    audit = run("event", "audit", "gig")[1]
    assert audit.count("codes revoked: 1 for fans") == 2
    path.write_text("\n")
    for wrong, why in (
        (("--codes", str(path)), "invalid_codes"),
        (("--codes", "no/such/file"), "invalid_codes"),
        ((), "invalid_codes"),
        (("--label", "fans"), "codes_revoked"),
        (("--label", "none"), "unknown_label"),
    ):
        code, refused = told(run, "revoke", "gig", *wrong)
        assert (code, refused["code"]) == (1, why)


def test_each_change_is_in_the_audit_in_words(run):
    run("room", "make", "gig", *WHY)
    run("room", "change", "gig", "--pace", "9", *WHY)
    run("room", "pause", "gig", *WHY)
    run("room", "message", "gig", "Soon", *WHY)
    run("room", "codes", "gig", "--label", "fans", *WHY)
    out = run("event", "audit", "gig")[1]
    for words in (
        "make room: policy draw",
        "room: pace 9",
        "admission paused",
        "message: Soon",
        "1 codes for fans",
    ):
        assert words in out
    assert out.count("Olga") == 5


def test_each_change_pokes_the_gateways(run, engine_urls):
    run("event", "create", EVENT, "--venue", "arena", "--room", "draw")
    with redis.Redis.from_url(engine_urls.redis_url) as client, client.pubsub() as pubsub:
        pubsub.subscribe(room_channel(EVENT))
        assert pubsub.get_message(timeout=10)
        for number, words in enumerate((("pause", EVENT), ("message", EVENT, "Soon")), 1):
            run("room", *words, *WHY)
            assert pubsub.get_message(timeout=10)["data"] == encode(number)


def test_an_event_is_made_with_a_room(run, conn):
    code, _, _ = run("event", "create", "other", "--venue", "arena", "--room", "fifo")
    assert code == 0
    assert json.loads(run("room", "show", "other", "--json")[1])["room"]["terms"]["policy"] == "fifo"
    told = run("event", "audit", "other")[1]
    assert ("create other" in told, "make room" in told) == (True, True)
    assert events.get_event(conn, "other").state is EventState.DRAFT


def test_what_cannot_be_is_one_line_and_exit_code_one(run):
    code, out, err = run("room", "show", "gig")
    assert (code, out) == (1, "")
    assert "The event has no waiting room." in err
    assert "There is no event 'none'" in run("room", "make", "none", *WHY)[2]
    assert told(run, "make", "gig", "--pace", "0")[1]["code"] == "invalid_room"
