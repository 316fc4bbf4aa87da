"""Of all who do the same call at once one has it, and whoever repeats it gets its answer."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from store import idempotency
from store.idempotency import Answer, Reused, Taken, TooManyKeys, UnderWay, fingerprint_of, scope_of

SCOPE = scope_of("ann", "POST", "/v1/events/gig/holds/1/release", "k")
CONTENT, OTHER = fingerprint_of(b"", b"{}"), fingerprint_of(b"", b"[]")
DONE = Answer(201, [("content-type", "application/json"), ("location", "/v1/there")], b'{"done":true}')
LEASE_OVER = "UPDATE idempotency_key SET lease_until = clock_timestamp() - interval '1 ms'"
A_DAY_OLD = "UPDATE idempotency_key SET made_at = clock_timestamp() - interval '24 hours'"
ALMOST = "UPDATE idempotency_key SET made_at = clock_timestamp() - interval '23 hours'"


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def does(database_url):
    """Runs one of the module's functions on a connection of its own."""

    def run(work, *given):
        async def once():
            bounded = "-c lock_timeout=2000"
            connecting = psycopg.AsyncConnection.connect(database_url, autocommit=True, options=bounded)
            async with await connecting as own:
                return await work(own, *given)

        return asyncio.run(once())

    return run


def rows(conn):
    return conn.execute("SELECT status, lease_until IS NULL FROM idempotency_key").fetchall()


def test_one_has_the_call_and_whoever_asks_meanwhile_is_told_that_it_is_under_way(does):
    assert isinstance(does(idempotency.take, SCOPE, "ann", CONTENT), Taken)
    with pytest.raises(UnderWay):
        does(idempotency.take, SCOPE, "ann", CONTENT)


def test_whoever_asks_afterwards_gets_its_answer(does, conn):
    taken = does(idempotency.take, SCOPE, "ann", CONTENT)
    assert does(idempotency.keep, taken, DONE)
    assert does(idempotency.take, SCOPE, "ann", CONTENT) == DONE
    assert rows(conn) == [(201, True)]


@pytest.mark.parametrize("answered", [False, True])
def test_a_key_is_not_used_for_another_content(does, conn, answered):
    taken = does(idempotency.take, SCOPE, "ann", CONTENT)
    if answered:
        does(idempotency.keep, taken, DONE)
    else:
        conn.execute(LEASE_OVER)
    with pytest.raises(Reused):
        does(idempotency.take, SCOPE, "ann", OTHER)


@pytest.mark.parametrize(
    "other",
    [
        scope_of("bob", "POST", "/v1/events/gig/holds/1/release", "k"),
        scope_of(None, "POST", "/v1/events/gig/holds/1/release", "k"),
        scope_of("ann", "PUT", "/v1/events/gig/holds/1/release", "k"),
        scope_of("ann", "POST", "/v1/events/gig/holds/2/release", "k"),
        scope_of("ann", "POST", "/v1/events/gig/holds/1/release", "l"),
        scope_of("operator", "POST", "/v1/events/gig/holds/1/release", "k"),
    ],
)
def test_a_key_is_of_who_asks_and_of_one_call(does, other):
    does(idempotency.keep, does(idempotency.take, SCOPE, "ann", CONTENT), DONE)
    assert isinstance(does(idempotency.take, other, None, CONTENT), Taken)


def test_query_and_body_are_told_apart():
    assert fingerprint_of(b"a", b"b") != fingerprint_of(b"", b"ab") != fingerprint_of(b"ab", b"")


def test_when_the_lease_is_over_the_next_one_does_it_and_only_its_answer_counts(does, conn):
    first = does(idempotency.take, SCOPE, "ann", CONTENT)
    conn.execute(LEASE_OVER)
    second = does(idempotency.take, SCOPE, "ann", CONTENT)
    assert isinstance(second, Taken)
    assert not does(idempotency.keep, first, Answer(200, [], b"too late"))
    does(idempotency.let_go, first)
    with pytest.raises(UnderWay):
        does(idempotency.take, SCOPE, "ann", CONTENT)
    assert does(idempotency.keep, second, DONE)
    assert does(idempotency.take, SCOPE, "ann", CONTENT) == DONE


def test_the_first_answer_stands(does):
    taken = does(idempotency.take, SCOPE, "ann", CONTENT)
    does(idempotency.keep, taken, DONE)
    assert not does(idempotency.keep, taken, Answer(200, [], b"another"))
    does(idempotency.let_go, taken)
    assert does(idempotency.take, SCOPE, "ann", CONTENT) == DONE


def test_what_was_let_go_is_done_by_the_next_with_any_content(does):
    does(idempotency.let_go, does(idempotency.take, SCOPE, "ann", CONTENT))
    assert isinstance(does(idempotency.take, SCOPE, "ann", OTHER), Taken)


