"""The ledger's text: what is copied reads back as decided, and every change shows in a digest or a hash."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allocator.sql import COPY_LEDGER
from store.ledger import DIGEST_BYTES, GENESIS, batch_hash, copy_lines, row_digest

names = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('\\"N'), min_size=1, max_size=12
)
json_text = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(max_size=8) | st.sampled_from(["\\N", "\t", "\n", "\\", "\x7f"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
).map(json.dumps)
request_rows = st.tuples(st.just("request"), names, names, names, json_text, names, json_text)
other_rows = st.tuples(
    st.sampled_from(["fact", "expired"]), st.just(""), st.just(""), st.just(""), json_text, names, json_text
)


@pytest.fixture
def conn(database_url: str) -> Any:
    with psycopg.connect(database_url) as made:
        yield made


@given(rows=st.lists(request_rows | other_rows, max_size=6, unique_by=lambda row: (row[0], row[2], row[3])))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_copied_reads_back_as_it_was_decided(conn, rows):
    lines, digests = copy_lines(7, 3, rows)
    with conn.cursor().copy(COPY_LEDGER) as copy:
        copy.write(lines)
    there = conn.execute(
        "SELECT position, kind, coalesce(arrival, ''), coalesce(buyer, ''), coalesce(request_id, ''),"
        " input::text, outcome, result::text FROM ledger WHERE event_id = 7 ORDER BY position"
    ).fetchall()
    nulls = conn.execute("SELECT kind FROM ledger WHERE arrival IS NULL ORDER BY position").fetchall()
    conn.rollback()
    assert [row[1:] for row in there] == rows
    assert [row[0] for row in there] == list(range(len(rows)))
    assert [kind for (kind,) in nulls] == [row[0] for row in rows if row[0] != "request"]
    assert digests == b"".join(row_digest(row) for row in rows)


@given(request_rows, request_rows)
def test_different_rows_have_different_digests(row, other):
    assert (row_digest(row) == row_digest(other)) == (row == other)
    assert len(row_digest(row)) == DIGEST_BYTES


def test_every_part_of_a_batch_is_in_its_hash():
    batch = (GENESIS, 1, 2, 3, "4-5", 6, b"digests")
    others = [
        (b"x" * 32, *batch[1:]),
        *[(*batch[:n], 99, *batch[n + 1 :]) for n in (1, 2, 3, 5)],
        (*batch[:4], "4-6", *batch[5:]),
        (*batch[:6], b"digest"),
    ]
    hashes = {batch_hash(*one) for one in [batch, *others]}  # type: ignore[arg-type]
    assert len(hashes) == len(others) + 1


def test_an_empty_batch_is_nothing_to_copy():
    assert copy_lines(1, 1, []) == (b"", b"")
