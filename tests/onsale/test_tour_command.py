"""`tour`: what an operator types, and what is said back; and limits at `event create`."""

from __future__ import annotations

import json

import psycopg
import pytest
from typer.testing import CliRunner

from onsale.commands import event, tour
from store.venues.rows import save_venue
from tests.store.test_limits import BEST, OTHER, PLAN


@pytest.fixture
def run(engine_urls, monkeypatch):
    """Runs `tour …` or `event …` on the test's engines: (exit code, stdout, stderr)."""
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    monkeypatch.setenv("COLUMNS", "200")
    with psycopg.connect(engine_urls.database_url) as conn:
        save_venue(conn, "hall", PLAN)

    def run(command, *words):
        app = {"tour": tour.app, "event": event.app}[command]
        result = CliRunner().invoke(app, words, catch_exceptions=False)
        return result.exit_code, result.stdout, result.stderr

    return run


def test_a_tour_is_made_says_what_to_do_next_and_is_shown_with_its_dates(run):
    code, out, _ = run("tour", "create", "summer", "--seats-per-buyer", "4", "--name", "Summer")
    assert code == 0
    assert "Summer (summer): 4 seats a buyer on all dates together." in out
    assert "./run tour add summer EVENT" in out
    assert "No dates yet." in run("tour", "show", "summer")[1]
    run("event", "create", "gig", "--venue", "hall")
    code, out, _ = run("tour", "add", "summer", "gig", "--who", "Olga", "--why", "the first date")
    assert (code, out) == (0, "gig (gig) is a date of summer.\n")
    assert "gig   gig   draft" in run("tour", "show", "summer")[1]
    assert "summer  Summer  4" in run("tour", "list")[1]
    assert "A date of the tour summer." in run("event", "show", "gig")[1]
    assert "join tour summer" in run("event", "audit", "gig")[1]


def test_scripts_get_json(run):
    made = json.loads(run("tour", "create", "summer", "--seats-per-buyer", "4", "--json")[1])
    assert (made["slug"], made["seats_per_buyer_max"]) == ("summer", 4)
    run("event", "create", "gig", "--venue", "hall")
    added = json.loads(run("tour", "add", "summer", "gig", "--why", "a date", "--who", "O", "--json")[1])
    assert added["tour"] == "summer"
    shown = json.loads(run("tour", "show", "summer", "--json")[1])
    assert [date["slug"] for date in shown["events"]] == ["gig"]
    assert len(json.loads(run("tour", "list", "--json")[1])) == 1


def test_what_cannot_be_is_one_line_and_exit_code_one(run):
    assert "No tours yet." in run("tour", "list")[1]
    code, out, err = run("tour", "show", "none")
    assert (code, out) == (1, "")
    assert "There is no tour 'none'" in err
    code, out, _ = run("tour", "create", "x", "--seats-per-buyer", "0", "--json")
    assert (code, json.loads(out)["code"]) == (1, "invalid_event")


def test_limits_of_an_event_are_options(run):
    words = ("event", "create", "gig", "--venue", "hall", "--limit", f"{BEST}=2", "--limit", f"{OTHER}=0")
    assert json.loads(run(*words, "--json")[1])["limits"] == {BEST: 2, OTHER: 0}
    assert f"2 of {BEST}" in run("event", "show", "gig")[1]


@pytest.mark.parametrize("written", ["Gold", "=4", "Gold=", "Gold=-1", "Gold=x", "Gold=99999999999"])
def test_a_limit_that_cannot_be_read_is_told_as_it_was_written(run, written):
    code, _, err = run("event", "create", "gig", "--venue", "hall", "--limit", written)
    assert code == 1
    assert f"not {written!r}" in err
