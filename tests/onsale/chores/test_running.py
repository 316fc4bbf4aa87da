"""Each run is written down: when, how long, how much, what failed; failures come again later each time."""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest

from onsale.chores import catalogue, run
from onsale.chores.catalogue import Chore, chores
from onsale.chores.doing import BUDGET_SECONDS, FAILED_ALIKE_MAX
from onsale.chores.run import ChoreFailed, job, run_long, run_once
from onsale.chores.settings import ChoreSettingNotValid, ChoreSettings
from store.chores import runs
from store.errors import NotFound, Unavailable
from store.payments.ending import LAST_LOOK_SECONDS
from store.processes import process_name
from tests.onsale.chores.doings import doing, settings_of

NAP = Chore("nap", "sleeps", 10, "tests.onsale.chores.test_running:unused")


@pytest.fixture
def as_chore(monkeypatch):
    """Makes a function the chore `nap`."""

    def make(function, chore=NAP):
        monkeypatch.setattr(Chore, "load", lambda self: function)
        return chore

    return make


def once(database_url, chore, **how):
    return run_once(chore, settings_of(database_url), threading.Event(), **how)


def stands(conn):
    [one] = runs.read(conn)
    return one


def test_a_run_is_written_down(conn, database_url, as_chore):
    async def nap(given):
        given.position = 7
        return 3

    assert once(database_url, as_chore(nap)) == 3
    one = stands(conn)
    assert (one.chore, one.runs, one.done, one.failures, one.last_error) == ("nap", 1, 3, 0, None)
    assert one.started_at <= one.ended_at
    assert one.duration_ms >= 0
    assert one.worker == process_name()
    assert conn.execute("SELECT position FROM chore_run").fetchall() == [(7,)]


def test_the_next_run_begins_where_the_last_ended(database_url, as_chore, conn):
    begun = []

    async def nap(given):
        begun.append(given.position)
        given.position += 5
        return 0

    for _ in range(3):
        once(database_url, as_chore(nap))
    assert begun == [0, 5, 10]


@pytest.mark.parametrize("error", [Unavailable("It is away."), ValueError("a bug")])
def test_failures_are_counted_told_and_come_again_later_each_time(conn, database_url, as_chore, error):
    async def nap(given):
        raise error

    pauses = []
    for failures in range(1, 5):
        with pytest.raises(ChoreFailed, match=str(error)):
            once(database_url, as_chore(nap))
        assert stands(conn).failures == failures
        pause = "SELECT extract(epoch FROM due_at - clock_timestamp())::float FROM chore_run"
        [(seconds,)] = conn.execute(pause).fetchall()
        pauses.append(seconds)
    assert pauses[0] < pauses[1] < pauses[2]
    assert 7 < pauses[0] < 13
    assert max(pauses) <= runs.BACKOFF_SECONDS_MAX * 1.2
    assert str(error) in stands(conn).trouble

    async def well(given):
        return 0

    once(database_url, as_chore(well))
    assert (stands(conn).failures, stands(conn).trouble) == (0, None)
    assert str(error) in stands(conn).last_error


def test_many_failures_of_one_run_are_told_in_short_and_end_it(conn, database_url):
    async def nap(given):
        for number in range(10):
            given.failed(f"thing {number}", Unavailable("away"))
            if given.is_over():
                break
        return 0

    run = doing(database_url, nap)
    assert len(run.errors) == FAILED_ALIKE_MAX
    assert run.told() == "thing 0: away; thing 1: away; thing 2: away; and 2 more"


def test_a_run_out_of_time_goes_on_at_once(conn, database_url, as_chore):
    async def nap(given):
        conn.execute("UPDATE chore_run SET due_at = clock_timestamp() + interval '1 hour'")
        given.stop.set()
        assert given.is_over()
        return 1

    once(database_url, as_chore(nap))
    assert conn.execute("SELECT due_at <= clock_timestamp() FROM chore_run").fetchall() == [(True,)]


def test_time_that_is_used_up_ends_a_run(database_url, conn):
    async def nap(given):
        return given.is_over()

    assert doing(database_url, nap, budget_seconds=-1.0).done
    assert not doing(database_url, nap).done


def test_a_run_leaves_its_worker_in_time_for_the_last_look_at_a_payment():
    """It waits for its own slot, for the run before it, and asks the provider."""
    payments = next(chore for chore in chores() if chore.name == "payments")
    assert payments.every_seconds + BUDGET_SECONDS <= LAST_LOOK_SECONDS / 2
    assert chores()[0] == payments, "of what waits for the worker it is the first"


def test_a_chore_that_did_not_run_when_it_should_have_is_in_trouble(conn, database_url):
    runs.enlist(conn, [("nap", 10, False)])
    assert stands(conn).trouble is None
    conn.execute("UPDATE chore_run SET enlisted_at = enlisted_at - interval '80 seconds'")
    assert stands(conn).trouble is None
    conn.execute(
        "UPDATE chore_run SET due_at = enlisted_at, enlisted_at = enlisted_at - interval '20 seconds'"
    )
    assert "did not run" in stands(conn).trouble


