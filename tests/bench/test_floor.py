"""The floor leaves the same rows as the allocator does for the same backlog, and no allocator touches it."""

from __future__ import annotations

import psycopg
import pytest

from bench.backlog import alone, mixed
from bench.floor import Copy, floor
from store.venues.make import make

LEFT = """
SELECT (SELECT array_agg(outcome || ' ' || buyer || ' ' || request_id || ' ' || input::text
                         ORDER BY batch_no, position)
          FROM ledger WHERE event_id = %(event)s AND kind = 'request'),
       (SELECT array_agg(octet_length(row_digests) / 16 ORDER BY batch_no)
          FROM ledger_batch JOIN ledger USING (event_id, batch_no)
         WHERE event_id = %(event)s AND position = 0 AND kind = 'request'),
       (SELECT array_agg(buyer || ' ' || request_id || ' ' || quantity ORDER BY buyer)
          FROM hold WHERE event_id = %(event)s AND state = 'active'),
       (SELECT array_agg(seat_no ORDER BY seat_no) FROM hold_seat WHERE event_id = %(event)s),
       (SELECT array_agg(state ORDER BY seat_no) FROM seat WHERE event_id = %(event)s),
       (SELECT array_agg(seat_no || ' ' || state || ' ' || by ORDER BY seat_no)
          FROM seat_history WHERE event_id = %(event)s)
"""


def test_the_floor_writes_what_the_allocator_writes(alone_stack):
    url = alone_stack.urls.database_url
    with alone(alone_stack, 40) as one:
        entries = mixed(one.event.plan, 5_000, 30)
        decided = one.decide(entries)
        assert sum(decided.sizes) == 5_000
        with floor(url, 40, entries, decided.sizes) as below:
            assert below.write() > 0
            with psycopg.connect(url) as connection:
                by_allocator, by_floor = (
                    connection.execute(LEFT, {"event": event_id}).fetchone()
                    for event_id in (one.event.id, below.event.id)
                )
    assert by_allocator is not None
    assert len(by_allocator[0]) == 5_000
    assert by_floor == by_allocator
    copied = [step for batch in below.batches for step in batch.steps if isinstance(step, Copy)]
    assert len(copied) == len(decided.sizes), "the ledger goes by COPY, once a batch"


SILENT = """
WITH cursor AS (UPDATE event_cursor SET batch_time = now() - interval '1 minute' WHERE event_id = %(event)s)
UPDATE lease SET renewed_at = now() - interval '1 minute', given_until = NULL WHERE event_id = %(event)s
"""
WRITTEN = """
SELECT batch_no, (SELECT count(*) FROM ledger WHERE ledger.event_id = event_cursor.event_id)
  FROM event_cursor WHERE event_id = %s
"""


def test_every_batch_is_fenced_however_long_recording_took(database_url):
    entries = mixed(make("theatre", 40), 100, 10)
    with floor(database_url, 40, entries, [60, 40]) as below, psycopg.connect(database_url) as connection:
        connection.execute(SILENT, {"event": below.event.id})
        connection.commit()
        below.write()
        assert connection.execute(WRITTEN, (below.event.id,)).fetchone() == (2, 100)


def test_a_batch_that_the_fence_refuses_is_no_measure(database_url):
    entries = mixed(make("theatre", 40), 100, 10)
    with floor(database_url, 40, entries, [60, 40]) as below, psycopg.connect(database_url) as connection:
        connection.execute("UPDATE event_cursor SET epoch = epoch + 1 WHERE event_id = %s", (below.event.id,))
        connection.commit()
        with pytest.raises(AssertionError, match="by its owner"):
            below.write()
