"""What Postgres itself refuses, whatever the application does; and what a digest covers."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors as pg

from store.ledger import copy_lines, row_digest

LEDGER_ROW = (
    "INSERT INTO ledger (event_id, batch_no, position, kind, buyer, request_id, input, outcome, result)"
    " VALUES (1, 1, {}, 'request', 'ann', 'r1', '{{}}', '{}', '{{}}')"
)
SEAT = "INSERT INTO seat (event_id, seat_no, state, hold_id) VALUES (1, 0, {}, {})"
AREA = "INSERT INTO area (event_id, area_no, capacity, held, sold, blocked) VALUES (1, 0, 10, {}, {}, {})"
HOLD = (
    "INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at, state, paid_at)"
    " VALUES (1, 1, 'ann', 'r1', {}, now(), {}, {})"
)
AUDIT = "INSERT INTO audit (event_id, who, why, what) VALUES (1, '{}', '{}', '{{}}')"

REFUSED = {
    "a seat in two holds": (
        ["INSERT INTO hold_seat VALUES (1, 0, 1)", "INSERT INTO hold_seat VALUES (1, 0, 2)"],
        pg.UniqueViolation,
    ),
    "a hold given twice": ([HOLD.format(1, "'active'", "NULL")] * 2, pg.UniqueViolation),
    "more held than the capacity": ([AREA.format(11, 0, 0)], pg.CheckViolation),
    "more sold than the capacity": ([AREA.format(0, 11, 0)], pg.CheckViolation),
    "more altogether than the capacity": ([AREA.format(4, 4, 3)], pg.CheckViolation),
    "less than nothing held": ([AREA.format(-1, 0, 0)], pg.CheckViolation),
    "less than nothing sold": ([AREA.format(0, -1, 0)], pg.CheckViolation),
    "less than nothing blocked": ([AREA.format(0, 0, -1)], pg.CheckViolation),
    "a held seat of no hold": ([SEAT.format("'held'", "NULL")], pg.CheckViolation),
    "a sold seat of no hold": ([SEAT.format("'sold'", "NULL")], pg.CheckViolation),
    "a free seat of a hold": ([SEAT.format("'available'", "1")], pg.CheckViolation),
    "a seat of no known state": ([SEAT.format("'eaten'", "NULL")], pg.CheckViolation),
    "a hold of nothing": ([HOLD.format(0, "'active'", "NULL")], pg.CheckViolation),
    "a paid hold without its time": ([HOLD.format(1, "'paid'", "NULL")], pg.CheckViolation),
    "a time of payment without one": ([HOLD.format(1, "'active'", "now()")], pg.CheckViolation),
    "a key decided twice": (
        [LEDGER_ROW.format(0, "held"), LEDGER_ROW.format(1, "taken")],
        pg.UniqueViolation,
    ),
    "a change by nobody": ([AUDIT.format("", "because")], pg.CheckViolation),
    "a change by too long a name": ([AUDIT.format("x" * 101, "because")], pg.CheckViolation),
    "a change for no reason": ([AUDIT.format("Olga", "")], pg.CheckViolation),
    "a change for too long a reason": ([AUDIT.format("Olga", "x" * 201)], pg.CheckViolation),
    "a fact of no known kind": (["INSERT INTO fact (event_id, kind) VALUES (1, 'eaten')"], pg.CheckViolation),
    "a place in the ledger given twice": (
        [LEDGER_ROW.format(0, "held"), LEDGER_ROW.format(0, "conflict")],
        pg.UniqueViolation,
    ),
}


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url) as connection:
        yield connection
        connection.rollback()


@pytest.mark.parametrize(("statements", "error"), list(REFUSED.values()), ids=list(REFUSED))
def test_postgres_refuses_what_breaks_a_law(conn, statements, error):
    *before, last = statements
    for statement in before:
        conn.execute(statement)
    with pytest.raises(error):
        conn.execute(last)


@pytest.mark.parametrize(
    "statements",
    [
        [LEDGER_ROW.format(0, "held"), LEDGER_ROW.format(1, "conflict"), LEDGER_ROW.format(2, "conflict")],
        [AREA.format(4, 4, 2)],
        ["INSERT INTO hold_seat VALUES (1, 0, 1)", "INSERT INTO hold_seat VALUES (2, 0, 1)"],
    ],
    ids=["conflicts of a decided key", "a full area", "the same seat of another event"],
)
def test_postgres_takes_what_breaks_none(conn, statements):
    for statement in statements:
        conn.execute(statement)


ROW = ("request", "1-1", "ann", "r1", '{"seats":["A-1"]}', "held", '{"hold":"1"}')


@pytest.mark.parametrize("column", range(len(ROW)))
def test_each_column_is_in_the_digest_that_is_written_and_in_the_one_that_is_checked(column):
    changed = (*ROW[:column], ROW[column] + "x", *ROW[column + 1 :])
    assert row_digest(changed) != row_digest(ROW)
    assert copy_lines(1, 1, [changed])[1] != copy_lines(1, 1, [ROW])[1]