def test_long_chores_give_signs_of_life_and_end_when_told_to(conn, database_url, as_chore, monkeypatch):
    monkeypatch.setattr(run, "ALIVE_SECONDS", 0.02)
    stop, given = threading.Event(), []

    def nap(url, stopping):
        given.append(url)
        conn.execute("UPDATE chore_run SET alive_at = NULL")
        while conn.execute("SELECT alive_at FROM chore_run").fetchone() == (None,):
            assert not stopping.wait(0.01)
        stop.set()
        assert stopping.wait(30)

    long = as_chore(nap, NAP._replace(long=True))
    assert run_long(long, settings_of(database_url), stop) == 0
    assert given == [database_url]
    assert stands(conn).failures == 0
    assert conn.execute("SELECT due_at <= clock_timestamp() FROM chore_run").fetchall() == [(True,)]


def test_a_long_chore_that_was_begun_anew_elsewhere_ends(conn, database_url, as_chore, monkeypatch):
    monkeypatch.setattr(run, "ALIVE_SECONDS", 0.02)

    def nap(url, stopping):
        runs.began(conn, "nap", "another:1")
        assert stopping.wait(30)

    run_long(as_chore(nap, NAP._replace(long=True)), settings_of(database_url), threading.Event())
    assert stands(conn).worker == "another:1"


def test_who_was_begun_in_place_of_another_is_not_begun_in_place_of_itself(
    conn, database_url, as_chore, monkeypatch
):
    """Else two hosts would end each other's runs for ever."""
    monkeypatch.setattr(run, "ALIVE_SECONDS", 0.02)

    def nap(url, stopping):
        runs.began(conn, "nap", "another:1")
        assert stopping.wait(30)

    run_long(as_chore(nap, NAP._replace(long=True)), settings_of(database_url), threading.Event())
    assert stands(conn).ended_at is None
    assert runs.claim(conn, ["nap"]) == []


@pytest.mark.parametrize("long", [False, True])
def test_a_run_whose_process_was_killed_has_failed(conn, database_url, monkeypatch, long):
    nap = NAP._replace(long=long)
    monkeypatch.setattr(run, "chore_named", {"nap": nap}.get)
    runs.enlist(conn, [("nap", 10, long)])
    for failures in range(1, 4):
        runs.began(conn, "nap", process_name(7))
        run.was_killed("nap", settings_of(database_url), 7, 130.0)
        assert stands(conn).failures == failures
    assert stands(conn).duration_ms >= 130_000
    assert "killed" in stands(conn).trouble
    assert runs.claim(conn, ["nap"]) == [], "it comes again later each time"


def test_a_run_that_takes_too_long_has_failed(conn, database_url, as_chore):
    """RQ ends it by an exception that may come anywhere, between two steps of the loop too."""

    class TookTooLong(Exception):
        pass

    def ends(*_):
        raise TookTooLong

    async def nap(given):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        await asyncio.sleep(30)

    before = signal.signal(signal.SIGALRM, ends)
    try:
        with pytest.raises(ChoreFailed, match="TookTooLong"):
            once(database_url, as_chore(nap))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert stands(conn).failures == 1
    assert "TookTooLong" in stands(conn).last_error


def test_a_long_chore_is_not_due_while_it_lives(conn, database_url):
    runs.enlist(conn, [("nap", 1, True)])
    assert runs.claim(conn, ["nap"]) == ["nap"]
    runs.began(conn, "nap", "me")
    conn.execute("UPDATE chore_run SET due_at = clock_timestamp()")
    assert runs.alive(conn, "nap", "me")
    assert runs.claim(conn, ["nap"]) == []
    assert not runs.alive(conn, "nap", "somebody else")


@pytest.mark.parametrize("ends", ["by itself", "with an error"])
def test_a_long_chore_that_ends_unasked_has_failed(conn, database_url, as_chore, ends):
    def nap(url, stopping):
        if ends == "with an error":
            raise ValueError(ends)

    with pytest.raises(ChoreFailed, match=ends):
        run_long(as_chore(nap, NAP._replace(long=True)), settings_of(database_url), threading.Event())
    assert stands(conn).failures == 1


def test_a_chore_that_is_not_there_is_told():
    with pytest.raises(NotFound):
        job("no such chore")


def test_every_chore_has_code_and_a_name_of_its_own():
    assert all(callable(chore.load()) for chore in chores())
    names = [chore.name for chore in (*catalogue.SHORT, *catalogue.LONG)]
    assert len(set(names)) == len(names)


def test_chores_that_are_no_more_are_forgotten_after_days(conn):
    runs.enlist(conn, [("nap", 1, False), ("old", 1, False), ("lately", 1, False)])
    conn.execute("UPDATE chore_run SET enlisted_at = enlisted_at - interval '8 days' WHERE chore <> 'lately'")
    assert runs.forget(conn, ["nap"]) == 1
    assert [one.chore for one in runs.read(conn)] == ["lately", "nap"]


@pytest.mark.parametrize(
    "wrong", [{"ONSALE_SMTP_URL": "http://x"}, {"ONSALE_SMTP_URL": "smtp://x", "ONSALE_MAIL_FROM": "nobody"}]
)
def test_settings_that_cannot_be_are_refused(wrong):
    urls = {"DATABASE_URL": "postgresql://x", "REDIS_URL": "redis://x"}
    settings = ChoreSettings.from_env(urls)
    assert settings.rq_url == "redis://x"
    assert ChoreSettings.from_env(urls | {"ONSALE_RQ_URL": "redis://y"}).rq_url == "redis://y"
    with pytest.raises(ChoreSettingNotValid):
        ChoreSettings.from_env(urls | wrong)


def test_postgres_that_is_away_is_told_as_that(as_chore):
    async def nap(given):
        return 0

    with pytest.raises(Unavailable):
        once("postgresql://127.0.0.1:1/none", as_chore(nap))
