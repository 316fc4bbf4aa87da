"""Samples over time: one every few seconds, fewer of what is old, none of what is very old."""

from __future__ import annotations

import threading
from itertools import pairwise

import psycopg
import pytest

from store.console import samples, sampling
from store.console.now import Reader
from store.console.samples import COLUMNS, ROWS_DEFAULT, SAMPLE_SECONDS
from store.errors import BadRequest
from store.events import set_state
from store.words import EventState
from tests.allocator.house import SLUG, open_event, plan_of


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def event(database_url):
    return open_event(database_url, plan_of())


def sample(conn):
    return samples.write(conn, Reader(conn).sampled())


def make_old(conn, seconds):
    conn.execute("UPDATE event_sample SET at = at - %s * interval '1 s'", (seconds,))


def test_a_row_tells_how_the_event_stood_in_the_columns_that_are_told(conn, event):
    conn.execute("INSERT INTO event_load VALUES (%s, 'm:1', NULL, now(), 1, 1, 9, 8, 7, 6, 5, 4)", (event,))
    assert sample(conn) == 1
    [row] = samples.lately(conn, event)
    told = dict(zip(COLUMNS, row, strict=True))
    at_ms = told.pop("at_ms")
    assert (
        at_ms
        == conn.execute("SELECT floor(extract(epoch FROM at) * 1000)::bigint FROM event_sample").fetchone()[0]
    )
    assert told == {
        "arrived_per_second": 7, "decided_per_second": 8, "undecided": 6, "latency_ms_p50": 5,
        "latency_ms_p99": 4, "sold": 0, "on_hold": 0, "revenue_minor": 0, "waiting": None, "admitted": None,
        "inside": None, "workers": 0,
    }  # fmt: skip
    [seen] = Reader(conn).sampled()
    assert len(samples.row_of(seen)) == len(COLUMNS)


def test_who_samples_twice_at_once_writes_once(conn, event):
    assert [sample(conn), sample(conn)] == [1, 0]
    make_old(conn, SAMPLE_SECONDS)
    assert sample(conn) == 1


def test_what_is_closed_is_sampled_no_more(conn, event):
    assert sample(conn) == 1
    set_state(conn, SLUG, EventState.CLOSED)
    make_old(conn, SAMPLE_SECONDS)
    assert sample(conn) == 0


OLD = """
INSERT INTO event_sample (event_id, at, seconds, arrived_per_second, latency_ms_p99, sold)
SELECT %s, date_trunc('minute', now() - interval '7 hours') + n * interval '5 seconds', 5, n, 100 - n, n
  FROM generate_series(0, 23) n
"""


def test_of_old_minutes_one_row_is_left_with_means_worsts_and_where_it_ended(conn, event):
    conn.execute(OLD, (event,))
    sample(conn)
    assert samples.thin(conn) == 1
    rows = conn.execute(
        "SELECT seconds, arrived_per_second, latency_ms_p99, sold, extract(second FROM at)::int"
        "  FROM event_sample ORDER BY at"
    ).fetchall()
    assert rows[:2] == [(60, 5.5, 100, 11, 55), (60, 17.5, 88, 23, 55)]
    assert [row[0] for row in rows[2:]] == [5], "what is young stays"
    assert samples.thin(conn) == 0


def test_what_is_very_old_is_forgotten(conn, event):
    conn.execute(OLD, (event,))
    samples.thin(conn)
    make_old(conn, 30 * 86_400)
    sample(conn)
    assert samples.thin(conn) == 1
    assert conn.execute("SELECT count(*) FROM event_sample").fetchone() == (1,)


def test_rows_are_read_on_from_where_one_was_without_gaps_or_repeats(conn, event):
    conn.execute(OLD, (event,))
    since: int | None = 0
    seen: list[samples.Row] = []
    while since is not None:
        page = samples.read(conn, event, SLUG, since_ms=since, limit=7)
        seen += page.rows
        since = page.next_since
    assert [row[COLUMNS.index("sold")] for row in seen] == list(range(24))
    until = seen[3][0]
    assert len(samples.read(conn, event, SLUG, since_ms=seen[0][0], until_ms=until).rows) == 3
    with pytest.raises(BadRequest) as refused:
        samples.read(conn, event, SLUG, limit=0)
    assert refused.value.code == "invalid_limit"


def test_a_history_is_bounded_and_even(conn, event):
    conn.execute(
        "INSERT INTO event_sample (event_id, at, seconds, sold)"
        " SELECT %s, now() - n * interval '5 seconds', 5, n FROM generate_series(0, 4300) n",
        (event,),
    )
    rows = samples.lately(conn, event)
    assert ROWS_DEFAULT * 0.9 < len(rows) <= ROWS_DEFAULT
    gaps = [after[0] - before[0] for before, after in pairwise(rows)]
    assert max(gaps) <= 95_000
    assert set(gaps[-350:]) == {5_000}, "the last minutes are whole"
    assert rows[-1][COLUMNS.index("sold")] == 0, "the newest is in it"


def test_the_chore_samples_and_counts_until_it_is_told_to_stop(conn, event, database_url):
    stop = threading.Event()
    chore = threading.Thread(target=sampling.run, args=(database_url, stop))
    chore.start()
    try:
        while conn.execute("SELECT count(*) FROM event_sample").fetchone() == (0,):
            assert chore.is_alive()
    finally:
        stop.set()
        chore.join()


STATEMENTS = pytest.mark.parametrize(
    ("statement", "index"),
    [
        (samples.WRITE, "event_sample_pkey"),
        (samples.READ, "event_sample_pkey"),
        (samples.READ_LAST, "event_sample_pkey"),
        (samples.THIN, "event_sample_young"),
        (samples.FORGET, "event_sample_pkey"),
        (samples.OLDEST, "event_sample_young"),
    ],
    ids=["write", "read", "read the last", "thin", "forget", "find what is old"],
)
VALUES = {name: [] for name in COLUMNS} | {
    "events": [1], "event": 1, "since": 0, "until": 1, "limit": 1,
}  # fmt: skip


@pytest.fixture
def many(conn, database_url):
    conn.execute("INSERT INTO event (slug, name, venue_id) SELECT n, n, 1 FROM generate_series(1, 20) n")
    conn.execute(
        "INSERT INTO event_sample (event_id, at, seconds, sold)"
        " SELECT e, now() - n * interval '1 minute', CASE WHEN n < 300 THEN 5 ELSE 60 END, n"
        "   FROM generate_series(1, 20) e, generate_series(0, 3000) n"
    )
    conn.execute("ANALYZE event_sample")
    conn.execute("ANALYZE event")
    return conn


@STATEMENTS
def test_a_statement_finds_its_rows_by_index(many, statement, index):
    plan = "\n".join(line for (line,) in many.execute("EXPLAIN " + statement, VALUES).fetchall())
    assert index in plan
    assert "Seq Scan on event_sample" not in plan
