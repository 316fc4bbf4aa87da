"""How a waiting room's statements find their rows: however long the line, a step reads what it needs."""

from __future__ import annotations

import re

import psycopg
import pytest

from store import lost_time
from store.lookups import PLAN_BY_KEY
from store.room import admitting, draw, entering, joining, rooms, standing
from store.room.words import Lane

PLACES = 60_000
INSIDE = 2_000


@pytest.fixture(scope="module")
def long(worker_database):
    """A line of many places of which a part was called, analysed as a sale of that size is."""
    worker_database.empty()
    with psycopg.connect(worker_database.url, autocommit=True) as conn:
        for statement in FILL:
            conn.execute(statement)
        conn.execute("ANALYZE")
        conn.execute(PLAN_BY_KEY)
        yield conn
    worker_database.empty()


SEED = "decode(repeat('00', 32), 'hex')"
FILL = (
    "INSERT INTO event (slug, name, venue_id, state) SELECT n, n, 1, 'open' FROM generate_series(1, 3) n",
    "INSERT INTO event_cursor (event_id) SELECT generate_series(1, 3)",
    "INSERT INTO lease (event_id, renewed_at) SELECT generate_series(1, 3), 'infinity'",
    f"""INSERT INTO room (event_id, seed, seed_sha256, lobby_ended_at, drawn, drawn_at, next_position,
                          serving)
        SELECT e, {SEED}, sha256({SEED}), now(), {PLACES}, now(), {PLACES} + 1, {INSIDE} * 2
          FROM generate_series(1, 3) e""",
    f"""INSERT INTO place (event_id, buyer, in_draw, state, admitted_at, begin_by, ended_at, version)
        SELECT e, 'b' || n, true, state, now(), now() + interval '3 minutes',
               CASE state WHEN 'expired' THEN now() END, CASE state WHEN 'waiting' THEN 0 ELSE n END
          FROM generate_series(1, 2) e, generate_series(1, {PLACES}) n,
               LATERAL (SELECT CASE WHEN n <= {INSIDE} THEN 'expired' WHEN n <= 2 * {INSIDE} THEN 'admitted'
                                    ELSE 'waiting' END AS state) AS made""",
    """INSERT INTO line (event_id, lane, position, place_id)
       SELECT event_id, lane, substr(buyer, 2)::bigint, id FROM place""",
    """INSERT INTO outbox (event_id, number, kind, body)
       SELECT 1, n, 'order.paid', '{}' FROM generate_series(1, 20000) n""",
)


def plan_of(conn, statement):
    numbers: dict[str, int] = {}

    def dollar(name):
        return f"${numbers.setdefault(name[1], len(numbers) + 1)}"

    text = re.sub(r"%\((\w+)\)s", dollar, statement)
    return "\n".join(line for (line,) in conn.execute(f"EXPLAIN (GENERIC_PLAN) {text}").fetchall())


STATEMENTS = pytest.mark.parametrize(
    ("statement", "indexes"),
    [
        (admitting.READ, {"room_pkey", "event_pkey", "event_cursor_pkey"}),
        (admitting.INSIDE, {"place_inside"}),
        (admitting.RETURNERS, {"place_returned", "line_place"}),
        (admitting.NEXT, {"line_pkey", "place_pkey"}),
        (admitting.ANY_DUE, {"place_inside"}),
        (admitting.DUE_NOW, {"place_inside", "payment_open"}),  # of an empty table of holds any key will do
        (admitting.ORDERS, {"outbox_pkey"}),
        (admitting.CHANGE, {"room_pkey"}),
        (admitting.END, {"place_pkey"}),
        (admitting.GIVING_BACK, {"place_giving_back"}),
        (admitting.GIVE_BACK, set()),  # its own key, or of those that give back, who are few: either will do
        (admitting.ADMIT, {"place_pkey", "room_pkey"}),
        (admitting.BOUGHT, {"place_live"}),
        (entering.BEGIN, {"place_live", "room_pkey"}),
        (entering.MORE, {"place_live", "room_pkey"}),
        (entering.LOCK_LIVE, {"place_live"}),
        (entering.LEAVE, {"place_live"}),
        (entering.CHANGED, {"place_changed", "line_place"}),
        (rooms.LEAVE_OUT, {"place_left_lobby"}),
        (draw.PAGE, {"line_pkey"}),
        (joining.READ, {"line_place"}),
    ],
    ids=lambda value: value.strip().splitlines()[-1][:40] if isinstance(value, str) else "",
)


@STATEMENTS
def test_every_statement_finds_its_rows_by_a_key(long, statement, indexes):
    by_key(plan_of(long, statement), indexes)


READ_ROWS = """
SELECT coalesce(sum(idx_tup_fetch + seq_tup_read), 0)::bigint FROM pg_stat_xact_user_tables
 WHERE relname IN ('place', 'line')
"""


def test_a_step_with_nobody_to_call_reads_no_places(long):
    """Rows that are read, counted by Postgres: not the line, and not all who are inside."""
    standing = admitting.read(long, 1)
    assert standing is not None
    with long.transaction():
        [before] = long.execute(READ_ROWS).fetchone()
        assert admitting.due(long, 1, standing.run_by) == []
        assert admitting.returners(long, 1, 5_000) == []
        assert admitting.next_of(long, 1, standing, Lane.ORDINARY, 0) == ([], 2 * INSIDE)
        [after] = long.execute(READ_ROWS).fetchone()
    assert after - before == 0


def test_who_is_called_next_is_read_and_nobody_else(long):
    standing = admitting.read(long, 1)
    assert standing is not None
    with long.transaction():
        [before] = long.execute(READ_ROWS).fetchone()
        places, through = admitting.next_of(long, 1, standing, Lane.ORDINARY, 50)
        [after] = long.execute(READ_ROWS).fetchone()
    assert (len(places), through) == (50, 2 * INSIDE + 50)
    assert after - before <= 3 * 50


@pytest.mark.parametrize("statement", [lost_time.EXTEND_PLACES, standing.SHOPPING], ids=["back", "shown"])
def test_who_is_inside_of_other_events_is_not_read(long, statement):
    """Those of sales that are over stay as they were, so in time they are many."""
    plan = plan_of(long, statement)
    assert re.search(r"Index Cond: .*\(event_id \+ 0\) = \$", plan), plan


@STATEMENTS
def test_every_statement_does_so_too_when_it_was_planned_before_there_were_rows(
    database_url, statement, indexes
):
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(PLAN_BY_KEY)
        by_key(plan_of(conn, statement), indexes)


def by_key(plan, indexes):
    scans = set(re.findall(r"(?:using|Index Scan on) (\w+)", plan))
    assert indexes <= scans, plan
    assert "Seq Scan" not in plan, plan