def test_an_answer_written_with_a_change_is_true_with_it_or_not_at_all(does, conn, database_url):
    taken = does(idempotency.take, SCOPE, "ann", CONTENT)
    with psycopg.connect(database_url) as undone:
        idempotency.keep_with(undone, taken, DONE)
        undone.rollback()
    assert rows(conn) == [(None, False)]
    with conn.transaction():
        idempotency.keep_with(conn, taken, DONE)
    assert does(idempotency.take, SCOPE, "ann", CONTENT) == DONE


def test_who_lost_the_lease_cannot_make_the_change(does, conn):
    first = does(idempotency.take, SCOPE, "ann", CONTENT)
    conn.execute(LEASE_OVER)
    does(idempotency.take, SCOPE, "ann", CONTENT)

    def change():
        with conn.transaction():
            conn.execute("CREATE TABLE changed ()")
            idempotency.keep_with(conn, first, DONE)

    with pytest.raises(UnderWay):
        change()
    assert conn.execute("SELECT to_regclass('changed')").fetchone() == (None,)


def test_of_many_at_once_one_has_the_call(database_url):
    async def storm():
        async def one():
            async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as own:
                return await idempotency.take(own, SCOPE, "ann", CONTENT)

        return await asyncio.gather(*(one() for _ in range(12)), return_exceptions=True)

    found = asyncio.run(storm())
    assert sum(isinstance(each, Taken) for each in found) == 1
    assert sum(isinstance(each, UnderWay) for each in found) == 11


def test_after_a_day_a_key_means_nothing_any_more(does, conn):
    does(idempotency.keep, does(idempotency.take, SCOPE, "ann", CONTENT), DONE)
    conn.execute(ALMOST)
    assert does(idempotency.take, SCOPE, "ann", CONTENT) == DONE
    conn.execute(A_DAY_OLD)
    assert isinstance(does(idempotency.take, SCOPE, "ann", OTHER), Taken)
    assert rows(conn) == [(None, False)]


def test_trimming_forgets_what_is_a_day_old_so_many_at_a_time(does, conn):
    for number in range(5):
        scope = scope_of("ann", "POST", "/there", f"old {number}")
        does(idempotency.keep, does(idempotency.take, scope, "ann", CONTENT), DONE)
    conn.execute(A_DAY_OLD)
    does(idempotency.take, SCOPE, "ann", CONTENT)
    assert [does(idempotency.trim, 3), does(idempotency.trim, 3), does(idempotency.trim, 3)] == [3, 2, 0]
    assert rows(conn) == [(None, False)]


def test_trimming_waits_for_nobody(does, conn, database_url):
    does(idempotency.take, SCOPE, "ann", CONTENT)
    conn.execute(A_DAY_OLD)
    with psycopg.connect(database_url) as other:
        other.execute("SELECT 1 FROM idempotency_key FOR UPDATE")
        assert does(idempotency.trim) == 0
    assert does(idempotency.trim) == 1


def test_a_buyer_has_so_many_keys_at_a_time_and_their_answers_are_still_given(does, conn, monkeypatch):
    few = idempotency.TAKE.replace(str(idempotency.KEYS_PER_BUYER_MAX), "2")
    monkeypatch.setattr(idempotency, "TAKE", few)
    for key in ("a", "b"):
        scope = scope_of("ann", "POST", "/there", key)
        does(idempotency.keep, does(idempotency.take, scope, "ann", CONTENT), DONE)
    with pytest.raises(TooManyKeys):
        does(idempotency.take, SCOPE, "ann", CONTENT)
    assert does(idempotency.take, scope, "ann", CONTENT) == DONE
    assert isinstance(does(idempotency.take, SCOPE, "bob", CONTENT), Taken)
    conn.execute(A_DAY_OLD)
    assert isinstance(does(idempotency.take, SCOPE, "ann", CONTENT), Taken)


def test_operators_have_no_such_bound(does, monkeypatch):
    monkeypatch.setattr(
        idempotency, "TAKE", idempotency.TAKE.replace(str(idempotency.KEYS_PER_BUYER_MAX), "1")
    )
    for key in ("a", "b"):
        assert isinstance(does(idempotency.take, scope_of(None, "POST", "/x", key), None, CONTENT), Taken)


def test_no_longer_answer_is_kept_than_the_table_takes(does):
    taken = does(idempotency.take, SCOPE, "ann", CONTENT)
    longest = b"x" * idempotency.ANSWER_BYTES_MAX
    assert idempotency.fits(len(longest))
    assert not idempotency.fits(len(longest) + 1)
    with pytest.raises(psycopg.errors.CheckViolation):
        does(idempotency.keep, taken, Answer(200, [], longest + b"x"))
    assert does(idempotency.keep, taken, Answer(200, [], longest))
