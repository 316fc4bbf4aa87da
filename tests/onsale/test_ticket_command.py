"""`ticket`: judged without a database, by what was written down for it; troubles told in a sentence."""

from __future__ import annotations

import json

import psycopg
import pytest
from typer.testing import CliRunner

from notifier.tickets import KnownKeys, Ticket, TicketKeys
from onsale.commands import event as event_command
from onsale.commands import ticket
from onsale.engines import DataDir
from store.tickets.items import SEAT, Item
from tests.store.test_blocks import make_event
from tests.store.test_holds import HOLD
from tests.store.tickets.holding import PLACES, allow, claim, give_back, offer, order

KEY = "a ticket key that only these tests use"
KEYS = TicketKeys(KEY)


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Runs `ticket …`, where no engine can be reached: (exit code, stdout, stderr)."""
    monkeypatch.setenv("ONSALE_TICKET_KEY", KEY)
    monkeypatch.setenv("ONSALE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words, given=""):
        result = CliRunner().invoke(
            ticket.app, [str(word) for word in words], input=given, catch_exceptions=False
        )
        return result.exit_code, result.stdout, result.stderr

    return run


def token(number: int = 3, serial: int = 1, event: str = "gig", item: Item | None = None) -> str:
    return KEYS.sign(Ticket(event, HOLD, item or Item(SEAT, number), serial))


@pytest.fixture
def exported(run, engine_urls, monkeypatch, tmp_path):
    """What a door has of an event: seat 3 was given away, a place was returned."""
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        event = make_event(conn, "gig")
        allow(conn)
        order(conn, event)
        claim(conn, offer(conn, event))
        give_back(conn, event, PLACES[0])
    file = tmp_path / "gig.json"
    code, out, _ = run("export", "gig", "--out", file)
    assert (code, out) == (0, f"{file}: 1 keys, 2 revoked tickets and orders of gig.\n")
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.delenv("ONSALE_TICKET_KEY")
    return file


def test_a_ticket_is_judged_by_this_onsales_own_keys(run):
    code, out, _ = run("check", token())
    assert code == 0
    assert out == f"✓ valid: gig, order {HOLD}, ticket 3, serial 1. Signed by us.\n"
    code, out, _ = run("check", token(), "--event", "another")
    assert (code, out.startswith("✗ not of this event: gig")) == (1, True)
    code, out, _ = run("check", token()[:-5])
    assert (code, out.startswith("✗ not valid: ")) == (1, True)


def test_a_door_that_is_cut_off_judges_by_what_was_exported(run, exported):
    given = "\n".join([token(3), token(3, 2), token(4), token(item=PLACES[0]), token(item=PLACES[1]), ""])
    code, out, _ = run("check", "-", "--revoked", exported, "--json", given=given)
    assert code == 1
    assert [json.loads(line)["result"] for line in out.splitlines()] == [
        "revoked", "valid", "valid", "revoked", "valid",
    ]  # fmt: skip
    elsewhere = run("check", token(event="another"), "--revoked", exported)
    assert (elsewhere[0], elsewhere[1].startswith("✗ not of this event")) == (1, True)
    assert run("check", token(3), "--keys", exported)[0] == 0, "keys alone say nothing of what is revoked"


def test_a_file_of_tokens_is_judged_line_by_line(run, tmp_path):
    file = tmp_path / "tokens.txt"
    file.write_text(f"{token(3)}\n\n{token(4).lower()}\n")
    code, out, _ = run("check", file)
    assert (code, out.count("✓ valid")) == (0, 2)
    file.write_text("\n")
    assert "There is no token" in run("check", file)[2]


def test_an_export_has_pages_and_all_of_them(run, exported, engine_urls, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("ONSALE_TICKET_KEY", KEY)
    whole = json.loads(run("export", "gig")[1])
    monkeypatch.setattr("store.tickets.revoked.REVOKED_MAX", 1)
    assert json.loads(run("export", "gig")[1]) == whole
    assert len(whole["revoked"]) == 2
    code, _, err = run("export", "nowhere")
    assert (code, "There is no event 'nowhere'" in err) == (1, True)


def test_keys_are_published_and_the_secret_is_not(run, tmp_path):
    code, out, _ = run("keys")
    assert (code, KEY in out) == (0, False)
    file = tmp_path / "keys.json"
    file.write_text(out)
    assert run("check", token(), "--keys", file)[0] == 0


def test_a_data_directorys_own_key_is_used_where_none_is_given(run, monkeypatch, tmp_path):
    monkeypatch.delenv("ONSALE_TICKET_KEY")
    code, _, err = run("keys")
    assert code == 1
    assert "ONSALE_TICKET_KEY" in err
    home = DataDir(tmp_path / "data")
    home.prepare()
    for command in (("keys",), ("check", token())):
        code, _, err = run(*command)
        assert (code, "There is no ticket key" in err) == (1, True)
    assert not home.has_secret("ticket-key"), "one made now would have signed no ticket there is"
    own = TicketKeys(home.secret("ticket-key"))
    published = json.loads(run("keys")[1])["keys"]
    assert [key["kid"] for key in published] == [key.kid for key in own.published]
    mine = own.sign(Ticket("gig", 1, Item(SEAT, 1)))
    assert KnownKeys(own.public).read(mine).order == 1
    assert run("check", mine)[0] == 0


@pytest.mark.parametrize("given", ["door.txt", "/no/such/file"])
def test_a_file_that_is_not_there_is_told_as_that(run, given):
    code, _, err = run("check", given)
    assert (code, err) == (1, f"There is no file {given!r}, and it is no token. Give one or the other.\n")


def test_an_export_that_cannot_be_written_is_told(run, exported, engine_urls, monkeypatch, tmp_path):
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("ONSALE_TICKET_KEY", KEY)
    code, _, err = run("export", "gig", "--out", tmp_path / "no" / "gig.json")
    assert (code, "cannot be written" in err) == (1, True)


@pytest.mark.parametrize("option", ["--keys", "--revoked"])
@pytest.mark.parametrize("content", [None, "", "{", '{"keys":[{"kid":"a","x":"AAAA"}]}', '{"keys":1}'])
def test_a_file_that_is_none_is_told(run, tmp_path, option, content):
    file = tmp_path / "door.json"
    if content is not None:
        file.write_text(content)
    code, out, err = run("check", token(), option, file)
    assert (code, out) == (1, "")
    assert option in err or "Ed25519" in err


def test_a_key_that_could_be_guessed_is_told(run, monkeypatch):
    monkeypatch.setenv("ONSALE_TICKET_KEY", "short")
    code, _, err = run("keys")
    assert (code, "ONSALE_TICKET_KEY: A ticket key is 32 characters" in err) == (1, True)


def test_an_organiser_allows_returns_and_transfers(engine_urls, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    monkeypatch.setenv("COLUMNS", "200")
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        make_event(conn, "gig")

    def told(*words):
        return CliRunner().invoke(event_command.app, words, catch_exceptions=False).stdout

    assert "Buyers may" not in told("show", "gig")
    assert "Buyers may return what they bought and give tickets away." in told(
        "set", "gig", "--returns", "--transfers"
    )
    assert "Buyers may give tickets away." in told("set", "gig", "--no-returns")
    made = told("create", "second", "--venue", "arena", "--returns", "--json")
    assert (json.loads(made)["returns_allowed"], json.loads(made)["transfers_allowed"]) == (True, False)
