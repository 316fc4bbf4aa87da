"""The chores' health check: well while this host's process turns and no chore stands still anywhere."""

from __future__ import annotations

import os
import time

import psycopg
import pytest

from onsale.chores import heard
from onsale.chores.catalogue import chores
from onsale.chores.settings import ChoreSettingNotValid
from store.chores import runs


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def beat(tmp_path):
    return tmp_path / "beat"


@pytest.fixture
def check(engine_urls, conn, beat, monkeypatch, capfd):
    """The check as a container makes it: (exit code, what it says)."""
    for name, value in {**engine_urls.as_env(), "ONSALE_CHORES_BEAT": str(beat)}.items():
        monkeypatch.setenv(name, value)

    def check():
        code = heard.main()
        return code, capfd.readouterr().err.strip()

    return check


@pytest.fixture
def planned(conn):
    runs.enlist(conn, [(one.name, one.every_seconds, one.long) for one in chores()])


def test_chores_that_go_on_are_well(check, planned, beat):
    heard.Beat.begin(beat)
    assert check() == (0, "the chores go on")


def test_a_process_that_stands_still_is_not_well_until_it_turns_again(check, planned, beat):
    sign = heard.Beat.begin(beat)
    long_ago = time.time() - 10 * heard.SILENT_SECONDS
    os.utime(beat, (long_ago, long_ago))
    code, says = check()
    assert (code, "gave no sign of life" in says) == (1, True)
    sign.give()
    assert check()[0] == 0


def test_a_process_that_ended_is_not_well(check, planned, beat):
    heard.Beat.begin(beat).end()
    code, says = check()
    assert (code, "does not run here" in says) == (1, True)


@pytest.mark.parametrize("chore", ["mail", "relay"])
def test_a_chore_that_nobody_runs_any_more_is_told_by_name(check, planned, conn, beat, chore):
    heard.Beat.begin(beat)
    conn.execute(
        "UPDATE chore_run SET alive_at = now() - interval '1 hour', due_at = now() - interval '1 hour'"
        " WHERE chore = %s",
        (chore,),
    )
    assert check() == (1, f"did not run when they should have: {chore}")
    runs.began(conn, chore, "elsewhere:1")
    assert check()[0] == 0


def test_a_chore_that_fails_is_no_reason_to_start_anew_and_one_of_another_version_neither(
    check, planned, conn, beat
):
    heard.Beat.begin(beat)
    conn.execute("UPDATE chore_run SET failures = 9, last_error = 'The mail server is away.'")
    conn.execute(
        "INSERT INTO chore_run (chore, every_seconds, long, enlisted_at, due_at)"
        " VALUES ('of-before', 5, false, now() - interval '1 day', now() - interval '1 day')"
    )
    assert check()[0] == 0


def test_where_nothing_was_ever_planned_it_is_not_well(check, beat):
    heard.Beat.begin(beat)
    assert check() == (1, "no chore was ever planned here")


def test_without_a_file_postgres_alone_is_asked(check, planned, monkeypatch):
    monkeypatch.delenv("ONSALE_CHORES_BEAT")
    assert check()[0] == 0


def test_a_postgres_that_is_away_is_told(check, beat, monkeypatch):
    heard.Beat.begin(beat)
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    assert check() == (1, "Postgres does not answer: OperationalError")


def test_a_file_that_cannot_be_written_is_said_at_the_start(tmp_path):
    with pytest.raises(ChoreSettingNotValid, match=r"ONSALE_CHORES_BEAT names .* cannot be written"):
        heard.Beat.begin(tmp_path / "none" / "beat")
